/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A packet on its way through the overlay: what every encapsulation says of it, or what is filled in for those that
 * say less. */
#pragma once

#include "base.h"

enum payload {
	PAYLOAD_ETHERNET,
	PAYLOAD_IPV4,
	PAYLOAD_IPV6,
	PAYLOAD_MPLS,
	PAYLOAD_NSH,
	/* The application knows. */
	PAYLOAD_UNSAID,
	/* A message of the overlay itself. */
	PAYLOAD_CONTROL,
};

struct parcel {
	/* As in the ovstack header, in the host's order. */
	__u32 application;
	__u32 vni;
	__u32 hash;
	__u32 destination;
	__u32 source;
	__u32 ttl;
	/* What it carries. */
	enum payload payload;
	/* Bytes before the payload; 0 on a device that carries frames. */
	__u32 outer;
	/* ECN and flow of the payload, for the outer header; of a packet on its way the outer header's own. */
	__u32 ecn;
	__u16 flow;
	/* Of a packet that was too big, how many bytes would have fitted. */
	__u32 room;
	/* The IP protocol of the tunnel that it came in: UDP, GRE, or one of IP itself. */
	__u8 tunnel;
	/* Whether its header says from which node it is, and for which. */
	bool placed;
	/* The locator it came from; all nought of a packet that begins here. */
	__u8 from[16] __attribute__((aligned(8)));
	/* Whether the kernel has been told that it is encapsulated, which it must not be told twice. */
	__u8 encapsulated;
};

/* What an EtherType says of a payload. */
inline bool is_payload(__be16 ether_type, struct parcel *parcel)
{
	switch (ether_type) {
	case bpf_htons(ETH_P_TEB):
		parcel->payload = PAYLOAD_ETHERNET;
		return true;
	case bpf_htons(ETH_P_IP):
		parcel->payload = PAYLOAD_IPV4;
		return true;
	case bpf_htons(ETH_P_IPV6):
		parcel->payload = PAYLOAD_IPV6;
		return true;
	case bpf_htons(ETH_P_MPLS_UC):
		parcel->payload = PAYLOAD_MPLS;
		return true;
	case bpf_htons(ETH_P_NSH):
		parcel->payload = PAYLOAD_NSH;
		return true;
	}
	return false;
}

/* That EtherType. */
inline __be16 ether_type_of(enum payload payload)
{
	switch (payload) {
	case PAYLOAD_IPV4:
		return bpf_htons(ETH_P_IP);
	case PAYLOAD_IPV6:
		return bpf_htons(ETH_P_IPV6);
	case PAYLOAD_MPLS:
		return bpf_htons(ETH_P_MPLS_UC);
	case PAYLOAD_NSH:
		return bpf_htons(ETH_P_NSH);
	default:
		return bpf_htons(ETH_P_TEB);
	}
}

/* What a payload has at least. */
inline __u32 least_of(enum payload payload)
{
	switch (payload) {
	case PAYLOAD_IPV4:
		return IPV4;
	case PAYLOAD_IPV6:
		return IPV6;
	case PAYLOAD_MPLS:
		return sizeof(struct mpls_header);
	case PAYLOAD_NSH:
		return sizeof(struct nsh_header);
	default:
		return ETHERNET;
	}
}

/* The protocol in the IP packet that is carried, and where it begins in the packet; nought of what is no IP. */
inline __u32 transport_in(struct __sk_buff *skb, const struct parcel *parcel, __u8 *protocol)
{
	__u32 at = parcel->outer;
	__be16 ether_type;
	__u8 first;

	if (parcel->payload == PAYLOAD_ETHERNET) {
		if (bpf_skb_load_bytes(skb, at + 12, &ether_type, 2))
			return 0;
		if (ether_type != bpf_htons(ETH_P_IP) && ether_type != bpf_htons(ETH_P_IPV6))
			return 0;
		at += ETHERNET;
	} else if (parcel->payload != PAYLOAD_IPV4 && parcel->payload != PAYLOAD_IPV6) {
		return 0;
	}
	if (bpf_skb_load_bytes(skb, at, &first, 1) || bpf_skb_load_bytes(skb, at + (first >> 4 == 6 ? 6 : 9), protocol, 1))
		return 0;
	return at + (first >> 4 == 6 ? IPV6 : (first & 15) * 4);
}

/* A port for the flow, in network order, of the range that RFC 7348 section 5 recommends. */
inline __u16 flow_port(__u32 hash)
{
	return bpf_htons(0xc000 | ((hash ^ hash >> 16) & 0x3fff));
}
