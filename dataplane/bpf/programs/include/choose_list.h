/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a packet to its flow, and from a flow to one of a set's lists. */
#pragma once

#include "path_maps.h"

#define PROTOCOL_SCTP 132

/* Don't fragment is no sign of a fragment; more fragments and the offset are. */
#define FRAGMENT_BITS 0x3fff

inline bool has_ports(const struct ipv4_header *ip)
{
	if (ip->fragment & bpf_htons(FRAGMENT_BITS))
		return false;
	return ip->protocol == PROTOCOL_TCP || ip->protocol == PROTOCOL_UDP || ip->protocol == PROTOCOL_SCTP;
}

/* Reads the flow of an IPv4 packet, whose header was read already. */
inline void flow_of(struct __sk_buff *skb, const struct ipv4_header *ip, struct flow_key *flow)
{
	copy(flow->source, ip->source, 4);
	copy(flow->destination, ip->destination, 4);
	flow->protocol = ip->protocol;
	/* Of what is cut before its ports, the rest is nought. */
	if (!has_ports(ip) || bpf_skb_load_bytes(skb, ETHERNET + (ip->version_ihl & 15) * 4, flow->ports, 4))
		*(__u32 *)flow->ports = 0;
}

inline __u32 hash_of(const struct flow_key *flow)
{
	return mixed(*(const __u32 *)flow->source, *(const __u32 *)flow->destination,
		     *(const __u32 *)flow->ports ^ flow->protocol);
}

_Static_assert((PATHS_LISTS & (PATHS_LISTS - 1)) == 0, "masks below");

/* The list that a hash names, by weight. */
inline __u32 by_hash(const struct list_set *set, __u32 hash)
{
	__u32 point = ((__u64)hash * set->weights) >> 32;

#pragma nounroll
	for (__u32 i = 0; i < PATHS_LISTS; i++) {
		if (i >= set->count)
			break;
		if (point < set->choices[i & (PATHS_LISTS - 1)].below)
			return i;
	}
	return 0;
}

/* The list of a flow. One that is known stays where it is, as long as its set does. */
inline __u32 choose_list(__u32 number, struct list_set *set, const struct flow_key *key, const struct flow *known, __u32 hash)
{
	const __u64 *moved;

	switch (set->selector) {
	case SELECTOR_ROUND_ROBIN:
		if (known && known->set == number && known->list < set->count)
			return known->list;
		return __sync_fetch_and_add(&set->turns, 1) % set->count;
	case SELECTOR_FLOW_BASED:
		moved = bpf_map_lookup_elem(&moves, key);
		if (moved && *moved >> 32 == number && (__u32)*moved < set->count) {
			/* What it sent before must not be overtaken: it moves when it was silent for as long as paths differ. */
			if (!known || known->set != number || known->list == (__u32)*moved ||
			    bpf_ktime_get_ns() - known->heard > steering.spread)
				return *moved;
			return known->list;
		}
	}
	return by_hash(set, hash);
}

/* Counts a packet of a flow and of its list. */
inline void count_flow(const struct flow_key *key, struct flow *known, __u32 number, __u32 list, __u32 stack, __u32 bytes)
{
	struct flow fresh = { .packets = 1, .bytes = bytes, .heard = bpf_ktime_get_ns(), .set = number, .list = list };
	struct list_count *count = at(list_counts, stack);

	if (count) {
		count->packets += 1;
		count->bytes += bytes;
	}
	if (!known) {
		bpf_map_update_elem(&flows, key, &fresh, BPF_ANY);
		return;
	}
	__sync_fetch_and_add(&known->packets, 1);
	__sync_fetch_and_add(&known->bytes, bytes);
	known->heard = fresh.heard;
	known->set = number;
	known->list = list;
}

/* Remembers the list of a flow of which nothing went yet: what was refused took its turn. */
inline void keep_turn(const struct flow_key *key, __u32 number, __u32 list)
{
	struct flow fresh = { .heard = bpf_ktime_get_ns(), .set = number, .list = list };

	bpf_map_update_elem(&flows, key, &fresh, BPF_ANY);
}
