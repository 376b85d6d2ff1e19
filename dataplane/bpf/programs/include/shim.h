/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What stands between a relay's header and the packet: what it says is looked at before anything is done about it. */
#pragma once

#include "push_list.h"

/* RFC 8754 section 8. */
#define SEGMENT_ROUTING 4
/* The version of ovstack's layout, and the flag of what is about the overlay itself. */
#define OVSTACK_VERSION 1
#define OVSTACK_CONTROL 0x80

struct shim {
	/* Between the outer IP header and the packet. */
	__u32 bytes;
	/* The packet's family. */
	__u32 carried;
	/* Of a list inside: how many relays are left, and where that, the next of them and the list's hops stand. */
	__u32 left;
	__u32 left_at;
	__u32 next_at;
	__u32 hops_at;
};

/* What carries a list or a packet in UDP has no checksum (RFC 6935), so that over IPv6, where one would have to be right,
 * none is looked at. */
inline bool is_udp_to(const struct udp_header *udp, const struct packet *outer, __u16 port)
{
	return udp->destination == bpf_htons(port) && udp->length == bpf_htons(outer->total - outer->header) &&
	       (outer->family == FAMILY_IPV4 || !udp->checksum);
}

inline bool read_gre(struct __sk_buff *skb, __u32 behind, struct shim *shim)
{
	struct gre_header gre ON_STACK;

	if (!read_bytes(skb, behind, &gre, GRE) || gre.flags_version)
		return false;
	shim->bytes = GRE;
	shim->carried = family_of(gre.protocol);
	return true;
}

inline bool read_gue(struct __sk_buff *skb, const struct packet *outer, __u32 behind, struct shim *shim)
{
	struct { struct udp_header udp; struct gue_header gue; } head ON_STACK;

	if (!read_bytes(skb, behind, &head, sizeof(head)) || !is_udp_to(&head.udp, outer, PATHS_GUE_PORT) ||
	    head.gue.variant_length || head.gue.flags)
		return false;
	shim->bytes = UDP + GUE;
	shim->carried = family_in_ip(head.gue.protocol);
	return true;
}

/* A list of addresses of the outer header's family. */
inline bool read_list(struct __sk_buff *skb, const struct packet *outer, __u32 behind, struct shim *shim)
{
	struct { struct udp_header udp; struct list_guise guise; } head ON_STACK;
	const __u32 words = outer->family == FAMILY_IPV4 ? 1 : 4;
	const struct relay_list_header *list = &head.guise.list;

	if (!read_bytes(skb, behind, &head, sizeof(head)) || !is_udp_to(&head.udp, outer, PATHS_OVSTACK_PORT) ||
	    head.guise.ovstack.version != OVSTACK_VERSION || head.guise.ovstack.flags & OVSTACK_CONTROL ||
	    head.guise.ovstack.application != PATHS_LIST_APPLICATION)
		return false;
	if ((list->count && list->words != words) || list->count > PATHS_RELAYS || list->left > list->count)
		return false;
	shim->bytes = sizeof(head) + list->count * words * 4;
	shim->carried = family_in_ip(list->next);
	shim->left = list->left;
	shim->left_at = behind + sizeof(head) - sizeof(*list);
	shim->next_at = behind + sizeof(head) + (list->count - list->left) * words * 4;
	shim->hops_at = behind + UDP + __builtin_offsetof(struct ovstack_header, ttl);
	return true;
}

/* RFC 8754 section 4.3.1.1. What stands behind the segments is passed over. */
inline bool read_segments(struct __sk_buff *skb, __u32 behind, struct shim *shim)
{
	struct segment_routing_header head ON_STACK;

	if (!read_bytes(skb, behind, &head, sizeof(head)) || head.kind != SEGMENT_ROUTING)
		return false;
	if (head.last + 1 > head.length / 2 || head.left > head.last + 1 || head.last >= PATHS_RELAYS)
		return false;
	shim->bytes = sizeof(head) + head.length * 8;
	shim->carried = family_in_ip(head.next);
	shim->left = head.left;
	shim->left_at = behind + __builtin_offsetof(struct segment_routing_header, left);
	shim->next_at = behind + sizeof(head) + (head.left - 1) * 16;
	return true;
}

/* Reads what is between the outer header at an offset and what it carries; whether it is of one of those encapsulations,
 * and right. */
inline bool read_shim(struct __sk_buff *skb, __u32 offset, const struct packet *outer, __u32 encapsulations,
		      struct shim *shim)
{
	__u32 behind = offset + outer->header;
	bool is_right = false;
	__be16 port = 0;

	switch (outer->protocol) {
	case PROTOCOL_IPV4:
	case PROTOCOL_IPV6:
		/* With one relay, SRv6 is nothing else. */
		if (outer->family == FAMILY_IPV6 && encapsulations & 1 << ENCAPSULATION_SRV6)
			encapsulations |= 1 << ENCAPSULATION_IPIP;
		shim->carried = family_in_ip(outer->protocol);
		is_right = encapsulations & 1 << ENCAPSULATION_IPIP;
		break;
	case PROTOCOL_GRE:
		is_right = encapsulations & 1 << ENCAPSULATION_GRE && read_gre(skb, behind, shim);
		break;
	case PROTOCOL_UDP:
		if (!read_bytes(skb, behind + __builtin_offsetof(struct udp_header, destination), &port, 2))
			return false;
		if (port == bpf_htons(PATHS_OVSTACK_PORT))
			is_right = encapsulations & 1 << ENCAPSULATION_OVSTACK && read_list(skb, outer, behind, shim);
		else
			is_right = encapsulations & 1 << ENCAPSULATION_GUE && read_gue(skb, outer, behind, shim);
		break;
	case PROTOCOL_ROUTING:
		is_right = outer->family == FAMILY_IPV6 && encapsulations & 1 << ENCAPSULATION_SRV6 &&
			   read_segments(skb, behind, shim);
		break;
	}
	return is_right && shim->carried;
}
