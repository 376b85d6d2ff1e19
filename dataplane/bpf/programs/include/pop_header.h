/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A relay's half: one header comes off, statelessly, and the kernel routes what was inside. A stack gets shorter by each
 * relay and loses a hop on each link, so that none goes round for ever. Of a list inside one header, the relay makes the next
 * one the header's destination. */
#pragma once

#include "congestion.h"
#include "path_maps.h"
#include "shim.h"

/* The least frame of an Ethernet, without its check sequence; shorter packets have bytes behind them. */
#define LEAST_FRAME 60

/* What switches said of congestion since the last relay goes on with what was inside. */
inline int mark(struct __sk_buff *skb, const struct packet *inner, __u32 marks)
{
	/* Those of IPv6 are in its second byte's upper half. */
	__u32 shift = inner->family == FAMILY_IPV4 ? 0 : 4;
	__be16 old = *(const __be16 *)inner, new = bpf_htons((bpf_ntohs(old) & ~(3 << shift)) | marks << shift);

	if (new == old)
		return 0;
	if (inner->family == FAMILY_IPV4 &&
	    bpf_l3_csum_replace(skb, ETHERNET + __builtin_offsetof(struct ipv4_header, checksum), old, new, 2))
		return PATH_DROP_REFUSED;
	/* IPv6 has no checksum that would make up for what changes. */
	if (bpf_skb_store_bytes(skb, ETHERNET, &new, 2, inner->family == FAMILY_IPV4 ? 0 : BPF_F_RECOMPUTE_CSUM))
		return PATH_DROP_REFUSED;
	return 0;
}

/* Whether an outer header is one that a relay may take off: without options, whole, and right. */
inline bool is_plain(const struct packet *outer)
{
	if (outer->family == FAMILY_IPV6)
		return true;
	return outer->header == IPV4 && !is_fragment(outer) && sum_of(&outer->ipv4) == 0xffff;
}

/* Takes all before the packet inside away, which the outer header tells of. */
inline int uncover(struct __sk_buff *skb, const struct packet *outer, const struct packet *inner, __u32 bytes, __u32 marks)
{
	__be16 ether_type = ether_type_in(inner->family);

	if (!take_away(skb, bytes, inner->family))
		return PATH_DROP_REFUSED;
	if (inner->family != outer->family &&
	    bpf_skb_store_bytes(skb, __builtin_offsetof(struct ethernet_header, ether_type), &ether_type, 2, 0))
		return PATH_DROP_REFUSED;
	return mark(skb, inner, marks);
}

/* Sends a packet on to the next relay of the list inside its header. Neither hops nor relays left grow, so that it does not go
 * round for ever either. */
inline int advance(struct __sk_buff *skb, const struct packet *outer, const struct shim *shim)
{
	const __u32 at = ETHERNET + (outer->family == FAMILY_IPV4 ? __builtin_offsetof(struct ipv4_header, destination) :
								    __builtin_offsetof(struct ipv6_header, destination));
	__u8 next[16] ON_STACK, left = shim->left - 1, hops = 0;

	if (shim->hops_at) {
		if (bpf_skb_load_bytes(skb, shim->hops_at, &hops, 1) || !hops)
			return PATH_DROP_LOOP;
		hops -= 1;
		if (bpf_skb_store_bytes(skb, shim->hops_at, &hops, 1, BPF_F_RECOMPUTE_CSUM))
			return PATH_DROP_REFUSED;
	}
	if (outer->family == FAMILY_IPV4) {
		__be32 old = *(const __be32 *)outer->ipv4.destination;

		if (bpf_skb_load_bytes(skb, shim->next_at, next, 4) || next[0] >= 224)
			return PATH_DROP_MALFORMED;
		/* Who is here is not on the way to itself. */
		if (*(__be32 *)next == old)
			return PATH_DROP_LOOP;
		if (bpf_l3_csum_replace(skb, ETHERNET + __builtin_offsetof(struct ipv4_header, checksum), old, *(__be32 *)next, 4) ||
		    bpf_skb_store_bytes(skb, at, next, 4, 0))
			return PATH_DROP_REFUSED;
	} else {
		const __u64 *old = (const __u64 *)outer->ipv6.destination, *new = (const __u64 *)next;

		if (bpf_skb_load_bytes(skb, shim->next_at, next, 16) || next[0] == 0xff)
			return PATH_DROP_MALFORMED;
		if (old[0] == new[0] && old[1] == new[1])
			return PATH_DROP_LOOP;
		if (bpf_skb_store_bytes(skb, at, next, 16, BPF_F_RECOMPUTE_CSUM))
			return PATH_DROP_REFUSED;
	}
	return bpf_skb_store_bytes(skb, shim->left_at, &left, 1, BPF_F_RECOMPUTE_CSUM) ? PATH_DROP_REFUSED : 0;
}

/* Takes a relay's header off, or sends it on where a list inside says so. Returns nought, or why not. */
inline int pop_header(struct __sk_buff *skb, const struct packet *outer, __u32 encapsulations)
{
	__u32 frame = skb->len, bytes;
	struct packet inner ON_STACK;
	struct shim shim = {};
	int marks;

	if (!is_plain(outer))
		return PATH_DROP_MALFORMED;
	/* Only what fills a frame up to the least may be behind a packet. */
	if (outer->total + ETHERNET > frame || (outer->total + ETHERNET < frame && frame > LEAST_FRAME))
		return PATH_DROP_LENGTH;
	if (!read_shim(skb, ETHERNET, outer, encapsulations, &shim))
		return PATH_DROP_MALFORMED;
	bytes = outer->header + shim.bytes;
	if (!read_packet(skb, ETHERNET + bytes, shim.carried, &inner))
		return PATH_DROP_MALFORMED;
	if (inner.total + bytes != outer->total)
		return PATH_DROP_LENGTH;
	if (shim.left)
		return advance(skb, outer, &shim);
	marks = merged(inner.ecn, outer->ecn);
	if (marks < 0)
		return PATH_DROP_CONGESTION;
	return uncover(skb, outer, &inner, bytes, marks);
}
