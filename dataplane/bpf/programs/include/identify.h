/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What drivers identify packets with. */
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

/* The bits of a packet from an offset on that a mask leaves; where it leaves none, none, since all packets go one way. */
inline bool take_bits(struct __sk_buff *skb, __u32 offset, const volatile __u8 mask[SIZE_IDENTIFIER],
		      struct fib_key *key)
{
	if (!mask[0])
		return true;
	if (bpf_skb_load_bytes(skb, offset, key->identifier, SIZE_IDENTIFIER))
		return false;
#pragma unroll
	for (int byte = 0; byte < SIZE_IDENTIFIER; byte++)
		key->identifier[byte] &= mask[byte];
	return true;
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

/* The same of IPv4 packets, by their header. */
inline __u32 hosts_hash4(const __u32 words[5])
{
	return mixed(words[3], words[4], words[2] & bpf_htonl(0xff0000));
}

/* The same of IPv6. */
inline __u32 hosts_hash6(const __u32 words[10])
{
	return mixed(words[2] ^ words[3] ^ words[4] ^ words[5], words[6] ^ words[7] ^ words[8] ^ words[9],
		     words[0] & bpf_htonl(0xfffff));
}
