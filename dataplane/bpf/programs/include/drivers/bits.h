/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Frames, found by whatever bits of them the device's configuration names (the overlay FIB's opaque identifiers). */
#pragma once

#include "identify.h"

inline bool bits_takes(enum payload payload)
{
	return payload == PAYLOAD_ETHERNET;
}

inline bool bits_identify(struct __sk_buff *skb, const struct ethernet_header *frame, struct fib_key *key,
			  struct parcel *parcel)
{
	if (!take_bits(skb, device.offset & 1023, device.mask, key))
		return false;
	parcel->payload = PAYLOAD_ETHERNET;
	parcel->outer = 0;
	parcel->hash = bpf_get_hash_recalc(skb);
	parcel->flow = flow_port(parcel->hash);
	return true;
}

inline bool bits_find(struct __sk_buff *skb, const struct tenant *tenant, struct fib_key *key, struct parcel *parcel)
{
	struct ethernet_header frame ON_STACK;

	if (bpf_skb_load_bytes(skb, parcel->outer, &frame, ETHERNET) ||
	    !take_bits(skb, parcel->outer + (tenant->offset & 1023), tenant->mask, key))
		return false;
	parcel->hash = stations_hash(&frame);
	return true;
}

inline int bits_hear(const struct ethernet_header *frame, __u32 tenant, const struct parcel *parcel)
{
	return 0;
}
