/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Packets of flows that move are held, until nothing that they sent before can be overtaken. */
#pragma once

#include "flow.h"

/* Nanoseconds in which another processor has put on the device what it had in hand. */
#define SETTLED 50000

/* How many packets it will be on the wire. */
inline __u32 segments_of(const struct __sk_buff *skb)
{
	return skb->gso_segs ? skb->gso_segs : 1;
}

/* Holds a flow's packets from now on, if somebody does that. */
inline bool hold(const struct __sk_buff *skb, struct flow *known, __u64 now)
{
	const struct holder *holder = at(holders, 0);

	if (!holder || !holder->tap)
		return false;
	known->waits = 0;
	known->gone = 0;
	known->held = segments_of(skb);
	known->holds = now;
	return true;
}

/* Whether a packet must wait with others of its flow. That ends when all that were held have gone, or nobody lets them go. */
inline bool is_held(const struct __sk_buff *skb, struct flow *known)
{
	const struct holder *holder;
	__u64 now;

	if (!known || !known->holds)
		return false;
	holder = at(holders, 0);
	now = bpf_ktime_get_ns();
	if (known->held == known->gone && now - known->heard > SETTLED) {
		known->holds = 0;
		return false;
	}
	if (!holder || !holder->tap || now - known->holds > steering.longest_hold) {
		/* Nobody lets them go: it moves all the same, as if it had been silent for long enough. */
		known->holds = 0;
		known->heard = now - steering.spread - 1;
		return false;
	}
	__sync_fetch_and_add(&known->held, segments_of(skb));
	return true;
}

/* Whether the holder let a packet go. */
inline bool goes_on(struct __sk_buff *skb, struct flow *known)
{
	if (!steering.mark || skb->mark != steering.mark)
		return false;
	skb->mark = 0;
	if (known)
		__sync_fetch_and_add(&known->gone, 1);
	return true;
}

/* Holds back a flow whose list is no more while what went by it is under way, if somebody does that. */
inline bool hold_back(const struct __sk_buff *skb, struct flow *known)
{
	__u64 now = bpf_ktime_get_ns();

	known->waits = 0;
	return now - known->heard <= steering.spread && hold(skb, known, now);
}

/* Sends a packet to the holder, with the instant until which it holds it. */
inline int to_holder(struct __sk_buff *skb, const struct flow *known)
{
	const struct holder *holder = at(holders, 0);
	struct hold_tag tag = { .until = known->holds + steering.spread };

	if (!holder || !holder->tap || bpf_skb_change_head(skb, sizeof(tag), 0) ||
	    bpf_skb_store_bytes(skb, 0, &tag, sizeof(tag), 0))
		return drop_of_path(PATH_DROP_REFUSED);
	return bpf_redirect(holder->tap, 0);
}
