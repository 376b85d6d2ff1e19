/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Superpackets that cannot be taken in whole: the kernel cuts them before.
 *
 *   receive ─► a veth that takes no superpackets ─► its other end, where `receive` meets segments
 *
 * What a UDP tunnel carried stays marked as such when its outer header is gone. TCP does not look at that, but who cuts a
 * superpacket of UDP for a socket takes the mark for a header that is there, and drops it. No program can take the mark away. */
#pragma once

#include "forward.h"

/* The device by which a packet is cut before it goes on up; nought where it is taken in as it is. */
inline __u32 segmenter_of(struct __sk_buff *skb, const struct parcel *parcel, const struct application *application)
{
	const struct segmenter *segmenter;
	const __u64 *word;
	__u8 protocol;
	__u32 path;

	if (!skb->gso_size || !parcel->is_in_udp || !transport_in(skb, parcel, &protocol) || protocol != PROTOCOL_UDP)
		return 0;
	/* What goes on to another node does so whole. */
	if (parcel->destination != application->own) {
		if (!path_of(parcel, &path))
			return 0;
		word = at(paths, path);
		if (!word || *word >> 32 == PATH_HOP)
			return 0;
	}
	segmenter = at(segmenters, 0);
	return segmenter && skb->ingress_ifindex != segmenter->back ? segmenter->front : 0;
}
