/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is remembered of a flow, and counted of it and of its list. */
#pragma once

#include "find_set.h"
#include "flow.h"

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
