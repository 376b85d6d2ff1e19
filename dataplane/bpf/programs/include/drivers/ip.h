/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* IP packets, found by a prefix of the address they are for. */
#pragma once

#include "identify.h"

inline bool ip_takes(enum payload payload)
{
	return payload == PAYLOAD_IPV4 || payload == PAYLOAD_IPV6;
}

inline bool ip_identify(struct __sk_buff *skb, const struct ethernet_header *frame, struct fib_key *key,
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

inline bool ip_find(struct __sk_buff *skb, const struct tenant *tenant, struct fib_key *key, struct parcel *parcel)
{
	__u32 words[10];

	if (parcel->payload == PAYLOAD_IPV4) {
		if (bpf_skb_load_bytes(skb, parcel->outer, words, IPV4))
			return false;
		mapped(key->identifier, (__u8 *)&words[4]);
		masked((__u32 *)key->identifier, 96 + tenant->prefix[0]);
		parcel->hash = hosts_hash4(words);
		return true;
	}
	if (bpf_skb_load_bytes(skb, parcel->outer, words, IPV6))
		return false;
	__builtin_memcpy(key->identifier, &words[6], 16);
	masked((__u32 *)key->identifier, tenant->prefix[1]);
	parcel->hash = hosts_hash6(words);
	return true;
}

inline int ip_hear(const struct ethernet_header *frame, __u32 tenant, const struct parcel *parcel)
{
	return 0;
}
