/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The end of a packet's way: off with the outer header, and up through the tenant's device. */
#pragma once

#include "congestion.h"
#include "count.h"
#include "driver.h"
#include "parcel.h"

/* Makes an outer header of IPv6 one of IPv4 by its length, which is all that is asked of it: of a packet with an IPv6
 * header the kernel leaves no less than another, and there are shorter packets in it than that. Linux 6.3 has flags to
 * say what is inside; 6.1 does not. */
inline bool shorten(struct __sk_buff *skb, __s32 *less)
{
	if (skb->protocol != bpf_htons(ETH_P_IPV6) || skb->len - *less >= ETHERNET + IPV6)
		return true;
	*less -= IPV6 - IPV4;
	return !bpf_skb_change_proto(skb, bpf_htons(ETH_P_IP), 0);
}

/* Leaves a frame: of a packet whose payload is one, that; of another, the outer Ethernet header before the packet. The
 * kernel sees by the frame's type what it carries when it takes it in. */
inline bool strip(struct __sk_buff *skb, const struct parcel *parcel, const struct tenant *tenant,
		  struct ethernet_header *frame)
{
	bool is_frame = parcel->payload == PAYLOAD_ETHERNET;
	/* The kernel leaves no less than an IP header. */
	__u32 least = parcel->outer + (is_frame ? ETHERNET : 0) + IPV4;
	__s32 less = parcel->outer;
	__u64 address = 0;
	void *front;

	if (skb->len < least && bpf_skb_change_tail(skb, least, 0))
		return false;
	if (!is_frame) {
		less -= ETHERNET;
		/* In one read, since the agent may be writing it. */
		copy(&address, tenant->address, sizeof(address));
		__builtin_memcpy(frame->destination, &address, 6);
		__builtin_memcpy(frame->source, &address, 6);
		frame->ether_type = ether_type_of(parcel->payload);
	}
	if (!shorten(skb, &less) || bpf_skb_adjust_room(skb, -less, BPF_ADJ_ROOM_MAC, BPF_F_ADJ_ROOM_FIXED_GSO))
		return false;
	front = data(skb);
	if (front + ETHERNET > data_end(skb))
		return false;
	copy(front, frame, ETHERNET);
	return true;
}

/* Whether a packet of IPv6 means the same by whatever device it comes. What neighbours say to each other is of the device, and so
 * are addresses of a link. */
inline bool is_of_no_link(struct __sk_buff *skb, __u32 offset)
{
	struct ipv6_header ip ON_STACK;

	if (!read_bytes(skb, offset, &ip, IPV6) || (ip.next_header != PROTOCOL_TCP && ip.next_header != PROTOCOL_UDP))
		return false;
	return ip.destination[0] != 0xfe || (ip.destination[1] & 0xc0) != 0x80;
}

/* Whether the kernel is to go on with a packet where it is, spared the turn through its queue that another device takes. It
 * goes on with one of the family that it takes it for, of frames with this host's own: what comes by a device it looks at anew. */
inline bool stays(struct __sk_buff *skb, const struct parcel *parcel, const struct tenant *tenant,
		  const struct ethernet_header *frame)
{
	__be16 ether_type = ether_type_of(parcel->payload);
	const struct segmenter *segmenter;
	__u32 offset = parcel->outer;
	__u64 address = 0;

	if (!tenant->in_place)
		return false;
	/* What was cut came in by another device, where the outer frame was for nobody. */
	segmenter = at(segmenters, 0);
	if (segmenter && segmenter->front && skb->ingress_ifindex == segmenter->back)
		return false;
	if (parcel->payload == PAYLOAD_ETHERNET) {
		copy(&address, tenant->address, sizeof(address));
		if (*(const __u32 *)frame != *(const __u32 *)&address ||
		    *(const __u16 *)&frame->destination[4] != *((const __u16 *)&address + 2))
			return false;
		ether_type = frame->ether_type;
		offset += ETHERNET;
	}
	return ether_type == skb->protocol && (ether_type != bpf_htons(ETH_P_IPV6) || is_of_no_link(skb, offset));
}

/* Takes a packet to its tenant's device; or a copy, of which the packet itself, without its outer header, stays here. A function of its
 * own, which a verifier looks at once, whatever the ways by which packets come to it; so there is always a parcel, but the verifier
 * wants that asked. */
__attribute__((noinline)) int deliver(struct __sk_buff *skb, struct parcel *parcel, struct recent *recent, bool is_copy)
{
	struct vni_key key ON_STACK = {};
	__u32 *index, number, bytes;
	struct ethernet_header frame ON_STACK = {};
	const struct tenant *tenant;
	__u8 station[8] ON_STACK = {};
	bool is_known, in_place;
	int reason;

	if (!parcel)
		return DROPPED;
	key.application = parcel->application;
	key.vni = parcel->vni;
	bytes = skb->len - parcel->outer;
	/* What is said to a group is nobody's. */
	if (parcel->payload == PAYLOAD_CONTROL)
		return drop(DROP_MALFORMED);
	/* What is too short for that is seen below. */
	if (parcel->payload == PAYLOAD_ETHERNET)
		read_bytes(skb, parcel->outer, &frame, ETHERNET);
	__builtin_memcpy(station, frame.source, 6);
	number = recall_tenant(recent, &key, parcel->source, station);
	is_known = number;
	if (!is_known) {
		index = bpf_map_lookup_elem(&vnis, &key);
		if (!index)
			return drop(DROP_UNKNOWN_TENANT);
		number = *index;
	}
	tenant = at(tenants, number);
	if (!tenant || !takes(tenant->driver, parcel->payload))
		return drop(DROP_UNKNOWN_TENANT);
	if (skb->len < parcel->outer + least_of(parcel->payload))
		return drop(DROP_MALFORMED);
	if (!is_known) {
		reason = hear(tenant->driver, &frame, number, parcel);
		if (reason < 0)
			return drop(-reason);
		if (!reason)
			remember_tenant(recent, &key, parcel->source, station, number);
	}
	if (!tell_congestion(skb, parcel))
		return drop(DROP_CONGESTION);
	in_place = stays(skb, parcel, tenant, &frame);
	if (!strip(skb, parcel, tenant, &frame))
		return drop(DROP_REFUSED);
	count_received(number, bytes);
	skb->tc_index = 0;
	if (is_copy) {
		/* What the packet itself becomes has no use for its first bytes, and the kernel may take some of them. */
		parcel->outer = ETHERNET + IPV4;
		bpf_clone_redirect(skb, tenant->interface, BPF_F_INGRESS);
		return DROPPED;
	}
	return in_place ? NEXT : bpf_redirect(tenant->interface, BPF_F_INGRESS);
}
