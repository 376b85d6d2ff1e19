/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Superpackets that cannot go on whole: the kernel cuts them before.
 *
 *   receive ─► a veth that takes no superpackets ─► its other end, where `receive` meets segments
 *
 * The kernel marks a superpacket with the kind of tunnel that it is put into first, and no program can take the mark away or make
 * another of it. Two look at it: who cuts a superpacket of UDP for a socket takes the mark of a UDP tunnel for a header that is
 * there, and drops it; and a device, to which one of another kind's header is no packet. So superpackets are cut where such come
 * up, and where they go on in a tunnel of another kind. */
#pragma once

#include "forward.h"

/* Whether a superpacket goes on in a tunnel that its mark is right for. */
inline bool goes_on_whole(const struct parcel *parcel, struct recent *recent, bool is_datagram)
{
	const struct wire *wire;
	const __u64 *word;
	struct way way;
	__u32 path;
	__u8 tunnel;

	if (!onward(parcel, recent, &path))
		return true;
	word = at(paths, path);
	if (!word)
		return true;
	/* Copies for a group may come up here as well. */
	if (*word >> 32 != PATH_HOP)
		return !is_datagram;
	if (!find_way(*word, parcel->hash, &way))
		return true;
	wire = way.wire;
	/* As it stands in the outer header; of IP in IP that of the family of both which there always is. */
	tunnel = wire->header[wire->form & FORM_IPV6 ? ETHERNET + __builtin_offsetof(struct ipv6_header, next_header) :
						       ETHERNET + __builtin_offsetof(struct ipv4_header, protocol)];
	return tunnel == parcel->tunnel || (tunnel == PROTOCOL_IPV4 && parcel->tunnel == PROTOCOL_IPV6);
}

/* The device by which a packet is cut before it goes on; nought where it does as it is. */
inline __u32 segmenter_of(struct __sk_buff *skb, const struct parcel *parcel, const struct application *application,
			  struct recent *recent)
{
	const struct segmenter *segmenter;
	__u8 protocol = 0;
	bool is_datagram;

	if (!skb->gso_size)
		return 0;
	is_datagram = transport_in(skb, parcel, &protocol) && protocol == PROTOCOL_UDP;
	if (parcel->destination == application->own ? !is_datagram || parcel->tunnel != PROTOCOL_UDP :
						      goes_on_whole(parcel, recent, is_datagram))
		return 0;
	segmenter = at(segmenters, 0);
	return segmenter && skb->ingress_ifindex != segmenter->back ? segmenter->front : 0;
}
