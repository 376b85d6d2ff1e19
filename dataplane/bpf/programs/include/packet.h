/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* An IP packet of either family: what path control looks at in its header. */
#pragma once

#include "base.h"
#include "path_tables.h"

/* Don't fragment is no sign of a fragment; more fragments and the offset are. */
#define FRAGMENT_BITS 0x3fff

/* Messages by which neighbours on a link find each other, RFC 4861. */
#define FIRST_OF_NEIGHBOURS 133
#define LAST_OF_NEIGHBOURS 137

struct packet {
	union {
		struct ipv4_header ipv4;
		struct ipv6_header ipv6;
	} __attribute__((aligned(8)));
	__u32 family;
	/* Bytes of its header, and of all of it as the header says. */
	__u32 header;
	__u32 total;
	__u32 protocol;
	__u32 ecn;
};

/* Reads the header at an offset of a packet of this family. */
inline bool read_packet(struct __sk_buff *skb, __u32 offset, __u32 family, struct packet *packet)
{
	packet->family = family;
	if (family == FAMILY_IPV4) {
		if (!read_bytes(skb, offset, &packet->ipv4, IPV4) || packet->ipv4.version_ihl >> 4 != 4)
			return false;
		packet->header = (packet->ipv4.version_ihl & 15) * 4;
		packet->total = bpf_ntohs(packet->ipv4.total_length);
		packet->protocol = packet->ipv4.protocol;
		packet->ecn = packet->ipv4.tos & 3;
		return true;
	}
	if (!read_bytes(skb, offset, &packet->ipv6, IPV6) || *(__u8 *)&packet->ipv6 >> 4 != 6)
		return false;
	packet->header = IPV6;
	packet->total = IPV6 + bpf_ntohs(packet->ipv6.payload_length);
	packet->protocol = packet->ipv6.next_header;
	packet->ecn = bpf_ntohl(packet->ipv6.version_class_flow) >> 20 & 3;
	return true;
}

/* The sum of a header's words: all ones where its checksum is right. */
inline __u16 sum_of(const struct ipv4_header *ip)
{
	const __u32 *words = (const __u32 *)ip;
	__u64 sum = (__u64)words[0] + words[1] + words[2] + words[3] + words[4];

	return folded((sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32));
}

/* The family of what an EtherType names; nought of what is no IP. */
inline __u32 family_of(__be16 ether_type)
{
	switch (ether_type) {
	case bpf_htons(ETH_P_IP):
		return FAMILY_IPV4;
	case bpf_htons(ETH_P_IPV6):
		return FAMILY_IPV6;
	}
	return 0;
}

/* Likewise, of an IP protocol. */
inline __u32 family_in_ip(__u32 protocol)
{
	switch (protocol) {
	case PROTOCOL_IPV4:
		return FAMILY_IPV4;
	case PROTOCOL_IPV6:
		return FAMILY_IPV6;
	}
	return 0;
}

/* Reads the header behind Ethernet's. */
inline bool read_front(struct __sk_buff *skb, struct packet *packet)
{
	__u32 family = family_of(skb->protocol);

	return family && read_packet(skb, ETHERNET, family, packet);
}

inline __be16 ether_type_in(__u32 family)
{
	return family == FAMILY_IPV4 ? bpf_htons(ETH_P_IP) : bpf_htons(ETH_P_IPV6);
}

inline __u8 protocol_in(__u32 family)
{
	return family == FAMILY_IPV4 ? PROTOCOL_IPV4 : PROTOCOL_IPV6;
}

/* Its addresses as tables have them. */
inline void source_of(const struct packet *packet, __u8 address[16])
{
	if (packet->family == FAMILY_IPV4)
		mapped(address, packet->ipv4.source);
	else
		copy(address, packet->ipv6.source, 16);
}

inline void destination_of(const struct packet *packet, __u8 address[16])
{
	if (packet->family == FAMILY_IPV4)
		mapped(address, packet->ipv4.destination);
	else
		copy(address, packet->ipv6.destination, 16);
}

inline bool is_fragment(const struct packet *packet)
{
	return packet->family == FAMILY_IPV4 && packet->ipv4.fragment & bpf_htons(FRAGMENT_BITS);
}

/* The first byte of addresses of groups (RFC 5771); behind them are reserved ones, and that of all on a link. */
#define FIRST_OF_GROUPS 224

/* Whether no router would forward it as it is, so that no relay may have it: what is for a group, for all or for the link, and what
 * neighbours say to each other, which IPv4 has its own EtherType for. */
inline bool stays_on_link(struct __sk_buff *skb, const struct packet *packet)
{
	const __u8 *to = packet->ipv6.destination;
	__u8 kind = 0;

	if (packet->family == FAMILY_IPV4) {
		to = (const __u8 *)&packet->ipv4.destination;
		return to[0] >= FIRST_OF_GROUPS || (to[0] == 169 && to[1] == 254);
	}
	if (to[0] == 0xff || (to[0] == 0xfe && (to[1] & 0xc0) == 0x80))
		return true;
	return packet->protocol == PROTOCOL_ICMPV6 && !bpf_skb_load_bytes(skb, ETHERNET + IPV6, &kind, 1) &&
	       kind >= FIRST_OF_NEIGHBOURS && kind <= LAST_OF_NEIGHBOURS;
}
