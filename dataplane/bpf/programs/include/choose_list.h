/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a packet to its flow, and from a flow to one of a set's lists. */
#pragma once

#include "find_set.h"

#define PROTOCOL_SCTP 132

inline bool has_ports(const struct packet *packet)
{
	if (is_fragment(packet))
		return false;
	return packet->protocol == PROTOCOL_TCP || packet->protocol == PROTOCOL_UDP || packet->protocol == PROTOCOL_SCTP;
}

/* Reads the flow of a packet, whose header was read already. Choice: of IPv6 the ports are those right behind its header;
 * what has extension headers is told from others by its addresses and the first of them. */
inline void flow_of(struct __sk_buff *skb, const struct packet *packet, struct flow_key *flow)
{
	source_of(packet, flow->source);
	destination_of(packet, flow->destination);
	flow->protocol = packet->protocol;
	/* Of what is cut before its ports, the rest is nought. */
	if (!has_ports(packet) || !read_bytes(skb, ETHERNET + packet->header, flow->ports, 4))
		*(__u32 *)flow->ports = 0;
}

/* An address in a word: of IPv4 all of it. */
inline __u32 word_of(const __u8 address[16], __u32 family)
{
	const __u32 *words = (const __u32 *)address;

	return family == FAMILY_IPV4 ? words[3] : mixed(words[0], words[1], words[2]) ^ words[3];
}

inline __u32 hash_of(const struct flow_key *flow, __u32 family)
{
	return mixed(word_of(flow->source, family), word_of(flow->destination, family),
		     *(const __u32 *)flow->ports ^ flow->protocol);
}

_Static_assert((PATHS_LISTS & (PATHS_LISTS - 1)) == 0, "masks below");

/* Nanoseconds from one instant to another; nought where another processor's clock was read later. */
inline __u64 between(__u64 then, __u64 now)
{
	return now > then ? now - then : 0;
}

/* Whether a flow was silent for so long that what comes now is another one. Of one that is held, nothing is heard. */
inline bool is_over(const struct flow *known)
{
	__u64 now;

	if (!steering.idle)
		return false;
	now = bpf_ktime_get_ns();
	return between(known->heard, now) > steering.idle && between(known->holds, now) > steering.idle;
}

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

/* In place of a list: the packet goes to the holder. */
#define HELD PATHS_LISTS

/* Likewise: there is none. */
#define NO_LIST (PATHS_LISTS + 1)

/* The list by which a flow went, in a set that may be another than it was: where it still is, the flow stays. */
inline __u32 list_in(const struct list_set *set, const struct flow *known)
{
	__u32 list = known->list;

	if (list < set->count && set->choices[list & (PATHS_LISTS - 1)].name == known->name)
		return list;
#pragma nounroll
	for (__u32 i = 0; i < PATHS_LISTS; i++) {
		if (i >= set->count)
			break;
		if (set->choices[i & (PATHS_LISTS - 1)].name == known->name)
			return i;
	}
	return NO_LIST;
}

/* Nanoseconds in which another processor has put on the device what it had in hand. */
#define SETTLED 50000

/* How many packets it will be on the wire. */
inline __u32 segments_of(const struct __sk_buff *skb)
{
	return skb->gso_segs ? skb->gso_segs : 1;
}

/* Holds a flow's packets from now on, if somebody does that. */
inline bool hold(const struct __sk_buff *skb, struct flow *known, __u64 now)
{
	const struct holder *holder = at(holders, 0);

	if (!holder || !holder->tap)
		return false;
	known->waits = 0;
	known->gone = 0;
	known->held = segments_of(skb);
	known->holds = now;
	return true;
}

/* Whether a packet must wait with others of its flow. That ends when all that were held have gone, or nobody lets them go. */
inline bool is_held(const struct __sk_buff *skb, struct flow *known)
{
	const struct holder *holder;
	__u64 now;

	if (!known || !known->holds)
		return false;
	holder = at(holders, 0);
	now = bpf_ktime_get_ns();
	if (known->held == known->gone && now - known->heard > SETTLED) {
		known->holds = 0;
		return false;
	}
	if (!holder || !holder->tap || now - known->holds > steering.longest_hold) {
		/* Nobody lets them go: it moves all the same, as if it had been silent for long enough. */
		known->holds = 0;
		known->heard = now - steering.spread - 1;
		return false;
	}
	__sync_fetch_and_add(&known->held, segments_of(skb));
	return true;
}

/* Whether the holder let a packet go. */
inline bool goes_on(struct __sk_buff *skb, struct flow *known)
{
	if (!steering.mark || skb->mark != steering.mark)
		return false;
	skb->mark = 0;
	if (known)
		__sync_fetch_and_add(&known->gone, 1);
	return true;
}

/* A flow that is to move. What it sent before must not be overtaken: it goes when it was silent for as long as paths differ,
 * or when its packets were held for so long. */
inline __u32 move_to(const struct __sk_buff *skb, __u32 list, __u32 stays, struct flow *known)
{
	__u64 now;

	if (list == stays && !known->waits)
		return list;
	now = bpf_ktime_get_ns();
	if (list == stays || now - known->heard > steering.spread) {
		known->waits = 0;
		return list;
	}
	if (!known->waits)
		known->waits = now;
	return now - known->waits > steering.patience && hold(skb, known, now) ? HELD : stays;
}

/* Holds back a flow whose list is no more while what went by it is under way, if somebody does that. */
inline bool hold_back(const struct __sk_buff *skb, struct flow *known)
{
	__u64 now = bpf_ktime_get_ns();

	known->waits = 0;
	return now - known->heard <= steering.spread && hold(skb, known, now);
}

/* The list of a flow that goes by none. */
inline __u32 fresh_list(struct list_set *set, __u32 hash)
{
	if (set->selector == SELECTOR_ROUND_ROBIN)
		return __sync_fetch_and_add(&set->turns, 1) % set->count;
	return by_hash(set, hash);
}

/* The list of a flow. One that is known stays where it is, as long as its prefix has that list. */
inline __u32 choose_list(struct __sk_buff *skb, __u32 number, struct list_set *set, const struct flow_key *key,
			 struct flow *known, __u32 hash)
{
	bool was_held = goes_on(skb, known);
	__u32 stays, to = NO_LIST;
	const __u64 *moved;

	if (!was_held && is_held(skb, known))
		return HELD;
	if (set->selector == SELECTOR_FLOW_BASED) {
		moved = bpf_map_lookup_elem(&moves, key);
		if (moved && (*moved >> 32 & ~PLACE_BY_HAND) == number && (__u32)*moved < set->count)
			to = *moved;
	}
	stays = known ? list_in(set, known) : NO_LIST;
	if (stays == NO_LIST) {
		if (known && !was_held && hold_back(skb, known))
			return HELD;
		return to == NO_LIST ? fresh_list(set, hash) : to;
	}
	if (to == NO_LIST)
		return stays;
	return was_held ? to : move_to(skb, to, stays, known);
}

/* By what a flow goes. */
struct flow_place {
	union found found;
	__u32 list, name;
};

/* Remembers by what a flow goes. */
inline void keep_place(struct flow *known, const struct flow_place *place)
{
	*(volatile __u64 *)&known->set = place->found.word;
	known->list = place->list;
	known->name = place->name;
}

/* Counts a packet of a flow and of its list. */
inline void count_flow(const struct flow_key *key, struct flow *known, const struct flow_place *place, __u32 stack,
		       __u32 bytes)
{
	struct flow fresh = {
		.packets = 1, .bytes = bytes, .heard = bpf_ktime_get_ns(),
		.set = place->found.set, .found = place->found.by, .list = place->list, .name = place->name,
	};
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
	keep_place(known, place);
}

/* Remembers the list of a flow of which nothing went by it yet: what was refused took its turn. What is known of a flow that
 * went by others stays. */
inline void keep_turn(const struct flow_key *key, struct flow *known, const struct flow_place *place)
{
	struct flow fresh = {
		.heard = bpf_ktime_get_ns(),
		.set = place->found.set, .found = place->found.by, .list = place->list, .name = place->name,
	};

	if (known)
		keep_place(known, place);
	else
		bpf_map_update_elem(&flows, key, &fresh, BPF_ANY);
}
