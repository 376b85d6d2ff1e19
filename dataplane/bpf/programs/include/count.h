/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is counted. */
#pragma once

#include "maps.h"

/* Where a packet leaves by a hop. */
struct way {
	const struct wire *wire;
	const struct adjacency *adjacency;
	/* The hop's own path. */
	__u32 path;
	/* The wire's number. */
	__u32 number;
};

/* Counts a packet that goes no further. */
inline int drop(__u32 reason)
{
	__u64 *count = at(drops, reason);

	if (count)
		*count += 1;
	return DROPPED;
}

inline void add(struct count *count, __u32 bytes)
{
	if (count) {
		count->packets += 1;
		count->bytes += bytes;
	}
}

inline void count_path(__u32 path, __u32 bytes)
{
	add(at(path_counts, path), bytes);
}

/* Counts a packet that goes to a next hop, by the path of that, and by the pair of locators. */
inline void count_hop(const struct way *way, __u32 bytes)
{
	add(at(hop_counts, way->path), bytes);
	add(at(wire_counts, way->number), bytes);
}

inline void count_sent(__u32 tenant, __u32 bytes)
{
	struct tenant_count *count = at(tenant_counts, tenant);

	if (count) {
		count->sent.packets += 1;
		count->sent.bytes += bytes;
	}
}

inline void count_missed(__u32 tenant, __u32 bytes)
{
	struct tenant_count *count = at(tenant_counts, tenant);

	if (count) {
		count->missed.packets += 1;
		count->missed.bytes += bytes;
	}
}

inline void count_received(__u32 tenant, __u32 bytes)
{
	struct tenant_count *count = at(tenant_counts, tenant);

	if (count) {
		count->received.packets += 1;
		count->received.bytes += bytes;
	}
}
