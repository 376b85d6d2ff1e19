/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where stations are, learned from what they send. */
#pragma once

#include "bucket.h"
#include "clock.h"
#include "maps.h"
#include "parcel.h"
#include "recent.h"

/* A thousand new or moved stations a second of each tenant, after a burst of as many. */
#define LEARNING_COST 1000000ULL
#define LEARNING_BURST 1000000000ULL

TABLE(learning, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, SIZE_TENANTS, 0);

/* The frame passes, though nobody knows its sender. */
#define UNLEARNED 1

/* Whether what is for it comes up here, as is so of groups that this node is in, and of no other node. */
inline bool comes_up(__u32 path)
{
	__u64 *word = at(paths, path);
	struct group *group;

	if (!word)
		return false;
	if (*word >> 32 == PATH_OWN)
		return true;
	group = *word >> 32 == PATH_GROUP ? at(groups, *word) : 0;
	return group && group->includes_own;
}

/* Looks at the sender of a frame. Returns why it must not be, as a negative number, or 0 of one who is known to be there. */
inline int learn(const struct ethernet_header *frame, __u32 tenant, const struct parcel *parcel)
{
	struct node_key node = { .application = parcel->application, .node = parcel->source };
	struct fib_key key = { .tenant = tenant };
	struct fib_entry entry = {}, *known;
	__u32 *path, second = now();

	if (frame->source[0] & 1)
		return -DROP_MALFORMED;
	__builtin_memcpy(key.identifier, frame->source, 6);
	known = bpf_map_lookup_elem(&fib, &key);
	if (known && known->node == parcel->source) {
		/* Written once a second, since a line that is written is no other processor's. */
		if (known->heard && known->heard != second)
			known->heard = second;
		return 0;
	}
	if (known && !known->heard)
		return -DROP_UNKNOWN_SOURCE;
	path = bpf_map_lookup_elem(&nodes, &node);
	/* A group sends nothing: stations that were there would be everybody's. */
	if (!path || comes_up(*path))
		return -DROP_UNKNOWN_SOURCE;
	if (take(at(learning, tenant), LEARNING_COST, LEARNING_BURST)) {
		entry.node = parcel->source;
		entry.path = *path;
		entry.heard = second ?: 1;
		/* Who is new may have been written by hand since it was looked for, and that stays. */
		bpf_map_update_elem(&fib, &key, &entry, known ? BPF_ANY : BPF_NOEXIST);
		turn_generation();
	}
	return UNLEARNED;
}
