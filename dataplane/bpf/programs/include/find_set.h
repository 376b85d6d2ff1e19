/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a packet to the set of its prefix. */
#pragma once

#include "path_maps.h"

/* A set and what it was found by, in one word as a flow has it: no two processors leave the set of one and the generation of
 * the other. */
union found {
	struct {
		__u32 set, by;
	};
	__u64 word;
};

/* What is read before is read before what is read behind, on any processor: atomics that give back what was there are
 * barriers in the kernel's compilers. */
inline void read_barrier(void)
{
	__u64 place ON_STACK = 0, nought = 0;

	asm volatile("" : "+r"(nought) : "r"(&place) : "memory");
	nought = __sync_fetch_and_add(&place, nought);
	asm volatile("" : : "r"(nought) : "memory");
}

/* Finds the set of a packet's prefix, if there is one. A flow that was heard of since prefixes changed has it in its entry. The
 * hash stands for the flow there: the kernel may give the entry to another one meanwhile, and one of IPv6 between mapped addresses
 * has the same key as one of IPv4. */
inline bool find_set(const struct packet *packet, const struct flow *known, __u32 hash, union found *found)
{
	const volatile __u32 *generation = at(generations, 0);
	struct prefix_key prefix ON_STACK;
	const __u32 *set;
	__u32 by;

	if (!generation)
		return false;
	by = *generation ^ hash;
	if (known) {
		found->word = *(const volatile __u64 *)&known->set;
		if (found->by == by)
			return true;
	}
	/* A prefix is written before its generation. */
	read_barrier();
	prefix.bits = 8 * (sizeof(prefix) - sizeof(prefix.bits));
	prefix.family = packet->family;
	destination_of(packet, prefix.address);
	set = bpf_map_lookup_elem(&prefixes, &prefix);
	if (!set)
		return false;
	found->set = *set;
	found->by = by;
	return true;
}
