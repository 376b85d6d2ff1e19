/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* All headers of a relay list, put before a packet at once.
 *
 *   Ethernet │ IP to relay 1 │ shim │ IP to relay 2 │ shim │ … │ the packet
 *
 * The kernel is told of the outermost header and of where the packet begins. Of a superpacket it would cut the lengths in
 * the middle stay as long as all of it, so that one goes under one header only, but where that was asked for. Its segments
 * must fit the device with the tallest stack of their set like any packet. */
#pragma once

#include "push_list.h"
#include "shape.h"

/* A mask above all lengths of stacks. */
#define REACH 1023
_Static_assert(PATHS_STACK <= REACH, "the mask");

inline bool make_room_for(struct __sk_buff *skb, __u32 bytes, const struct stack *stack)
{
	__u64 flags = BPF_F_ADJ_ROOM_FIXED_GSO;

	flags |= stack->family == FAMILY_IPV4 ? BPF_F_ADJ_ROOM_ENCAP_L3_IPV4 : BPF_F_ADJ_ROOM_ENCAP_L3_IPV6;
	if (stack->encapsulation == ENCAPSULATION_GRE)
		flags |= BPF_F_ADJ_ROOM_ENCAP_L4_GRE;
	else if (stack->encapsulation == ENCAPSULATION_GUE || stack->encapsulation == ENCAPSULATION_OVSTACK)
		flags |= BPF_F_ADJ_ROOM_ENCAP_L4_UDP;
	if (!bpf_skb_adjust_room(skb, bytes, BPF_ADJ_ROOM_MAC, flags))
		return true;
	/* One that came out of a tunnel by this host is known to be encapsulated, and the kernel is not told twice; that it is of
	 * another family now, it understands of what is taken away alone. */
	if (family_of(skb->protocol) == stack->family)
		return !bpf_skb_adjust_room(skb, bytes, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO);
	return !bpf_skb_adjust_room(skb, bytes + IPV4, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO) &&
	       take_away(skb, IPV4, stack->family);
}

/* Has the last header say that it carries a packet of another family than its own. */
inline void carry_other(void *between, __u32 other, const __u32 encapsulation)
{
	if (encapsulation == ENCAPSULATION_GRE)
		((struct gre_header *)between)->protocol = ether_type_in(other);
	else if (encapsulation == ENCAPSULATION_GUE)
		((struct gue_header *)(between + UDP))->protocol = protocol_in(other);
}

/* Writes the headers. Each use has its own constants, so that all places in the packet are known before one comes. */
inline bool write_stack(struct __sk_buff *skb, const struct stack *stack, const struct guise *guise, const __u32 family,
			const __u32 encapsulation, const __u32 shim)
{
	const __u32 header = family == FAMILY_IPV4 ? IPV4 : IPV6, stride = header + shim;
	__u32 total = skb->len - ETHERNET;
	void *front = data(skb), *end = data_end(skb), *place, *between;
	struct udp_header *udp;

	if (front + ETHERNET > end)
		return false;
	if (guise->other)
		((struct ethernet_header *)front)->ether_type = ether_type_in(family);
#pragma unroll
	for (__u32 i = 0; i < PATHS_RELAYS; i++) {
		bool has_other = guise->other && i + 1 == stack->count;

		if (i >= stack->count)
			break;
		place = front + ETHERNET + i * stride;
		if (place + stride > end)
			return false;
		copy(place, stack->header + i * stride, stride);
		between = place + header;
		if (family == FAMILY_IPV4) {
			bool is_other = has_other && encapsulation == ENCAPSULATION_IPIP;

			finish_ipv4(place, stack->sums[i], total - i * stride, guise,
				    is_other ? PROTOCOL_IPV6 - PROTOCOL_IPV4 : 0);
		} else {
			finish_ipv6(place, total - i * stride - header, guise);
			if (has_other && encapsulation == ENCAPSULATION_IPIP)
				((struct ipv6_header *)place)->next_header = PROTOCOL_IPV4;
		}
		if (encapsulation == ENCAPSULATION_GUE) {
			udp = between;
			udp->source = guise->port;
			udp->length = bpf_htons(total - i * stride - header);
		}
		if (has_other)
			carry_other(between, guise->other, encapsulation);
	}
	return true;
}

/* The longest packet that may leave: by the device's MTU at this moment, and by what was said. */
inline __u32 longest(struct __sk_buff *skb)
{
	__u32 mtu = 0;

	bpf_check_mtu(skb, 0, &mtu, 0, 0);
	return steering.mtu && steering.mtu < mtu ? steering.mtu : mtu;
}

/* Bytes of each packet that a superpacket, whose header is at an offset, will be cut into. */
inline __u32 segment_of(struct __sk_buff *skb, __u32 offset, const struct packet *packet)
{
	__u32 headers = packet->header;
	__u8 words = 0;

	if (packet->protocol == PROTOCOL_UDP)
		headers += UDP;
	else if (!bpf_skb_load_bytes(skb, offset + headers + 12, &words, 1))
		headers += (words >> 4) * 4;
	return headers + skb->gso_size;
}

/* Functions of their own, so that the verifier looks at each once, whatever leads to it. */
#define WRITER(name, family, encapsulation, shim)                                                                     \
	__attribute__((noinline)) int name(struct __sk_buff *skb, const struct stack *stack, const struct guise *guise) \
	{                                                                                                             \
		return stack && guise && write_stack(skb, stack, guise, family, encapsulation, shim);                 \
	}

WRITER(write_ipip_of_ipv4, FAMILY_IPV4, ENCAPSULATION_IPIP, 0)
WRITER(write_ipip_of_ipv6, FAMILY_IPV6, ENCAPSULATION_IPIP, 0)
WRITER(write_gre_of_ipv4, FAMILY_IPV4, ENCAPSULATION_GRE, GRE)
WRITER(write_gre_of_ipv6, FAMILY_IPV6, ENCAPSULATION_GRE, GRE)
WRITER(write_gue_of_ipv4, FAMILY_IPV4, ENCAPSULATION_GUE, UDP + GUE)
WRITER(write_gue_of_ipv6, FAMILY_IPV6, ENCAPSULATION_GUE, UDP + GUE)

inline bool write_all(struct __sk_buff *skb, const struct stack *stack, const struct guise *guise)
{
	bool is_ipv6 = stack->family == FAMILY_IPV6;

	switch (stack->encapsulation) {
	case ENCAPSULATION_IPIP:
		return is_ipv6 ? write_ipip_of_ipv6(skb, stack, guise) : write_ipip_of_ipv4(skb, stack, guise);
	case ENCAPSULATION_GRE:
		return is_ipv6 ? write_gre_of_ipv6(skb, stack, guise) : write_gre_of_ipv4(skb, stack, guise);
	case ENCAPSULATION_GUE:
		return is_ipv6 ? write_gue_of_ipv6(skb, stack, guise) : write_gue_of_ipv4(skb, stack, guise);
	case ENCAPSULATION_OVSTACK:
	case ENCAPSULATION_SRV6:
		return is_ipv6 ? write_list_of_ipv6(skb, stack, guise) : write_list_of_ipv4(skb, stack, guise);
	}
	return false;
}

/* Whether datagrams would come out of a stack as superpackets that nobody can take: what was in a UDP tunnel stays marked so, and
 * who cuts it for a socket takes the mark for a header that is there. */
inline bool marks_datagrams(const struct stack *stack, const struct packet *packet)
{
	return stack->count && packet->protocol == PROTOCOL_UDP &&
	       (stack->encapsulation == ENCAPSULATION_GUE || stack->encapsulation == ENCAPSULATION_OVSTACK);
}

/* Whether superpackets are cut before they go under a stack. */
inline bool takes_segments(const struct stack *stack, const struct packet *packet)
{
	return (stack->count > 1 && !steering.superpackets) || marks_datagrams(stack, packet);
}

/* Why a packet cannot go under a stack as it is, where it may be so long with the tallest of its set; nought where it can. */
inline int misfit(struct __sk_buff *skb, __u32 tallest, const struct stack *stack, const struct packet *packet, __u32 most)
{
	__u32 bytes = skb->gso_size ? segment_of(skb, ETHERNET, packet) : skb->len - ETHERNET;

	if (bytes + tallest > most)
		return PATH_DROP_TOO_BIG;
	if (!skb->gso_size || !stack->count)
		return 0;
	return skb->len - ETHERNET + stack->length > 0xffff || takes_segments(stack, packet) ? PATH_DROP_SUPERPACKET : 0;
}

/* Whether a packet is a superpacket that TCP of this host made before it heard that there are to be none, by a list under which none
 * goes. It stops where one is
 * dropped, and sends a segment next; an answer would come behind all that its window lets go. Datagrams that a program sends
 * at once are no less after a loss, so that it is told. */
inline bool is_made_before(const struct __sk_buff *skb, const struct stack *stack, const struct packet *packet)
{
	return skb->gso_size && packet->protocol == PROTOCOL_TCP && !skb->ingress_ifindex && stack->count > 1 &&
	       !steering.superpackets;
}

/* Puts a stack before a packet that fits. Returns nought, or why not. */
inline int push_stack(struct __sk_buff *skb, const struct stack *stack, const struct packet *packet, __u32 hash)
{
	struct guise guise = guise_of(packet, stack, hash);
	__u32 length = stack->length;

	if (length > PATHS_STACK || !make_room_for(skb, length, stack) || !reach(skb, ETHERNET + (length & REACH)))
		return PATH_DROP_REFUSED;
	return write_all(skb, stack, &guise) ? 0 : PATH_DROP_REFUSED;
}
