/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The overlay's programs with one driver more, which tests alone have: frames are at one of two nodes, by the last bit of the
 * address they are for. */
#define DRIVER_PARITY 200

#include "identify.h"

inline bool parity_takes(enum payload payload)
{
	return payload == PAYLOAD_ETHERNET;
}

inline bool parity_identify(struct __sk_buff *skb, const struct ethernet_header *frame, struct fib_key *key,
			    struct parcel *parcel)
{
	key->identifier[0] = frame->destination[5] & 1;
	parcel->payload = PAYLOAD_ETHERNET;
	parcel->outer = 0;
	parcel->hash = key->identifier[0];
	parcel->flow = flow_port(bpf_get_hash_recalc(skb));
	return true;
}

inline bool parity_find(struct __sk_buff *skb, const struct tenant *tenant, struct fib_key *key, struct parcel *parcel)
{
	__u8 last;

	if (bpf_skb_load_bytes(skb, parcel->outer + 5, &last, 1))
		return false;
	key->identifier[0] = last & 1;
	parcel->hash = last & 1;
	return true;
}

inline int parity_hear(const struct ethernet_header *frame, __u32 tenant, const struct parcel *parcel)
{
	return 0;
}

#define MORE_DRIVERS(EACH) EACH(PARITY, parity)

#include "overlay.bpf.c"
