/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a packet to its flow, and whether that is over. */
#pragma once

#include "packet.h"
#include "path_maps.h"

#define PROTOCOL_SCTP 132

inline bool has_ports(const struct packet *packet)
{
	if (is_fragment(packet))
		return false;
	return packet->protocol == PROTOCOL_TCP || packet->protocol == PROTOCOL_UDP || packet->protocol == PROTOCOL_SCTP;
}

/* Reads the flow of a packet, whose header was read already. Choice: of IPv6 the ports are those right behind its header;
 * what has extension headers is told from others by its addresses and the first of them. */
inline void flow_of(struct __sk_buff *skb, const struct packet *packet, struct flow_key *flow)
{
	source_of(packet, flow->source);
	destination_of(packet, flow->destination);
	flow->protocol = packet->protocol;
	/* Of what is cut before its ports, the rest is nought. */
	if (!has_ports(packet) || !read_bytes(skb, ETHERNET + packet->header, flow->ports, 4))
		*(__u32 *)flow->ports = 0;
}

/* An address in a word: of IPv4 all of it. */
inline __u32 word_of(const __u8 address[16], __u32 family)
{
	const __u32 *words = (const __u32 *)address;

	return family == FAMILY_IPV4 ? words[3] : mixed(words[0], words[1], words[2]) ^ words[3];
}

inline __u32 hash_of(const struct flow_key *flow, __u32 family)
{
	return mixed(word_of(flow->source, family), word_of(flow->destination, family),
		     *(const __u32 *)flow->ports ^ flow->protocol);
}

/* Nanoseconds from one instant to another; nought where another processor's clock was read later. */
inline __u64 between(__u64 then, __u64 now)
{
	return now > then ? now - then : 0;
}

/* Whether a flow was silent for so long that what comes now is another one. Of one that is held, nothing is heard. */
inline bool is_over(const struct flow *known)
{
	__u64 now;

	if (!steering.idle)
		return false;
	now = bpf_ktime_get_ns();
	return between(known->heard, now) > steering.idle && between(known->holds, now) > steering.idle;
}
