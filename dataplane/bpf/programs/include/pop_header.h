/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A relay's half: one header comes off, statelessly, and the kernel routes what was inside. A stack gets shorter by each
 * relay and loses a hop on each link, so that none goes round for ever. */
#pragma once

#include "congestion.h"
#include "path_maps.h"
#include "push_stack.h"

/* The least frame of an Ethernet, without its check sequence; shorter packets have bytes behind them. */
#define LEAST_FRAME 60

/* Bytes between the outer IP header and what it carries; negative of what no relay takes off. */
inline int shim_of(struct __sk_buff *skb, const struct ipv4_header *ip, __u32 encapsulations, __u32 total)
{
	struct { struct udp_header udp; struct gue_header gue; } guise ON_STACK;
	struct gre_header gre ON_STACK;
	const __u32 behind = ETHERNET + IPV4;

	switch (ip->protocol) {
	case PROTOCOL_IPV4:
		return encapsulations & 1 << ENCAPSULATION_IPIP ? 0 : -1;
	case PROTOCOL_GRE:
		if (!(encapsulations & 1 << ENCAPSULATION_GRE) || bpf_skb_load_bytes(skb, behind, &gre, GRE))
			return -1;
		return !gre.flags_version && gre.protocol == bpf_htons(ETH_P_IP) ? GRE : -1;
	case PROTOCOL_UDP:
		if (!(encapsulations & 1 << ENCAPSULATION_GUE) || bpf_skb_load_bytes(skb, behind, &guise, UDP + GUE))
			return -1;
		if (guise.udp.destination != bpf_htons(PATHS_GUE_PORT) || guise.udp.length != bpf_htons(total - IPV4) ||
		    guise.gue.variant_length || guise.gue.flags || guise.gue.protocol != PROTOCOL_IPV4)
			return -1;
		return UDP + GUE;
	}
	return -1;
}

/* What switches said of congestion since the last relay goes on with what was inside. */
inline int mark(struct __sk_buff *skb, const struct ipv4_header *inner, __u32 marks)
{
	__be16 old = *(const __be16 *)inner, new = bpf_htons((bpf_ntohs(old) & ~3) | marks);

	if (new == old)
		return 0;
	if (bpf_l3_csum_replace(skb, ETHERNET + __builtin_offsetof(struct ipv4_header, checksum), old, new, 2) ||
	    bpf_skb_store_bytes(skb, ETHERNET, &new, 2, 0))
		return PATH_DROP_REFUSED;
	return 0;
}

/* Takes a relay's header off. Returns nought, or why not. */
inline int pop_header(struct __sk_buff *skb, const struct ipv4_header *ip, __u32 encapsulations)
{
	__u32 total = bpf_ntohs(ip->total_length), frame = skb->len;
	struct ipv4_header inner ON_STACK;
	int shim, marks;

	if (ip->version_ihl != 0x45 || ip->fragment & bpf_htons(0x3fff) ||
	    folded(bpf_csum_diff(0, 0, (__be32 *)ip, IPV4, 0)) != 0xffff)
		return PATH_DROP_MALFORMED;
	/* Only what fills a frame up to the least may be behind a packet. */
	if (total + ETHERNET > frame || (total + ETHERNET < frame && frame > LEAST_FRAME))
		return PATH_DROP_LENGTH;
	shim = shim_of(skb, ip, encapsulations, total);
	if (shim < 0 || bpf_skb_load_bytes(skb, ETHERNET + IPV4 + shim, &inner, IPV4) || inner.version_ihl >> 4 != 4)
		return PATH_DROP_MALFORMED;
	if (bpf_ntohs(inner.total_length) + IPV4 + shim != total)
		return PATH_DROP_LENGTH;
	marks = merged(inner.tos & 3, ip->tos & 3);
	if (marks < 0)
		return PATH_DROP_CONGESTION;
	if (bpf_skb_adjust_room(skb, -(__s32)(IPV4 + shim), BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO))
		return PATH_DROP_REFUSED;
	return mark(skb, &inner, marks);
}
