/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the next link does not take under its stack. The kernel would tell the headers' source, which is nobody.
 *
 *   Ethernet │ IP from nobody │ … │ the packet ─► MTU, less all that stood before it ─► whom the packet is from */
#pragma once

#include "bucket.h"
#include "push_stack.h"
#include "shim.h"
#include "tell.h"

/* What every link of IPv6 carries (RFC 8200 section 5). Choice: of shorter packets nothing is asked, so that they pay nothing;
 * links of IPv4 that carry less are not told of. */
#define LEAST_MTU 1280

inline bool is_short(const struct __sk_buff *skb)
{
	return !skb->gso_size && skb->len <= ETHERNET + LEAST_MTU;
}

/* The header of a stack at an offset: its bytes with what is behind it, and in the upper half of which family that is which it
 * carries. Nought where there is no such header, less of one that is wrong. */
__attribute__((noinline)) int level_at(struct __sk_buff *skb, __u32 offset, __u32 family)
{
	struct packet packet ON_STACK;
	struct shim shim = {};

	if (!read_packet(skb, offset, family, &packet))
		return -1;
	if (!is_from_shared(&packet))
		return 0;
	if (!read_shim(skb, offset, &packet, ~0U, &shim))
		return -1;
	return shim.carried << 16 | (packet.header + shim.bytes);
}

/* Where the packet under a stack begins, and in the upper half its family. Nought where there is none. */
__attribute__((noinline)) int bottom_of(struct __sk_buff *skb)
{
	__u32 offset = ETHERNET, family = family_of(skb->protocol);
	int level;

#pragma nounroll
	for (int i = 0; i <= PATHS_RELAYS; i++) {
		level = level_at(skb, offset, family);
		if (level < 0)
			return 0;
		if (!level)
			return offset > ETHERNET ? family << 16 | offset : 0;
		offset += level & 0xffff;
		family = level >> 16;
	}
	return 0;
}

/* What the link takes that a packet so long is to go by; nought where it takes this one, or goes by none. */
__attribute__((noinline)) int mtu_below(struct __sk_buff *skb, __u32 size)
{
	struct bpf_fib_lookup fib = { .ifindex = skb->ifindex, .tot_len = size };
	struct packet packet ON_STACK;

	if (!read_front(skb, &packet))
		return 0;
	fib.l4_protocol = packet.protocol;
	if (packet.family == FAMILY_IPV4) {
		fib.family = 2;
		fib.tos = packet.ipv4.tos;
		fib.ipv4_src = *(const __be32 *)packet.ipv4.source;
		fib.ipv4_dst = *(const __be32 *)packet.ipv4.destination;
	} else {
		fib.family = 10;
		fib.flowinfo = packet.ipv6.version_class_flow & bpf_htonl(0x0fffffff);
		copy(fib.ipv6_src, packet.ipv6.source, 16);
		copy(fib.ipv6_dst, packet.ipv6.destination, 16);
	}
	return bpf_fib_lookup(skb, &fib, sizeof(fib), 0) == BPF_FIB_LKUP_RET_FRAG_NEEDED ? fib.mtu_result : 0;
}

/* Whether what follows a stack's headers is so long with them that the next link does not take it: then its sender is told what
 * it takes, and it goes no further. */
inline int tell_of_narrow(struct __sk_buff *skb)
{
	__u32 bottom = 0, family, under, size = skb->len - ETHERNET, outer = family_of(skb->protocol);
	struct packet inner ON_STACK;
	__be16 ether_type;
	int mtu;

	if (skb->gso_size) {
		bottom = bottom_of(skb);
		if (!bottom || !read_packet(skb, bottom & 0xffff, bottom >> 16, &inner))
			return NEXT;
		size = (bottom & 0xffff) - ETHERNET + segment_of(skb, bottom & 0xffff, &inner);
		if (size <= LEAST_MTU)
			return NEXT;
	}
	mtu = mtu_below(skb, size);
	if (!mtu)
		return NEXT;
	if (!bottom)
		bottom = bottom_of(skb);
	if (!bottom)
		return NEXT;
	family = bottom >> 16;
	under = (bottom & 0xffff) - ETHERNET;
	ether_type = ether_type_in(family);
	/* What others send must not make this node do more than it can. */
	if ((__u32)mtu > under && !may_answer())
		return drop_of_path(PATH_DROP_UNTOLD);
	drop_of_path(PATH_DROP_TOO_BIG);
	if ((__u32)mtu <= under || !take_away(skb, under, family))
		return DROPPED;
	if (family != outer &&
	    bpf_skb_store_bytes(skb, __builtin_offsetof(struct ethernet_header, ether_type), &ether_type, 2, 0))
		return DROPPED;
	/* Of a superpacket that is marked so nothing is said; who is not answered sends a single segment next. */
	if (!skb->gso_size && !leave_quoted(skb))
		return DROPPED;
	return make_message(skb, ether_type, mtu - under, false) ? bpf_redirect(skb->ifindex, BPF_F_INGRESS) : DROPPED;
}
