/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What headers before a packet have in common: what follows from the packet, put in its place. */
#pragma once

#include "path_maps.h"

#define GRE ((__u32)sizeof(struct gre_header))
#define GUE ((__u32)sizeof(struct gue_header))

/* What follows from a packet, for the headers before it. */
struct guise {
	__u32 ecn;
	__be16 port;
	/* Of IPv6 the whole first word. */
	__be32 version_class_flow;
	/* The family of the packet, where it is not that of the headers; else nought. */
	__u32 other;
	/* Of the flow. */
	__u32 hash;
};

inline struct guise guise_of(const struct packet *packet, const struct stack *stack, __u32 hash)
{
	/* The flow's label (RFC 6438); nought would be none. */
	__u32 label = hash & 0xfffff;
	struct guise guise = {
		.ecn = packet->ecn,
		.port = bpf_htons(0xc000 | (hash & 0x3fff)),
		.version_class_flow = bpf_htonl(6 << 28 | packet->ecn << 20 | (label ? label : 1)),
		.other = packet->family == stack->family ? 0 : packet->family,
		.hash = hash,
	};

	return guise;
}

/* Fills in an IPv4 header of so many bytes with what it carries. */
inline void finish_ipv4(struct ipv4_header *ip, __u32 sum, __u32 total, const struct guise *guise, __u8 more_protocol)
{
	ip->tos = guise->ecn;
	ip->protocol += more_protocol;
	ip->total_length = bpf_htons(total);
	/* Sums of words in network order are sums in network order. */
	ip->checksum = ~folded(sum + ip->total_length + bpf_htons(guise->ecn) + bpf_htons(more_protocol));
}

inline void finish_ipv6(struct ipv6_header *ip, __u32 payload, const struct guise *guise)
{
	ip->version_class_flow = guise->version_class_flow;
	ip->payload_length = bpf_htons(payload);
}
