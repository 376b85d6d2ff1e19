/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What hosts are told of their packets that are too big: an ICMP message, made of the packet. */
#pragma once

#include "base.h"

#define ICMP_HEADER ((__u32)sizeof(struct icmp_header))

/* Whether a host may be told of a packet (RFC 1122 section 3.2.2, RFC 4443 section 2.4): not of a message that says
 * something went wrong, nor of a later fragment, nor of what is for many, unless it is told by one alone. */
inline bool is_worth_telling(struct __sk_buff *skb, bool is_ipv6, const bool of_many)
{
	const __u32 header = is_ipv6 ? IPV6 : IPV4;
	const void *ip = data(skb) + ETHERNET;
	__u8 kind;

	if (ip + header + 1 > data_end(skb))
		return false;
	kind = *(const __u8 *)(ip + header);
	if (is_ipv6)
		return ((const struct ipv6_header *)ip)->next_header != PROTOCOL_ICMPV6 || kind >= 128;
	if (((const struct ipv4_header *)ip)->fragment & bpf_htons(0x1fff) ||
	    (!of_many && ((const struct ipv4_header *)ip)->destination[0] >= 224))
		return false;
	return ((const struct ipv4_header *)ip)->protocol != PROTOCOL_ICMP || kind == 8 || kind == 0;
}

/* Whether a frame is for more than one host, by its own address or by its packet's. */
inline bool is_for_many(const void *frame, __u8 first, const __u8 least)
{
	return *(const __u8 *)frame & 1 || first >= least;
}

/* Writes the ICMP message before a packet whose first bytes it quotes. Choice: it is from the packet's destination, since
 * relays have no address among the hosts; of what is for many from an even address beside its sender's, since no host takes a
 * message from many, and all ones are for many. */
inline bool write_icmp(struct __sk_buff *skb, bool is_ipv6, __u32 mtu, const bool of_many)
{
	const __u32 header = is_ipv6 ? IPV6 : IPV4, icmp_bytes = ICMP_HEADER + MESSAGE_QUOTED;
	struct icmp_header *icmp;
	__s64 sum = 0;
	void *front = data(skb);

	if (front + ETHERNET + header + icmp_bytes > data_end(skb))
		return false;
	icmp = front + ETHERNET + header;
	*icmp = (struct icmp_header){};
	if (is_ipv6) {
		const struct ipv6_header *quoted = (void *)(icmp + 1);
		struct ipv6_header *ip = front + ETHERNET;
		/* The length and the protocol, as the pseudo header of RFC 8200 section 8.1 has them. */
		__be32 rest[2] = { bpf_htonl(icmp_bytes), bpf_htonl(PROTOCOL_ICMPV6) };

		ip->version_class_flow = bpf_htonl(6 << 28);
		ip->payload_length = bpf_htons(icmp_bytes);
		ip->next_header = PROTOCOL_ICMPV6;
		ip->hop_limit = 64;
		__builtin_memcpy(ip->source, quoted->destination, 16);
		__builtin_memcpy(ip->destination, quoted->source, 16);
		if (of_many && is_for_many(front, quoted->destination[0], 0xff)) {
			__builtin_memcpy(ip->source, quoted->source, 16);
			ip->source[15] ^= ip->source[15] & 1 ? 1 : 2;
		}
		icmp->kind = 2;
		icmp->mtu = bpf_htonl(mtu < 1280 ? 1280 : mtu);
		sum = bpf_csum_diff(0, 0, (__be32 *)ip->source, 32, 0);
		sum = bpf_csum_diff(0, 0, rest, sizeof(rest), sum);
	} else {
		const struct ipv4_header *quoted = (void *)(icmp + 1);
		struct ipv4_header *ip = front + ETHERNET;

		*ip = (struct ipv4_header){ .version_ihl = 0x45, .ttl = 64, .protocol = PROTOCOL_ICMP };
		ip->total_length = bpf_htons(IPV4 + icmp_bytes);
		__builtin_memcpy(ip->source, quoted->destination, 4);
		__builtin_memcpy(ip->destination, quoted->source, 4);
		if (of_many && is_for_many(front, quoted->destination[0], 224)) {
			__builtin_memcpy(ip->source, quoted->source, 4);
			ip->source[3] ^= ip->source[3] & 1 ? 1 : 2;
		}
		ip->checksum = ~folded(bpf_csum_diff(0, 0, (__be32 *)ip, IPV4, 0));
		icmp->kind = 3;
		icmp->code = 4;
		icmp->mtu = bpf_htonl(mtu & 0xffff);
	}
	sum = bpf_csum_diff(0, 0, (__be32 *)icmp, icmp_bytes, sum);
	icmp->checksum = ~folded(sum);
	return true;
}

/* The most that the kernel takes off at once, and how often for the longest packet of an Ethernet. */
#define MOST_AT_ONCE 0xfffu
#define MOST_PARTS 4

/* Leaves of a packet what a message quotes. The kernel cuts one that it knows to be encapsulated at its front alone, and its
 * mark stays where this host's neighbour is a namespace. The last byte goes alone: where a checksum was left to a device, the
 * kernel sees with it that what it is of is gone. */
__attribute__((noinline)) int leave_quoted(struct __sk_buff *skb)
{
	__u8 quoted[MESSAGE_QUOTED] ON_STACK;

	if (skb->len <= ETHERNET + MESSAGE_QUOTED)
		return true;
	if (bpf_skb_load_bytes(skb, ETHERNET, quoted, sizeof(quoted)))
		return false;
#pragma nounroll
	for (int time = 0; time < MOST_PARTS && skb->len > ETHERNET + MESSAGE_QUOTED + 1; time++) {
		__u32 off = skb->len - (ETHERNET + MESSAGE_QUOTED + 1);

		off = off < MOST_AT_ONCE ? off : MOST_AT_ONCE;
		if (bpf_skb_adjust_room(skb, -(__s32)off, BPF_ADJ_ROOM_MAC, 0))
			return false;
	}
	return skb->len == ETHERNET + MESSAGE_QUOTED + 1 && !bpf_skb_adjust_room(skb, -1, BPF_ADJ_ROOM_MAC, 0) &&
	       !bpf_skb_store_bytes(skb, ETHERNET, quoted, sizeof(quoted), 0);
}

/* Makes a packet the message to its sender that it was too big for an MTU, in a frame as the packet's; of what is for many only if
 * that is asked for. */
inline bool make_message(struct __sk_buff *skb, __be16 ether_type, __u32 mtu, const bool of_many)
{
	bool is_ipv6 = ether_type == bpf_htons(ETH_P_IPV6);

	if (!is_ipv6 && ether_type != bpf_htons(ETH_P_IP))
		return false;
	if (skb->len < ETHERNET + MESSAGE_QUOTED || !is_worth_telling(skb, is_ipv6, of_many))
		return false;
	if (skb->len > ETHERNET + MESSAGE_QUOTED && bpf_skb_change_tail(skb, ETHERNET + MESSAGE_QUOTED, 0))
		return false;
	if (bpf_skb_adjust_room(skb, (is_ipv6 ? IPV6 : IPV4) + ICMP_HEADER, BPF_ADJ_ROOM_MAC, 0))
		return false;
	return is_ipv6 ? write_icmp(skb, true, mtu, of_many) : write_icmp(skb, false, mtu, of_many);
}

/* Has a frame that was to leave come in. Of one to many the answer is from nobody's address, the sender's but for the bit that says
 * who gave it: bridges take nothing from many. */
inline bool turn_round(struct __sk_buff *skb)
{
	void *front = data(skb);
	__u8 station[6];

	if (front + ETHERNET > data_end(skb))
		return false;
	__builtin_memcpy(station, front, 6);
	__builtin_memcpy(front, front + 6, 6);
	if (station[0] & 1) {
		__builtin_memcpy(station, front, 6);
		station[0] ^= 2;
	}
	__builtin_memcpy(front + 6, station, 6);
	return true;
}

/* Makes a packet of this host's the message that it was too big for an MTU, and gives it back. */
inline int tell_sender(struct __sk_buff *skb, __u32 mtu, const bool of_many)
{
	return make_message(skb, skb->protocol, mtu, of_many) && turn_round(skb) ? bpf_redirect(skb->ifindex, BPF_F_INGRESS) :
										   DROPPED;
}
