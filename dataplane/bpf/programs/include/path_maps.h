/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The tables of path control; reference/paths/tables.rs says what stands in them. Sizes are the loader's to change. */
#pragma once

#include "base.h"
#include "path_tables.h"

/* What this copy of the programs does, written before it is loaded. */
const volatile struct steering steering = {};

/* From prefixes of destinations to sets. */
TABLE(prefixes, BPF_MAP_TYPE_LPM_TRIE, struct prefix_key, __u32, 16384, BPF_F_NO_PREALLOC);
TABLE(sets, BPF_MAP_TYPE_ARRAY, __u32, struct list_set, 1024, 0);
TABLE(stacks, BPF_MAP_TYPE_ARRAY, __u32, struct stack, 8192, 0);
TABLE(list_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct list_count, 8192, 0);
/* The flows heard of last, which the program alone writes. */
TABLE(flows, BPF_MAP_TYPE_LRU_HASH, struct flow_key, struct flow, 65536, 0);
/* Where flows are moved, which the program only reads: a set in the upper half, a list in the lower. */
TABLE(moves, BPF_MAP_TYPE_LRU_HASH, struct flow_key, __u64, 65536, 0);
/* Whom a relay decapsulates for, each with the encapsulations as bits. */
TABLE(relays, BPF_MAP_TYPE_HASH, struct relay_key, __u32, 256, BPF_F_NO_PREALLOC);
TABLE(path_drops, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, PATH_DROP_REASONS, 0);

/* Counts a packet that goes no further. */
inline int drop_of_path(__u32 reason)
{
	__u64 *count = at(path_drops, reason);

	if (count)
		*count += 1;
	return DROPPED;
}
