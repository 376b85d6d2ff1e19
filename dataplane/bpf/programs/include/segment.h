/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Superpackets that cannot go on whole: the kernel cuts them before.
 *
 *   receive ─► a veth that takes no superpackets ─► its other end, where `receive` meets segments
 *
 * What a UDP tunnel carried stays marked as such when its outer header is gone. TCP does not look at that, but who cuts a
 * superpacket of UDP for a socket takes the mark for a header that is there, and drops it. No program can take the mark away, nor
 * make one of another tunnel of it: so it is cut where it comes up, and where it goes on in a tunnel of the other kind. */
#pragma once

#include "forward.h"

/* Whether a superpacket goes on in a tunnel that its mark is right for; to a group it may be several. */
inline bool goes_on_whole(const struct parcel *parcel)
{
	const struct adjacency *adjacency;
	const struct wire *wire;
	const __u64 *word;
	__u32 path, counted;

	if (!path_of(parcel, &path))
		return true;
	word = at(paths, path);
	if (!word || *word >> 32 == PATH_NOWHERE)
		return true;
	return *word >> 32 == PATH_HOP && (!find_wire(*word, parcel->hash, &wire, &adjacency, &counted) ||
					   is_udp(wire->form & ~FORM_IPV6) == parcel->is_in_udp);
}

/* The device by which a packet is cut before it goes on; nought where it does as it is. */
inline __u32 segmenter_of(struct __sk_buff *skb, const struct parcel *parcel, const struct application *application)
{
	const struct segmenter *segmenter;
	__u8 protocol;

	if (!skb->gso_size || !transport_in(skb, parcel, &protocol) || protocol != PROTOCOL_UDP)
		return 0;
	if (parcel->destination == application->own ? !parcel->is_in_udp : goes_on_whole(parcel))
		return 0;
	segmenter = at(segmenters, 0);
	return segmenter && skb->ingress_ifindex != segmenter->back ? segmenter->front : 0;
}
