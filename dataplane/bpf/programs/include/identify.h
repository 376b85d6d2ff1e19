/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a packet on a tenant's device to the identifier of where it goes. */
#pragma once

#include "parcel.h"

/* The device that this copy of the program serves, written before the program is loaded: what it does not need is not
 * even translated. */
const volatile struct device device = {};

/* Congestion marks of an IP packet at an offset. */
inline __u32 ecn_of(struct __sk_buff *skb, __u16 ether_type)
{
	const struct ipv4_header *ip = data(skb) + ETHERNET;

	if ((void *)(ip + 1) > data_end(skb))
		return 0;
	if (ether_type == bpf_htons(ETH_P_IP))
		return ip->tos & 3;
	/* The traffic class lies across two bytes, its last two bits in the second. */
	if (ether_type == bpf_htons(ETH_P_IPV6))
		return ip->tos >> 4 & 3;
	return 0;
}

/* The first bits of four words. */
inline void masked(__u32 words[4], __u32 bits)
{
#pragma unroll
	for (int word = 0; word < 4; word++) {
		if (bits <= 32 * word)
			words[word] = 0;
		else if (bits < 32 * (word + 1))
			words[word] &= bpf_htonl(~0u << (32 * (word + 1) - bits));
	}
}

/* What must not overtake each other: frames of one type between two stations. */
inline __u32 stations_hash(const struct ethernet_header *frame)
{
	__u32 a, b, c;

	a = *(const __u32 *)frame;
	b = *(const __u32 *)((const void *)frame + 4);
	c = *(const __u32 *)((const void *)frame + 8);
	return mixed(a, b, c ^ frame->ether_type);
}

/* Of a frame, whom it is for. */
inline void identify_frame(struct __sk_buff *skb, const struct ethernet_header *frame, struct fib_key *key,
			   struct parcel *parcel)
{
	__builtin_memcpy(key->identifier, frame->destination, 6);
	parcel->hash = stations_hash(frame);
	parcel->payload = PAYLOAD_ETHERNET;
	parcel->outer = 0;
	parcel->flow = flow_port(bpf_get_hash_recalc(skb));
}

/* Of an IP packet, the prefix of its destination. */
inline bool identify_ip(struct __sk_buff *skb, const struct ethernet_header *frame, struct fib_key *key,
			struct parcel *parcel)
{
	const void *ip = frame + 1;
	__u32 *words = (__u32 *)key->identifier;

	if (frame->ether_type == bpf_htons(ETH_P_IP)) {
		if (ip + IPV4 > data_end(skb))
			return false;
		mapped(key->identifier, ((const struct ipv4_header *)ip)->destination);
		masked(words, 96 + device.prefix[0]);
		parcel->payload = PAYLOAD_IPV4;
	} else if (frame->ether_type == bpf_htons(ETH_P_IPV6)) {
		if (ip + IPV6 > data_end(skb))
			return false;
		__builtin_memcpy(words, ((const struct ipv6_header *)ip)->destination, 16);
		masked(words, device.prefix[1]);
		parcel->payload = PAYLOAD_IPV6;
	} else {
		return false;
	}
	parcel->outer = ETHERNET;
	parcel->hash = bpf_get_hash_recalc(skb);
	parcel->flow = flow_port(parcel->hash);
	return true;
}

/* Of anything, the bits that the device's configuration names. */
inline bool identify_bits(struct __sk_buff *skb, struct fib_key *key, struct parcel *parcel)
{
	if (bpf_skb_load_bytes(skb, device.offset & 1023, key->identifier, SIZE_IDENTIFIER))
		return false;
#pragma unroll
	for (int byte = 0; byte < SIZE_IDENTIFIER; byte++)
		key->identifier[byte] &= device.mask[byte];
	parcel->payload = PAYLOAD_ETHERNET;
	parcel->outer = 0;
	parcel->hash = bpf_get_hash_recalc(skb);
	parcel->flow = flow_port(parcel->hash);
	return true;
}

inline bool identify(struct __sk_buff *skb, struct fib_key *key, struct parcel *parcel)
{
	const struct ethernet_header *frame;

	/* As much as any driver looks at; of a packet that is shorter, all. */
	if (!reach(skb, ETHERNET + IPV6) && !reach(skb, ETHERNET + IPV4) && !reach(skb, ETHERNET))
		return false;
	frame = data(skb);
	if ((void *)(frame + 1) > data_end(skb))
		return false;
	parcel->ecn = ecn_of(skb, frame->ether_type);
	switch (device.driver) {
	case DRIVER_ETHERNET:
		identify_frame(skb, frame, key, parcel);
		return true;
	case DRIVER_IP:
		return identify_ip(skb, frame, key, parcel);
	case DRIVER_BITS:
		return identify_bits(skb, key, parcel);
	}
	return false;
}
