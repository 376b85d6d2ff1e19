/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A relay list inside one header, put before a packet.
 *
 *   Ethernet │ IP to relay 1 │ UDP │ ovstack │ list: relay 2 … │ the packet
 *   Ethernet │ IPv6 to relay 1 │ segment routing header: … relay 2 │ the packet
 *
 * Relay 1 stands in the outer header alone; RFC 8986 section 5.2 calls that reduced. Where there is no other relay, there is
 * no segment routing header either. There is one header that has a length, which the kernel corrects in each segment of a
 * superpacket. */
#pragma once

#include "shape.h"

/* Between the UDP header and the addresses of relays. */
struct list_guise {
	struct ovstack_header ovstack;
	struct relay_list_header list;
};

#define LIST_GUISE ((__u32)sizeof(struct list_guise))

/* Where it says what the packet is. */
inline void *next_of_segments(struct ipv6_header *ip)
{
	return ip->next_header == PROTOCOL_ROUTING ? (void *)(ip + 1) : &ip->next_header;
}

inline bool write_list(struct __sk_buff *skb, const struct stack *stack, const struct guise *guise, const __u32 family)
{
	const __u32 header = family == FAMILY_IPV4 ? IPV4 : IPV6;
	__u32 total = skb->len - ETHERNET;
	__u64 length = below_1024(stack->length);
	struct list_guise *between;
	struct udp_header *udp;
	void *front, *ip;
	__u8 *next;

	if (length < IPV4 || length > PATHS_STACK || bpf_skb_store_bytes(skb, ETHERNET, stack->header, length, 0))
		return false;
	front = data(skb);
	/* No shorter than the shortest of them; all of it was reached before. */
	if (front + ETHERNET + header > data_end(skb))
		return false;
	if (guise->other)
		((struct ethernet_header *)front)->ether_type = ether_type_in(family);
	ip = front + ETHERNET;
	if (family == FAMILY_IPV4)
		finish_ipv4(ip, stack->sums[0], total, guise, 0);
	else
		finish_ipv6(ip, total - header, guise);
	if (stack->encapsulation == ENCAPSULATION_SRV6) {
		if (!guise->other || family == FAMILY_IPV4)
			return family == FAMILY_IPV6;
		next = next_of_segments(ip);
		if ((void *)(next + 1) > data_end(skb))
			return false;
		*next = protocol_in(guise->other);
		return true;
	}
	udp = ip + header;
	between = (void *)(udp + 1);
	if ((void *)(between + 1) > data_end(skb))
		return false;
	udp->source = guise->port;
	udp->length = bpf_htons(total - header);
	between->ovstack.hash = bpf_htonl(guise->hash);
	if (guise->other)
		between->list.next = protocol_in(guise->other);
	return true;
}

__attribute__((noinline)) int write_list_of_ipv4(struct __sk_buff *skb, const struct stack *stack, const struct guise *guise)
{
	return stack && guise && write_list(skb, stack, guise, FAMILY_IPV4);
}

__attribute__((noinline)) int write_list_of_ipv6(struct __sk_buff *skb, const struct stack *stack, const struct guise *guise)
{
	return stack && guise && write_list(skb, stack, guise, FAMILY_IPV6);
}
