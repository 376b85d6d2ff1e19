/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Where stations are, learned from what they send. */
#pragma once

#include "bucket.h"
#include "parcel.h"

/* Seconds, nearly: 2^30 nanoseconds. */
inline __u32 now(void)
{
	return bpf_ktime_get_coarse_ns() >> 30;
}

/* A thousand new or moved stations a second of each tenant, after a burst of as many. */
#define LEARNING_COST 1000000ULL
#define LEARNING_BURST 1000000000ULL

TABLE(learning, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, SIZE_TENANTS, 0);

/* Looks at the sender of a frame. Returns why it must not be, as a negative number, or 0. */
inline int learn(struct __sk_buff *skb, __u32 tenant, const struct parcel *parcel)
{
	struct node_key node = { .application = parcel->application, .node = parcel->source };
	struct fib_key key = { .tenant = tenant };
	struct fib_entry entry = {}, *known;
	__u32 *path, second = now();

	if (bpf_skb_load_bytes(skb, parcel->outer + 6, key.identifier, 6) || key.identifier[0] & 1)
		return -DROP_MALFORMED;
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
	if (!path)
		return -DROP_UNKNOWN_SOURCE;
	if (take(at(learning, tenant), LEARNING_COST, LEARNING_BURST)) {
		entry.node = parcel->source;
		entry.path = *path;
		entry.heard = second ?: 1;
		bpf_map_update_elem(&fib, &key, &entry, BPF_ANY);
	}
	return 0;
}
