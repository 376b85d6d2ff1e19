/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Outer headers: room for them, and what stands in them.
 *
 * A wire holds every byte of the outer header that does not depend on the packet. It is copied whole; what follows
 * from the packet (lengths, checksum, flow, ECN, identities) is put in its place, which its form says. */
#pragma once

#include "count.h"
#include "parcel.h"

/* Choice: of an encapsulation without hops of its own, the outer header's are the overlay's, which no node begins anew; so
 * that a loop ends there, too. */

/* How the kernel is told of the new headers, so that it segments superpackets right. */
inline __u64 room_flags(__u32 form, enum payload payload)
{
	__u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO;
	__u32 encapsulation = form & ~FORM_IPV6;

	flags |= form & FORM_IPV6 ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV6 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV4;
	switch (encapsulation) {
	case ENCAPSULATION_IPIP:
		break;
	case ENCAPSULATION_GRE:
	case ENCAPSULATION_NVGRE:
	case ENCAPSULATION_MPLS:
		flags |= BPF_F_ADJ_ROOM_ENCAP_L4_GRE;
		break;
	default:
		flags |= BPF_F_ADJ_ROOM_ENCAP_L4_UDP;
	}
	if (payload == PAYLOAD_ETHERNET)
		flags |= BPF_F_ADJ_ROOM_ENCAP_L2_ETH | BPF_F_ADJ_ROOM_ENCAP_L2(ETHERNET);
	return flags;
}

/* Makes room before a packet that begins here, and tells the kernel what for. One that came out of an overlay by this host
 * is known to be encapsulated, and the kernel is not told twice: what it knows of the payload is still true. */
inline bool encapsulate(struct __sk_buff *skb, __s32 more, __u32 form, enum payload payload)
{
	return !bpf_skb_adjust_room(skb, more, BPF_ADJ_ROOM_MAC, room_flags(form, payload)) ||
	       !bpf_skb_adjust_room(skb, more, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
}

_Static_assert(SIZE_HEADER <= 127, "the mask below");

/* The length of a header, for verifiers before Linux 6.8: to them what is read from the stack twice, first to be compared
 * and then to be used, are two numbers. */
inline __u64 bounded(__u64 length)
{
	asm volatile("%0 &= 127" : "+r"(length));
	return length;
}

/* As Linux has them from 6.3 on, whatever the headers that this is compiled with. */
#define ROOM_FOR_IPV4 (1ULL << 7)
#define ROOM_FOR_IPV6 (1ULL << 8)
/* Bytes by which a header becomes shorter for a moment: any number would do. */
#define SHORTER 4

/* Tells the kernel of an outer header that is to be of the other family: by what it took the packet for it looks superpackets through
 * before they leave, and drops what is none. It hears of that only with a header that becomes shorter. Returns by how much it did.
 *
 * Choice: before Linux 6.3 it cannot be told, and superpackets end where the family changes. */
inline __s32 turn_family(struct __sk_buff *skb, __u32 form)
{
	__u64 room = form & FORM_IPV6 ? ROOM_FOR_IPV6 : ROOM_FOR_IPV4;

	if (skb->protocol == (form & FORM_IPV6 ? bpf_htons(ETH_P_IPV6) : bpf_htons(ETH_P_IP)))
		return 0;
	return bpf_skb_adjust_room(skb, -SHORTER, BPF_ADJ_ROOM_MAC, room | BPF_F_ADJ_ROOM_FIXED_GSO) ? 0 : SHORTER;
}

/* Makes the bytes before the payload as many as a wire needs. On a device, an Ethernet payload has its header first and
 * an IP payload one that is of no more use; on the way, the first bytes are an outer Ethernet header. */
inline bool make_room(struct __sk_buff *skb, struct parcel *parcel, const struct wire *wire)
{
	__u32 length = wire->length;
	const struct ethernet_header *front;
	struct ethernet_header inner ON_STACK;
	__s32 more = length - parcel->outer;
	void *place;
	bool is_ip = skb->protocol == bpf_htons(ETH_P_IP) || skb->protocol == bpf_htons(ETH_P_IPV6);

	if (parcel->encapsulated) {
		if (is_ip)
			more += turn_family(skb, wire->form);
		/* A copy of what began here and is no IP only grows, which the order of a group's hops sees to. */
		if (is_ip && more && bpf_skb_adjust_room(skb, more, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO))
			return false;
		if (!is_ip && more && (more < 0 || bpf_skb_change_head(skb, more, 0)))
			return false;
	} else if (parcel->payload != PAYLOAD_ETHERNET) {
		/* The kernel knows of IP alone how to cut a superpacket with more headers. Devices that carry others have it make none of
		 * TCP's (devices.rs); what others made is refused. */
		if (is_ip ? !encapsulate(skb, more, wire->form, parcel->payload) :
			    skb->gso_size || bpf_skb_change_head(skb, more, 0))
			return false;
	} else {
		if (!is_ip) {
			/* adjust_room knows IP only; nothing else is segmented, so that nobody need be told. */
			if (bpf_skb_change_head(skb, length, 0))
				return false;
		} else {
			front = data(skb);
			if ((void *)(front + 1) > data_end(skb))
				return false;
			copy(&inner, front, ETHERNET);
			if (!encapsulate(skb, length, wire->form, PAYLOAD_ETHERNET))
				return false;
			place = data(skb) + bounded(length);
			if (place + ETHERNET > data_end(skb))
				return false;
			copy(place, &inner, ETHERNET);
		}
	}
	parcel->encapsulated = true;
	parcel->outer = length;
	return true;
}

/* Of an IPv4 header, what follows from the packet. The protocol's place in the wire's sum is that of the wire's. */
inline void fill_ipv4(struct ipv4_header *ip, __u32 total, __u32 sum, __u32 ecn, __u32 ttl, __u32 more_protocol)
{
	ip->tos = ecn;
	ip->protocol += more_protocol;
	sum += bpf_htons(more_protocol);
	ip->ttl = ttl;
	ip->total_length = bpf_htons(total);
	/* Sums of words in network order are sums in network order. */
	ip->checksum = ~folded(sum + ip->total_length + bpf_htons(ecn) + bpf_htons(ttl << 8));
}

inline void fill_ipv6(struct ipv6_header *ip, __u32 length, __u32 ecn, __u32 ttl, __u32 more_protocol)
{
	ip->next_header += more_protocol;
	ip->version_class_flow |= bpf_htonl(ecn << 20);
	ip->hop_limit = ttl;
	ip->payload_length = bpf_htons(length);
}

inline void fill_vni(__u8 vni[3], __u32 number)
{
	vni[0] = number >> 16;
	vni[1] = number >> 8;
	vni[2] = number;
}

/* The number of a payload in VXLAN-GPE and NSH. */
inline __u8 next_of(enum payload payload)
{
	switch (payload) {
	case PAYLOAD_IPV4:
		return NEXT_IPV4;
	case PAYLOAD_IPV6:
		return NEXT_IPV6;
	case PAYLOAD_MPLS:
		return NEXT_MPLS;
	case PAYLOAD_NSH:
		return NEXT_NSH;
	default:
		return NEXT_ETHERNET;
	}
}

/* Whether an encapsulation says what such a payload is. */
inline bool carries(__u32 encapsulation, enum payload payload)
{
	switch (encapsulation) {
	case ENCAPSULATION_VXLAN:
	case ENCAPSULATION_NVGRE:
		return payload == PAYLOAD_ETHERNET;
	case ENCAPSULATION_IPIP:
	case ENCAPSULATION_GUE:
		return payload == PAYLOAD_IPV4 || payload == PAYLOAD_IPV6;
	case ENCAPSULATION_OVSTACK:
		return payload != PAYLOAD_MPLS && payload != PAYLOAD_NSH;
	case ENCAPSULATION_MPLS:
		return payload != PAYLOAD_CONTROL && payload != PAYLOAD_MPLS && payload != PAYLOAD_NSH;
	case ENCAPSULATION_GPE:
		return payload != PAYLOAD_CONTROL && payload != PAYLOAD_MPLS;
	default:
		return payload != PAYLOAD_CONTROL;
	}
}

/* The shim, whose constant bytes are there already. */
inline void fill_shim(void *shim, __u32 encapsulation, const struct parcel *parcel)
{
	switch (encapsulation) {
	case ENCAPSULATION_GENEVE: {
		struct geneve_header *header = shim;

		header->protocol = ether_type_of(parcel->payload);
		fill_vni(header->vni, parcel->vni);
		break;
	}
	case ENCAPSULATION_NVGRE: {
		struct nvgre_key *key = shim + sizeof(struct gre_header);

		fill_vni(key->subnet, parcel->vni);
		key->flow = parcel->hash;
		break;
	}
	case ENCAPSULATION_GRE:
		((struct gre_header *)shim)->protocol = ether_type_of(parcel->payload);
		break;
	case ENCAPSULATION_MPLS: {
		struct mpls_header *label = shim + sizeof(struct gre_header);

		label->label_class_bottom_ttl = bpf_htonl(parcel->vni << 12 | 1 << 8 | parcel->ttl);
		break;
	}
	case ENCAPSULATION_NSH: {
		struct vxlan_gpe_header *header = shim;
		struct nsh_header *service = shim + sizeof(*header);
		__u32 ttl = parcel->ttl < NSH_MOST_TTL ? parcel->ttl : NSH_MOST_TTL;

		fill_vni(header->vni, parcel->vni);
		service->version_ttl_length = bpf_htons(ttl << 6 | sizeof(*service) / 4);
		service->next_protocol = next_of(parcel->payload);
		fill_vni(service->service_path, parcel->vni);
		break;
	}
	case ENCAPSULATION_GUE:
		((struct gue_header *)shim)->protocol =
			parcel->payload == PAYLOAD_IPV6 ? PROTOCOL_IPV6 : PROTOCOL_IPV4;
		break;
	case ENCAPSULATION_OVSTACK: {
		struct ovstack_header *header = shim;

		header->ttl = parcel->ttl;
		header->flags = parcel->payload == PAYLOAD_CONTROL ? MESSAGE_FLAG : 0;
		header->application = parcel->application;
		fill_vni(header->vni, parcel->vni);
		header->hash = bpf_htonl(parcel->hash);
		header->destination = bpf_htonl(parcel->destination);
		header->source = bpf_htonl(parcel->source);
		break;
	}
	case ENCAPSULATION_VXLAN:
		fill_vni(((struct vxlan_header *)shim)->vni, parcel->vni);
		break;
	case ENCAPSULATION_GPE: {
		struct vxlan_gpe_header *header = shim;

		header->next_protocol = next_of(parcel->payload);
		fill_vni(header->vni, parcel->vni);
		break;
	}
	}
}

/* Writes one form of outer header at the front of a packet that has so many bytes behind Ethernet's. Each use has its own
 * constants, so that nothing of it is a choice when packets come. */
inline bool write_form(void *front, void *end, __u32 total, const struct wire *wire, const struct adjacency *adjacency,
		       const struct parcel *parcel, bool is_ipv6, __u32 encapsulation, bool has_udp, __u32 shim_bytes)
{
	const __u32 ip = is_ipv6 ? IPV6 : IPV4, shim = ETHERNET + ip + (has_udp ? UDP : 0);
	__u32 ttl = encapsulation == ENCAPSULATION_OVSTACK ? HOPS_OUTER : parcel->ttl, more_protocol = 0;
	struct udp_header *udp;

	if (encapsulation == ENCAPSULATION_IPIP && parcel->payload == PAYLOAD_IPV6)
		more_protocol = PROTOCOL_IPV6 - PROTOCOL_IPV4;
	if (front + shim + shim_bytes > end)
		return false;
	/* Both addresses, as they follow each other. */
	copy(front, adjacency->destination, 12);
	copy(front + 12, wire->header + 12, shim + shim_bytes - 12);
	if (is_ipv6)
		fill_ipv6(front + ETHERNET, total - IPV6, parcel->ecn, ttl, more_protocol);
	else
		fill_ipv4(front + ETHERNET, total, wire->sum, parcel->ecn, ttl, more_protocol);
	if (has_udp) {
		udp = front + ETHERNET + ip;
		udp->source = parcel->flow;
		udp->length = bpf_htons(total - ip);
	}
	fill_shim(front + shim, encapsulation, parcel);
	return true;
}

/* Both families of an encapsulation. */
#define BOTH(encapsulation, has_udp, shim_bytes)                                                                      \
	case encapsulation:                                                                                           \
		return write_form(front, end, total, wire, adjacency, parcel, false, encapsulation, has_udp, shim_bytes); \
	case FORM_IPV6 + encapsulation:                                                                               \
		return write_form(front, end, total, wire, adjacency, parcel, true, encapsulation, has_udp, shim_bytes)

inline bool write_outer(struct __sk_buff *skb, const struct wire *wire, const struct adjacency *adjacency,
			const struct parcel *parcel)
{
	void *front = data(skb), *end = data_end(skb);
	__u32 total = skb->len - ETHERNET;

	switch (wire->form) {
		BOTH(ENCAPSULATION_OVSTACK, true, sizeof(struct ovstack_header));
		BOTH(ENCAPSULATION_VXLAN, true, sizeof(struct vxlan_header));
		BOTH(ENCAPSULATION_GENEVE, true, sizeof(struct geneve_header));
		BOTH(ENCAPSULATION_NVGRE, false, sizeof(struct gre_header) + sizeof(struct nvgre_key));
		BOTH(ENCAPSULATION_GRE, false, sizeof(struct gre_header));
		BOTH(ENCAPSULATION_IPIP, false, 0);
		BOTH(ENCAPSULATION_MPLS, false, sizeof(struct gre_header) + sizeof(struct mpls_header));
		BOTH(ENCAPSULATION_NSH, true, sizeof(struct vxlan_gpe_header) + sizeof(struct nsh_header));
		BOTH(ENCAPSULATION_GUE, true, sizeof(struct gue_header));
		BOTH(ENCAPSULATION_GPE, true, sizeof(struct vxlan_gpe_header));
	}
	return false;
}
