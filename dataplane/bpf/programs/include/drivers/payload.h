/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What frames carry, whatever that is, without their headers: IP, MPLS labels, service paths. It is found by whatever bits of
 * it the device's configuration names, a label say, or by none (every row of the overlay FIB's table of tunnels).
 *
 * Choice: of what is no IP, identifiers are flows on the way, since nobody but its ends knows what is in it. */
#pragma once

#include "identify.h"

inline bool payload_takes(enum payload payload)
{
	return payload != PAYLOAD_ETHERNET;
}

/* What an EtherType says that a frame carries, if it is one of those. */
inline bool payload_of(__be16 ether_type, struct parcel *parcel)
{
	return is_payload(ether_type, parcel) && parcel->payload != PAYLOAD_ETHERNET;
}

inline bool payload_identify(struct __sk_buff *skb, const struct ethernet_header *frame, struct fib_key *key,
			     struct parcel *parcel)
{
	if (!payload_of(frame->ether_type, parcel) || skb->len < ETHERNET + least_of(parcel->payload) ||
	    !take_bits(skb, ETHERNET + (device.offset & 1023), device.mask, key))
		return false;
	parcel->outer = ETHERNET;
	parcel->hash = bpf_get_hash_recalc(skb);
	parcel->flow = flow_port(parcel->hash);
	return true;
}

inline bool payload_find(struct __sk_buff *skb, const struct tenant *tenant, struct fib_key *key,
			 struct parcel *parcel)
{
	const __u32 *bits = (const __u32 *)key->identifier;
	__u32 words[10];

	if (!take_bits(skb, parcel->outer + (tenant->offset & 1023), tenant->mask, key))
		return false;
	switch (parcel->payload) {
	case PAYLOAD_IPV4:
		if (bpf_skb_load_bytes(skb, parcel->outer, words, IPV4))
			return false;
		parcel->hash = hosts_hash4(words);
		return true;
	case PAYLOAD_IPV6:
		if (bpf_skb_load_bytes(skb, parcel->outer, words, IPV6))
			return false;
		parcel->hash = hosts_hash6(words);
		return true;
	default:
		parcel->hash = mixed(bits[0], bits[1], bits[2] ^ bits[3]);
		return true;
	}
}

inline int payload_hear(const struct ethernet_header *frame, __u32 tenant, const struct parcel *parcel)
{
	return 0;
}
