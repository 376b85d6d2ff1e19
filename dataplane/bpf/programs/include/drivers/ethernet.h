/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Frames, found by the hardware address they are for; where stations are is learned (ovstack's oveth). */
#pragma once

#include "identify.h"
#include "learn.h"

inline bool ethernet_takes(enum payload payload)
{
	return payload == PAYLOAD_ETHERNET;
}

inline bool ethernet_identify(struct __sk_buff *skb, const struct ethernet_header *frame, struct fib_key *key,
			      struct parcel *parcel)
{
	__builtin_memcpy(key->identifier, frame->destination, 6);
	parcel->hash = stations_hash(frame);
	parcel->payload = PAYLOAD_ETHERNET;
	parcel->outer = 0;
	parcel->flow = flow_port(bpf_get_hash_recalc(skb));
	return true;
}

inline bool ethernet_find(struct __sk_buff *skb, const struct tenant *tenant, struct fib_key *key,
			  struct parcel *parcel)
{
	struct ethernet_header frame ON_STACK;

	if (bpf_skb_load_bytes(skb, parcel->outer, &frame, ETHERNET))
		return false;
	__builtin_memcpy(key->identifier, frame.destination, 6);
	parcel->hash = stations_hash(&frame);
	return true;
}

inline int ethernet_hear(const struct ethernet_header *frame, __u32 tenant, const struct parcel *parcel)
{
	return learn(frame, tenant, parcel);
}
