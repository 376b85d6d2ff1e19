/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What is counted. */
#pragma once

#include "maps.h"

/* Counts a packet that goes no further. */
inline int drop(__u32 reason)
{
	__u64 *count = at(drops, reason);

	if (count)
		*count += 1;
	return DROPPED;
}

inline void count_path(__u32 path, __u32 bytes)
{
	struct count *count = at(path_counts, path);

	if (count) {
		count->packets += 1;
		count->bytes += bytes;
	}
}

/* Counts a packet that goes to a next hop, by the path of that. */
inline void count_hop(__u32 path, __u32 bytes)
{
	struct count *count = at(hop_counts, path);

	if (count) {
		count->packets += 1;
		count->bytes += bytes;
	}
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
