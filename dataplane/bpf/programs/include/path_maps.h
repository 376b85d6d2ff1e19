/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The tables of path control; reference/paths/tables.rs says what stands in them. Sizes are the loader's to change. */
#pragma once

#include "packet.h"

/* What this copy of the programs does, written before it is loaded. */
const volatile struct steering steering = {};

/* From prefixes of destinations to sets. */
TABLE(prefixes, BPF_MAP_TYPE_LPM_TRIE, struct prefix_key, __u32, 16384, BPF_F_NO_PREALLOC);
/* A number that is another one after each change of prefixes. */
TABLE(generations, BPF_MAP_TYPE_ARRAY, __u32, __u32, 1, 0);
TABLE(sets, BPF_MAP_TYPE_ARRAY, __u32, struct list_set, 1024, 0);
TABLE(stacks, BPF_MAP_TYPE_ARRAY, __u32, struct stack, 8192, 0);
TABLE(list_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct list_count, 8192, 0);
/* The flows heard of last, which the program alone writes. */
TABLE(flows, BPF_MAP_TYPE_LRU_HASH, struct flow_key, struct flow, 65536, 0);
/* Where flows are moved, which the program only reads: a set, by hand or not, in the upper half, a list in the lower. */
TABLE(moves, BPF_MAP_TYPE_LRU_HASH, struct flow_key, __u64, 65536, 0);
/* Who holds packets of flows that move. */
TABLE(holders, BPF_MAP_TYPE_ARRAY, __u32, struct holder, 1, 0);
/* Who cuts superpackets. */
TABLE(cutters, BPF_MAP_TYPE_ARRAY, __u32, struct cutter, 1, 0);
/* Whom a relay decapsulates for, each with the encapsulations as bits. */
TABLE(relays, BPF_MAP_TYPE_HASH, struct relay_key, __u32, 256, BPF_F_NO_PREALLOC);
TABLE(path_drops, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, PATH_DROP_REASONS, 0);

/* Whether a packet has the source that all stacks of its family have. */
inline bool is_from_shared(const struct packet *packet)
{
	const volatile __u64 *shared = (const volatile __u64 *)steering.source_ipv6;
	const __u64 *source = (const __u64 *)packet->ipv6.source;

	if (packet->family == FAMILY_IPV4)
		return *(const __u32 *)packet->ipv4.source == *(const volatile __u32 *)steering.source;
	return source[0] == shared[0] && source[1] == shared[1];
}

/* Of the packet behind what is taken away: of Linux 6.3, younger than headers of some machines. Older ones refuse them. */
#define DECAP_L3_IPV4 (1ULL << 7)
#define DECAP_L3_IPV6 (1ULL << 8)

/* Takes bytes away behind Ethernet's header, and tells the kernel of which family the packet is then. */
inline bool take_away(struct __sk_buff *skb, __u32 bytes, __u32 family)
{
	__u64 flags = family == FAMILY_IPV4 ? DECAP_L3_IPV4 : DECAP_L3_IPV6;

	if (family_of(skb->protocol) == family)
		return !bpf_skb_adjust_room(skb, -(__s32)bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
	if (!bpf_skb_adjust_room(skb, -(__s32)bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO | flags))
		return true;
	/* An older kernel makes the outer header one of the other family, by its length; then that goes. */
	if (bpf_skb_change_proto(skb, ether_type_in(family), 0))
		return false;
	bytes += family == FAMILY_IPV4 ? -(IPV6 - IPV4) : IPV6 - IPV4;
	return !bytes || !bpf_skb_adjust_room(skb, -(__s32)bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
}

/* Counts a packet that goes no further. */
inline int drop_of_path(__u32 reason)
{
	__u64 *count = at(path_drops, reason);

	if (count)
		*count += 1;
	return DROPPED;
}
