/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The time, as tables have it. */
#pragma once

#include "base.h"

/* Seconds, nearly: 2^30 nanoseconds. */
inline __u32 now(void)
{
	return bpf_ktime_get_coarse_ns() >> 30;
}
