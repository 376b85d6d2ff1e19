/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The beginning of a packet's way through this node: whether it is one of the overlay's, and what it says. */
#pragma once

#include "count.h"
#include "parcel.h"
#include "recent.h"

/* A packet that the kernel is to have. */
#define NOT_OURS 1

#define OVSTACK_VERSION 1
#define GRE_KEY 0x2000
#define VXLAN_HAS_VNI 0x08
#define GPE_VERSION 0x30
#define GPE_HAS_NEXT 0x04
#define GPE_MAINTENANCE 0x01
#define NSH_MAINTENANCE 0x2000
#define GENEVE_CONTROL 0x80
#define GENEVE_CRITICAL 0x40
#define MPLS_BOTTOM 0x100

inline __u32 vni_of(const __u8 vni[3])
{
	return vni[0] << 16 | vni[1] << 8 | vni[2];
}

/* The header at an offset, or 0 of what ends before it does. */
#define header_at(skb, offset, type)                                                                                  \
	({                                                                                                            \
		const struct type *__header = 0;                                                                      \
		if (reach(skb, (offset) + sizeof(struct type))) {                                                     \
			__header = data(skb) + (offset);                                                              \
			if ((void *)(__header + 1) > data_end(skb))                                                   \
				__header = 0;                                                                         \
		}                                                                                                     \
		__header;                                                                                             \
	})

/* What VXLAN-GPE and NSH say of a payload. */
inline bool is_next(__u8 next, struct parcel *parcel)
{
	switch (next) {
	case NEXT_ETHERNET:
		parcel->payload = PAYLOAD_ETHERNET;
		return true;
	case NEXT_IPV4:
		parcel->payload = PAYLOAD_IPV4;
		return true;
	case NEXT_IPV6:
		parcel->payload = PAYLOAD_IPV6;
		return true;
	case NEXT_NSH:
		parcel->payload = PAYLOAD_NSH;
		return true;
	case NEXT_MPLS:
		parcel->payload = PAYLOAD_MPLS;
		return true;
	}
	return false;
}

/* Each of these reads a shim, and returns why the packet must not be, as a negative number, or 0. */

/* Takes over what the header says. */
inline void take_ovstack(const struct ovstack_header *header, struct parcel *parcel)
{
	parcel->placed = true;
	parcel->payload = header->flags & MESSAGE_FLAG ? PAYLOAD_CONTROL : PAYLOAD_UNSAID;
	parcel->application = header->application;
	parcel->vni = vni_of(header->vni);
	parcel->hash = bpf_ntohl(header->hash);
	parcel->destination = bpf_ntohl(header->destination);
	parcel->source = bpf_ntohl(header->source);
	parcel->ttl = header->ttl;
}

inline int read_ovstack(struct __sk_buff *skb, struct parcel *parcel, __u32 shim)
{
	const struct ovstack_header *header = header_at(skb, shim, ovstack_header);

	if (!header)
		return -DROP_MALFORMED;
	if (header->version != OVSTACK_VERSION)
		return -DROP_VERSION;
	take_ovstack(header, parcel);
	parcel->outer = shim + sizeof(*header);
	return 0;
}

inline int read_vxlan(struct __sk_buff *skb, struct parcel *parcel, __u32 shim)
{
	const struct vxlan_header *header = header_at(skb, shim, vxlan_header);

	if (!header || !(header->flags & VXLAN_HAS_VNI))
		return -DROP_MALFORMED;
	parcel->payload = PAYLOAD_ETHERNET;
	parcel->vni = vni_of(header->vni);
	parcel->outer = shim + sizeof(*header);
	return 0;
}

/* Options are walked over: one that must be understood is not. */
inline int read_geneve(struct __sk_buff *skb, struct parcel *parcel, __u32 shim)
{
	const struct geneve_header *header = header_at(skb, shim, geneve_header);

	if (!header)
		return -DROP_MALFORMED;
	if (header->version_length >> 6)
		return -DROP_VERSION;
	if (header->flags & (GENEVE_CONTROL | GENEVE_CRITICAL) || !is_payload(header->protocol, parcel))
		return -DROP_MALFORMED;
	parcel->vni = vni_of(header->vni);
	parcel->outer = shim + sizeof(*header) + (header->version_length & 0x3f) * 4;
	return parcel->outer > skb->len ? -DROP_MALFORMED : 0;
}

/* The key, behind the header that told of it. */
inline int read_nvgre(struct __sk_buff *skb, struct parcel *parcel, __u32 shim)
{
	const struct nvgre_key *key = header_at(skb, shim, nvgre_key);

	if (!key)
		return -DROP_MALFORMED;
	parcel->payload = PAYLOAD_ETHERNET;
	parcel->vni = vni_of(key->subnet);
	parcel->outer = shim + sizeof(*key);
	return 0;
}

/* One label, the bottom of its stack. */
inline int read_mpls(struct __sk_buff *skb, struct parcel *parcel, __u32 shim)
{
	const struct mpls_header *label = header_at(skb, shim, mpls_header);
	__u32 word;

	if (!label)
		return -DROP_MALFORMED;
	word = bpf_ntohl(label->label_class_bottom_ttl);
	if (!(word & MPLS_BOTTOM))
		return -DROP_MALFORMED;
	parcel->payload = PAYLOAD_UNSAID;
	parcel->vni = word >> 12;
	parcel->outer = shim + sizeof(*label);
	return 0;
}

/* VXLAN that says what it carries: labels are none of that. */
inline int read_gpe(struct __sk_buff *skb, struct parcel *parcel, __u32 shim)
{
	const struct vxlan_gpe_header *header = header_at(skb, shim, vxlan_gpe_header);

	if (!header)
		return -DROP_MALFORMED;
	if (header->flags & GPE_VERSION)
		return -DROP_VERSION;
	if ((header->flags & (VXLAN_HAS_VNI | GPE_HAS_NEXT | GPE_MAINTENANCE)) != (VXLAN_HAS_VNI | GPE_HAS_NEXT) ||
	    header->next_protocol == NEXT_MPLS || !is_next(header->next_protocol, parcel))
		return -DROP_MALFORMED;
	parcel->vni = vni_of(header->vni);
	parcel->outer = shim + sizeof(*header);
	return 0;
}

/* The service header behind it. */
inline int read_nsh(struct __sk_buff *skb, struct parcel *parcel, __u32 shim)
{
	const struct nsh_header *service;
	__u32 first, length;
	int reason;

	reason = read_gpe(skb, parcel, shim);
	if (reason)
		return reason;
	if (parcel->payload != PAYLOAD_NSH)
		return -DROP_MALFORMED;
	shim = parcel->outer;
	service = header_at(skb, shim, nsh_header);
	if (!service)
		return -DROP_MALFORMED;
	first = bpf_ntohs(service->version_ttl_length);
	length = (first & 0x3f) * 4;
	if (first >> 14)
		return -DROP_VERSION;
	if (first & NSH_MAINTENANCE || length < sizeof(*service) || !is_next(service->next_protocol, parcel))
		return -DROP_MALFORMED;
	parcel->vni = vni_of(service->service_path);
	parcel->outer = shim + length;
	return parcel->outer > skb->len ? -DROP_MALFORMED : 0;
}

/* Variant 0 without fields, and variant 1, which is an IP packet. */
inline int read_gue(struct __sk_buff *skb, struct parcel *parcel, __u32 shim)
{
	const struct gue_header *header = header_at(skb, shim, gue_header);

	if (!header)
		return -DROP_MALFORMED;
	parcel->outer = shim;
	switch (header->variant_length >> 4) {
	case 4:
		parcel->payload = PAYLOAD_IPV4;
		return 0;
	case 6:
		parcel->payload = PAYLOAD_IPV6;
		return 0;
	}
	if (header->variant_length >> 6)
		return -DROP_VERSION;
	if (header->variant_length || header->flags)
		return -DROP_MALFORMED;
	parcel->outer += sizeof(*header);
	switch (header->protocol) {
	case PROTOCOL_IPV4:
		parcel->payload = PAYLOAD_IPV4;
		return 0;
	case PROTOCOL_IPV6:
		parcel->payload = PAYLOAD_IPV6;
		return 0;
	}
	return -DROP_MALFORMED;
}

inline int read_shim(struct __sk_buff *skb, struct parcel *parcel, __u32 encapsulation, __u32 shim, __u32 arrival)
{
	parcel->outer = shim;
	switch (encapsulation) {
	case ENCAPSULATION_OVSTACK:
		return read_ovstack(skb, parcel, shim);
	case ENCAPSULATION_VXLAN:
		return read_vxlan(skb, parcel, shim);
	case ENCAPSULATION_GENEVE:
		return read_geneve(skb, parcel, shim);
	case ENCAPSULATION_NVGRE:
		return read_nvgre(skb, parcel, shim);
	case ENCAPSULATION_GRE:
		return is_payload(bpf_htons(arrival), parcel) ? 0 : -DROP_MALFORMED;
	case ENCAPSULATION_IPIP:
		parcel->payload = arrival >> 16 == PROTOCOL_IPV6 ? PAYLOAD_IPV6 : PAYLOAD_IPV4;
		return 0;
	case ENCAPSULATION_MPLS:
		return read_mpls(skb, parcel, shim);
	case ENCAPSULATION_NSH:
		return read_nsh(skb, parcel, shim);
	case ENCAPSULATION_GUE:
		return read_gue(skb, parcel, shim);
	case ENCAPSULATION_GPE:
		return read_gpe(skb, parcel, shim);
	}
	return -DROP_MALFORMED;
}

/* Takes over what an outer IP header says. What has options or is a fragment is not what an overlay sends; the kernel knows
 * what to do with it. */
inline bool take_ipv4(const struct ipv4_header *ip, struct parcel *parcel, struct peer_key *key)
{
	if (ip->version_ihl != 0x45 || ip->fragment & bpf_htons(0x3fff))
		return false;
	mapped(key->locator, ip->source);
	mapped(key->own, ip->destination);
	key->protocol_port = ip->protocol << 16;
	parcel->ecn = ip->tos & 3;
	parcel->ttl = ip->ttl;
	return true;
}

inline void take_ipv6(const struct ipv6_header *ip, struct parcel *parcel, struct peer_key *key)
{
	__builtin_memcpy(key->locator, ip->source, 16);
	__builtin_memcpy(key->own, ip->destination, 16);
	key->protocol_port = ip->next_header << 16;
	parcel->ecn = bpf_ntohl(ip->version_class_flow) >> 20 & 3;
	parcel->ttl = ip->hop_limit;
}

/* Whether a pair of locators is known in the application that a packet is of. */
inline bool is_known_in(const struct peer *peer, __u32 application)
{
	return peer->applications[application >> 5 & 7] & 1u << (application & 31);
}

/* Reads the outer addresses. Returns where the IP header ends, or 0 of what no overlay sends. */
inline __u32 read_ip(struct __sk_buff *skb, struct parcel *parcel, struct peer_key *key)
{
	const struct ethernet_header *frame;

	if (!reach(skb, ETHERNET + IPV4 + UDP))
		return 0;
	frame = data(skb);
	if ((void *)frame + ETHERNET + IPV4 + UDP > data_end(skb))
		return 0;
	if (frame->ether_type == bpf_htons(ETH_P_IP)) {
		return take_ipv4((void *)(frame + 1), parcel, key) ? ETHERNET + IPV4 : 0;
	} else if (frame->ether_type == bpf_htons(ETH_P_IPV6)) {
		const struct ipv6_header *ip;

		if (!reach(skb, ETHERNET + IPV6 + UDP))
			return 0;
		ip = data(skb) + ETHERNET;
		if ((void *)ip + IPV6 + UDP > data_end(skb))
			return 0;
		take_ipv6(ip, parcel, key);
		return ETHERNET + IPV6;
	}
	return 0;
}

/* Reads what tells encapsulations apart. Returns where the shim begins, or 0 of what no overlay sends. */
inline __u32 read_outer(struct __sk_buff *skb, struct parcel *parcel, struct peer_key *key)
{
	__u32 shim = read_ip(skb, parcel, key);

	parcel->tunnel = key->protocol_port >> 16;
	if (shim && key->protocol_port >> 16 == PROTOCOL_UDP) {
		const struct udp_header *udp = data(skb) + shim;

		if ((void *)(udp + 1) > data_end(skb))
			return 0;
		key->protocol_port |= bpf_ntohs(udp->destination);
		parcel->flow = udp->source;
		shim += UDP;
	} else if (shim && key->protocol_port >> 16 == PROTOCOL_GRE) {
		const struct gre_header *gre = data(skb) + shim;

		if ((void *)(gre + 1) > data_end(skb) || gre->flags_version & ~bpf_htons(GRE_KEY))
			return 0;
		key->protocol_port |= bpf_ntohs(gre->protocol);
		if (gre->flags_version)
			key->protocol_port |= ARRIVAL_KEYED;
		shim += sizeof(*gre);
	}
	return shim;
}

/* Reads the headers before the payload. Returns why the packet goes no further, as a negative number, or that it is
 * none of the overlay's. */
inline int arrive(struct __sk_buff *skb, struct parcel *parcel, struct recent **recent)
{
	struct endpoint_key endpoint = {};
	struct peer_key key ON_STACK = {};
	const struct peer *peer;
	__u32 shim;
	int reason;

	shim = read_outer(skb, parcel, &key);
	if (!shim)
		return NOT_OURS;
	*recent = recall(skb, &key, parcel->flow);
	if (!*recent) {
		__builtin_memcpy(endpoint.own, key.own, 16);
		endpoint.protocol_port = key.protocol_port;
		return bpf_map_lookup_elem(&endpoints, &endpoint) ? -DROP_UNKNOWN_LOCATOR : NOT_OURS;
	}
	if (!may_come_in(skb, *recent))
		return (*recent)->entrance == ENTRANCE_BELOW ? NOT_OURS : -DROP_WRONG_DEVICE;
	peer = &(*recent)->peer;
	copy(parcel->from, key.locator, 16);
	parcel->encapsulated = true;
	parcel->application = peer->application;
	parcel->vni = peer->vni;
	reason = read_shim(skb, parcel, peer->encapsulation, shim, key.protocol_port);
	if (reason)
		return reason;
	return is_known_in(peer, parcel->application) ? 0 : -DROP_UNKNOWN_LOCATOR;
}
