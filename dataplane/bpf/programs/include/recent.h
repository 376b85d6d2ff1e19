/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What tables said of the last packets that came in, so that those like them are not looked up again.
 *
 * Each processor has its own, one for a handful of flows. It is believed as long as no table that it is from was written
 * to, and for a moment at most, so that who is silent can be told from who is not. */
#pragma once

#include "maps.h"

#define RECENTS 64

/* No application has this number. */
#define NO_APPLICATION 256

/* What a device is that stands in no table: nothing comes in by it, or what this host cut (segment.h) and nothing else. */
#define ENTRANCE_SHUT 0
#define ENTRANCE_CUT 3

struct recent {
	/* Of the tables, when they were looked at. */
	__u64 generation;
	__u32 moment;
	/* By which device packets came, and what that is to them. */
	__u32 interface;
	__u32 entrance;
	struct peer_key key;
	struct peer peer;
	/* Where packets for a node go on. */
	struct node_key onward;
	__u32 path;
	/* To what tenant a station, all nought of what is no frame, sends from a node. */
	struct vni_key vni;
	__u32 source;
	__u8 station[8];
	__u32 tenant;
};

TABLE(recents, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct recent, RECENTS, 0);

/* Another number after each change of the tables. The agent takes nanoseconds, so that those that programs count on from
 * there never meet the next of the agent's. */
TABLE(generations, BPF_MAP_TYPE_ARRAY, __u32, __u64, 1, 0);

/* 256 of the kernel's ticks: a quarter of a second, or two and a half where they are long. Unlike the clock it is a word to read. */
inline __u32 this_moment(void)
{
	return bpf_jiffies64() >> 8;
}

/* Says that a table is not what it was. */
inline void turn_generation(void)
{
	__u64 *generation = at(generations, 0);

	if (generation)
		__sync_fetch_and_add(generation, 1);
}

/* Whether two keys are the same. */
inline bool is_same(const void *one, const void *other, const __u32 bytes)
{
	__u64 difference = 0;
	__u32 at = 0;

#pragma unroll
	for (; at + 8 <= bytes; at += 8)
		difference |= *(const __u64 *)(one + at) ^ *(const __u64 *)(other + at);
	if (at < bytes)
		difference |= *(const __u32 *)(one + at) ^ *(const __u32 *)(other + at);
	return !difference;
}

inline __u32 entrance_of(__u32 interface)
{
	const struct segmenter *segmenter = at(segmenters, 0);
	const __u32 *entrance;

	if (segmenter && segmenter->front && interface == segmenter->back)
		return ENTRANCE_CUT;
	entrance = bpf_map_lookup_elem(&entrances, &interface);
	return entrance ? *entrance : ENTRANCE_SHUT;
}

/* Whether a packet may come in by its device. No program can send into the pair what wears the mark of ours. */
inline bool may_come_in(const struct __sk_buff *skb, const struct recent *recent)
{
	return recent->entrance == ENTRANCE_OPEN || (recent->entrance == ENTRANCE_CUT && skb->tc_index == GUARD_PASSES);
}

/* What is known of a pair of locators, of this flow's kind, by this device; 0 of one that is no peer's. */
inline struct recent *recall(const struct __sk_buff *skb, const struct peer_key *key, __u16 flow)
{
	struct recent *recent = at(recents, (flow >> 8 ^ key->locator[15]) & (RECENTS - 1));
	const __u64 *turned = at(generations, 0);
	const struct peer *peer;
	__u32 moment = this_moment(), interface = skb->ingress_ifindex;
	__u64 generation;

	if (!recent || !turned)
		return 0;
	/* Before the tables are looked at. */
	generation = *(const volatile __u64 *)turned;
	if (recent->generation == generation && recent->moment == moment && recent->interface == interface &&
	    is_same(&recent->key, key, sizeof(*key)))
		return recent;
	peer = bpf_map_lookup_elem(&peers, key);
	if (!peer)
		return 0;
	recent->generation = generation;
	recent->moment = moment;
	recent->interface = interface;
	recent->entrance = entrance_of(interface);
	copy(&recent->key, key, sizeof(*key));
	copy(&recent->peer, peer, sizeof(*peer));
	recent->onward.application = NO_APPLICATION;
	recent->vni.application = NO_APPLICATION;
	return recent;
}

/* The tenant to which a station sent lately from a packet's node, or nought. */
inline __u32 recall_tenant(const struct recent *recent, const struct vni_key *vni, __u32 source, const __u8 station[8])
{
	if (!recent || !is_same(&recent->vni, vni, sizeof(*vni)) || recent->source != source ||
	    !is_same(recent->station, station, sizeof(recent->station)))
		return 0;
	return recent->tenant;
}

inline void remember_tenant(struct recent *recent, const struct vni_key *vni, __u32 source, const __u8 station[8],
			    __u32 tenant)
{
	if (!recent)
		return;
	recent->vni = *vni;
	recent->source = source;
	copy(recent->station, station, sizeof(recent->station));
	recent->tenant = tenant;
}
