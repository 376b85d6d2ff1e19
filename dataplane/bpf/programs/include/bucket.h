/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Bounds on what others can make this node do. */
#pragma once

#include "maps.h"

/* Takes a token of so many nanoseconds from a bucket that holds so many nanoseconds of them. */
inline bool take(struct bucket *bucket, __u64 cost, __u64 burst)
{
	__u64 time = bpf_ktime_get_ns(), spent;

	if (!bucket)
		return false;
	spent = bucket->spent_until;
	if (time > burst && spent < time - burst)
		spent = time - burst;
	if (spent + cost > time)
		return false;
	/* Two processors may spend the same token; the bound is one of load, not of law. */
	bucket->spent_until = spent + cost;
	return true;
}
