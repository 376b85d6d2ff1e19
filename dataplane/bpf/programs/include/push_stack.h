/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* All headers of a relay list, put before a packet at once.
 *
 *   Ethernet │ IP to relay 1 │ shim │ IP to relay 2 │ shim │ … │ the packet
 *
 * The kernel is told of the outermost header and of where the packet begins. Of a superpacket it would cut the lengths in
 * the middle stay as long as all of it, so that one goes under one header only, but where that was asked for. Its segments
 * must fit the device with their stack like any packet. */
#pragma once

#include "path_maps.h"

#define GRE ((__u32)sizeof(struct gre_header))
#define GUE ((__u32)sizeof(struct gue_header))

inline bool make_room_for(struct __sk_buff *skb, __u32 bytes, __u32 encapsulation)
{
	__u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_ENCAP_L3_IPV4;

	if (encapsulation == ENCAPSULATION_GRE)
		flags |= BPF_F_ADJ_ROOM_ENCAP_L4_GRE;
	else if (encapsulation == ENCAPSULATION_GUE)
		flags |= BPF_F_ADJ_ROOM_ENCAP_L4_UDP;
	/* One that came out of a tunnel by this host is known to be encapsulated, and the kernel is not told twice. */
	return !bpf_skb_adjust_room(skb, bytes, BPF_ADJ_ROOM_MAC, flags) ||
	       !bpf_skb_adjust_room(skb, bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
}

/* Writes the headers. Each use has its own constants, so that all places in the packet are known before one comes. */
inline bool write_stack(struct __sk_buff *skb, const struct stack *stack, __u32 ecn, __be16 port, const __u32 stride,
			const bool has_udp)
{
	__u32 total = skb->len - ETHERNET;
	void *front = data(skb), *end = data_end(skb);
	struct ipv4_header *ip;
	struct udp_header *udp;

#pragma unroll
	for (__u32 i = 0; i < PATHS_RELAYS; i++) {
		if (i >= stack->count)
			break;
		ip = front + ETHERNET + i * stride;
		if ((void *)ip + stride > end)
			return false;
		copy(ip, stack->header + i * stride, stride);
		ip->tos = ecn;
		ip->total_length = bpf_htons(total - i * stride);
		/* Sums of words in network order are sums in network order. */
		ip->checksum = ~folded(stack->sums[i] + ip->total_length + bpf_htons(ecn));
		if (has_udp) {
			udp = (void *)(ip + 1);
			udp->source = port;
			udp->length = bpf_htons(total - i * stride - IPV4);
		}
	}
	return true;
}

/* The longest packet that the device takes, by its MTU at this moment. */
inline __u32 longest(struct __sk_buff *skb)
{
	__u32 mtu = 0;

	if (steering.mtu)
		return steering.mtu;
	bpf_check_mtu(skb, 0, &mtu, 0, 0);
	return mtu;
}

/* Bytes of each packet that a superpacket will be cut into. */
inline __u32 segment_of(struct __sk_buff *skb, const struct ipv4_header *ip)
{
	__u32 headers = (ip->version_ihl & 15) * 4;
	__u8 offset = 0;

	if (ip->protocol == PROTOCOL_UDP)
		headers += UDP;
	else if (!bpf_skb_load_bytes(skb, ETHERNET + headers + 12, &offset, 1))
		headers += (offset >> 4) * 4;
	return headers + skb->gso_size;
}

/* Puts a stack before an IPv4 packet, which may be so long with it. Returns nought, or why not. */
inline int push_stack(struct __sk_buff *skb, const struct stack *stack, const struct ipv4_header *ip, __u32 hash, __u32 most)
{
	__u32 length = stack->length, packet = skb->len - ETHERNET + length, ecn = ip->tos & 3;
	__be16 port = bpf_htons(0xc000 | (hash & 0x3fff));
	bool is_written = false;

	if (skb->gso_size) {
		if (stack->count > 1 && !steering.superpackets)
			return PATH_DROP_SUPERPACKET;
		if (packet > 0xffff || segment_of(skb, ip) + length > most)
			return PATH_DROP_TOO_BIG;
	} else if (packet > most) {
		return PATH_DROP_TOO_BIG;
	}
	if (length > PATHS_STACK || !make_room_for(skb, length, stack->encapsulation) ||
	    !reach(skb, ETHERNET + (length & (2 * PATHS_STACK - 1))))
		return PATH_DROP_REFUSED;
	switch (stack->encapsulation) {
	case ENCAPSULATION_IPIP:
		is_written = write_stack(skb, stack, ecn, port, IPV4, false);
		break;
	case ENCAPSULATION_GRE:
		is_written = write_stack(skb, stack, ecn, port, IPV4 + GRE, false);
		break;
	case ENCAPSULATION_GUE:
		is_written = write_stack(skb, stack, ecn, port, IPV4 + UDP + GUE, true);
		break;
	}
	return is_written ? 0 : PATH_DROP_REFUSED;
}
