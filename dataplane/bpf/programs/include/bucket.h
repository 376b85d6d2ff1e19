/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Bounds on what others can make this node do. */
#pragma once

#include "base.h"

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

/* Of what packets of others make a relay say: a thousand answers a second, after a burst of a hundred. */
#define ANSWER_COST 1000000ULL
#define ANSWER_BURST 100000000ULL

TABLE(answering, BPF_MAP_TYPE_ARRAY, __u32, struct bucket, 1, 0);

inline bool may_answer(void)
{
	return take(at(answering, 0), ANSWER_COST, ANSWER_BURST);
}
