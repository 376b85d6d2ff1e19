/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the underlay says of congestion, told to who is inside: RFC 6040 section 4.2. */
#pragma once

#include "parcel.h"

#define ECT_1 1
#define ECT_0 2
#define CE 3

/* The marks of a packet inside after a way with those marks outside, or less than nought where it must be dropped. */
inline int merged(__u32 inside, __u32 outside)
{
	if (outside == CE)
		return inside ? CE : -1;
	return outside == ECT_1 && inside == ECT_0 ? ECT_1 : inside;
}

/* Marks what a packet carries as its outer header is. Whether it may go on. */
inline bool tell_congestion(struct __sk_buff *skb, const struct parcel *parcel)
{
	__u32 ip = parcel->outer, ecn = parcel->ecn;
	__be16 ether_type = 0, old, new;
	int marks;

	if (ecn != CE && ecn != ECT_1)
		return true;
	if (parcel->payload == PAYLOAD_ETHERNET) {
		bpf_skb_load_bytes(skb, ip + 12, &ether_type, 2);
		ip += ETHERNET;
	} else {
		ether_type = ether_type_of(parcel->payload);
	}
	if (bpf_skb_load_bytes(skb, ip, &old, 2) || skb->len < ip + IPV4)
		return true;
	if (ether_type == bpf_htons(ETH_P_IP)) {
		marks = merged(bpf_ntohs(old) & 3, ecn);
		if (marks < 0)
			return false;
		new = bpf_htons((bpf_ntohs(old) & ~3) | marks);
		if (new != old) {
			bpf_l3_csum_replace(skb, ip + __builtin_offsetof(struct ipv4_header, checksum), old, new, 2);
			bpf_skb_store_bytes(skb, ip, &new, 2, 0);
		}
	} else if (ether_type == bpf_htons(ETH_P_IPV6)) {
		marks = merged(bpf_ntohs(old) >> 4 & 3, ecn);
		if (marks < 0)
			return false;
		new = bpf_htons((bpf_ntohs(old) & ~0x30) | marks << 4);
		if (new != old)
			bpf_skb_store_bytes(skb, ip, &new, 2, 0);
	}
	return true;
}
