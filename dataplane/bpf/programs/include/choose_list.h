/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a flow to one of a set's lists. */
#pragma once

#include "find_set.h"
#include "hold.h"

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
