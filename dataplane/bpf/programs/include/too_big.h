/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Packets that do not fit a next hop: relays tell the node they are from, which tells its hosts.
 *
 *   relay    TOO_BIG ─► the packet itself goes back, cut to a message of the overlay (model/wire: too_big)
 *   source   remembers what fits, a number for each path, for ten minutes; what is larger becomes an ICMP message
 *
 * Of a group's copies one answer says the least room of all that do not fit. It is made of the packet, which programs have once: so all
 * others leave before, and what comes up here does as a copy.
 *
 * Where headers name no nodes the relay itself makes of the packet what its host is to be told. So does the relay at which such a
 * part of a way ends of what is said behind it: it keeps to itself what cannot be said farther. */
#pragma once

#include "bucket.h"
#include "count.h"
#include "deliver.h"
#include "learn.h"
#include "parcel.h"
#include "tell.h"

/* Bytes of the packets that a superpacket will be cut into, headers included, from its payload's first byte. Of what is
 * not known how it is cut, none. */
inline __u32 segment_bytes(struct __sk_buff *skb, const struct parcel *parcel)
{
	__u32 start = parcel->outer, end;
	__u8 protocol, offset;

	end = transport_in(skb, parcel, &protocol);
	if (!end)
		return 0;
	if (protocol == PROTOCOL_UDP)
		return end + UDP - start + skb->gso_size;
	if (protocol != PROTOCOL_TCP || bpf_skb_load_bytes(skb, end + 12, &offset, 1))
		return 0;
	return end + (offset >> 4) * 4 - start + skb->gso_size;
}

/* Whether a payload, or each segment of it, is no longer than that. */
inline bool fits(struct __sk_buff *skb, const struct parcel *parcel, __u32 room)
{
	if (skb->len - parcel->outer <= room)
		return true;
	return skb->gso_size && segment_bytes(skb, parcel) <= room;
}

/* Makes a packet on its way the message that it is too big, to the node it is from. Nothing is said that nobody would believe. */
inline bool answer_source(struct __sk_buff *skb, struct parcel *parcel, const struct application *application)
{
	struct too_big_header message = {};
	__u32 bytes = parcel->outer + MESSAGE_BYTES;

	/* Nothing is said about what is said. Of a superpacket the kernel would cut the message, too; who is not answered sends a
	 * single segment next. */
	if (parcel->payload == PAYLOAD_CONTROL || skb->gso_size || parcel->room < MESSAGE_LEAST_ROOM || !may_answer())
		return false;
	message.kind = MESSAGE_TOO_BIG;
	message.room = bpf_htonl(parcel->room);
	message.destination = bpf_htonl(parcel->destination);
	/* An encapsulated packet is cut at its front only; the outer header is written anew anyhow. */
#pragma nounroll
	for (int part = 0; part < MOST_PARTS && skb->len > bytes; part++) {
		__u32 less = skb->len - bytes;

		less = less < MOST_AT_ONCE ? less : MOST_AT_ONCE;
		if (bpf_skb_adjust_room(skb, -(__s32)less, BPF_ADJ_ROOM_MAC, 0))
			return false;
	}
	if (skb->len != bytes || bpf_skb_store_bytes(skb, parcel->outer, &message, sizeof(message), 0))
		return false;
	parcel->destination = parcel->source;
	parcel->source = application->own;
	parcel->ttl = application->ttl;
	parcel->payload = PAYLOAD_CONTROL;
	parcel->ecn = 0;
	parcel->room = 0;
	return true;
}

/* The same of a packet whose header names no nodes: it becomes what its host is to be told, which leaves by the tenant's device as
 * if a host behind it had said so, and finds its way by its own identifier. A function of its own, as others are. */
__attribute__((noinline)) int answer_host(struct __sk_buff *skb, const struct parcel *parcel)
{
	struct ethernet_header frame ON_STACK = {};
	struct vni_key key ON_STACK = {};
	const struct tenant *tenant;
	__u32 *index, less;

	if (!parcel)
		return DROPPED;
	less = parcel->payload == PAYLOAD_ETHERNET ? ETHERNET : 0;
	/* Of a superpacket nothing is said, as above. */
	if (skb->gso_size || parcel->room < less + MESSAGE_LEAST_TOLD)
		return DROPPED;
	key.application = parcel->application;
	key.vni = parcel->vni;
	index = bpf_map_lookup_elem(&vnis, &key);
	tenant = index ? at(tenants, *index) : 0;
	if (!tenant || (less && !read_bytes(skb, parcel->outer, &frame, ETHERNET)) || !may_answer())
		return DROPPED;
	if (!strip(skb, parcel, tenant, &frame) || !leave_quoted(skb) ||
	    !make_message(skb, frame.ether_type, parcel->room - less, true) || !turn_round(skb))
		return DROPPED;
	skb->tc_index = 0;
	return bpf_redirect(tenant->interface, 0);
}

/* Remembers what a relay says. */
inline int heed(struct __sk_buff *skb, const struct parcel *parcel)
{
	struct node_key key = { .application = parcel->application, .node = parcel->source };
	struct too_big_header message;
	__u64 *limit, room;
	__u32 *path;

	if (!bpf_map_lookup_elem(&nodes, &key))
		return drop(DROP_UNKNOWN_SOURCE);
	if (bpf_skb_load_bytes(skb, parcel->outer, &message, sizeof(message)))
		return drop(DROP_MALFORMED);
	room = bpf_ntohl(message.room);
	if (message.kind != MESSAGE_TOO_BIG || room < MESSAGE_LEAST_ROOM)
		return drop(DROP_MALFORMED);
	key.node = bpf_ntohl(message.destination);
	path = bpf_map_lookup_elem(&nodes, &key);
	limit = path ? at(limits, *path) : 0;
	if (!limit)
		return drop(DROP_NO_ROUTE);
	/* Of several relays the one with the least room counts, for as long as it is remembered. */
	if (!(__u32)*limit || room <= (__u32)*limit || now() - (*limit >> 32) > LIMITS_AGE)
		*limit = (__u64)now() << 32 | room;
	return DROPPED;
}

/* What fits a path by what a relay said lately, if a packet does not; else nought. */
inline __u32 exceeded(struct __sk_buff *skb, const struct parcel *parcel, __u32 path)
{
	const __u64 *limit = at(limits, path);

	if (!limit || !(__u32)*limit || now() - (*limit >> 32) > LIMITS_AGE)
		return 0;
	return fits(skb, parcel, *limit) ? 0 : *limit;
}

/* Makes a packet of this host's the message that it was too big, and gives it back.
 *
 * Choice: of what is for many, too, which RFC 1122 section 3.2.2 has nobody told of, lest all that it comes to answer: here the node
 * that it is from does, and nobody else. */
inline int tell_host(struct __sk_buff *skb, const struct parcel *parcel)
{
	__u32 less = parcel->payload == PAYLOAD_ETHERNET ? ETHERNET : 0;

	/* Of a way that no host would believe in nothing is said. */
	return parcel->room < less + MESSAGE_LEAST_TOLD ? DROPPED : tell_sender(skb, parcel->room - less, true);
}

/* The same of one of which copies have left: its own header stands before it again. A function of its own, as others are. */
__attribute__((noinline)) int tell_host_of_copies(struct __sk_buff *skb, const struct parcel *parcel,
						  const struct ethernet_header *frame)
{
	__u32 less, worn;
	void *front;

	if (!parcel || !frame)
		return DROPPED;
	less = parcel->payload == PAYLOAD_ETHERNET ? ETHERNET : 0;
	worn = parcel->outer - (ETHERNET - less);
	/* Of a superpacket nothing is said once it is encapsulated; who is not answered sends a single segment next. */
	if (skb->gso_size || parcel->room < less + MESSAGE_LEAST_TOLD)
		return DROPPED;
	if (worn && bpf_skb_adjust_room(skb, -(__s32)worn, BPF_ADJ_ROOM_MAC, 0))
		return DROPPED;
	front = data(skb);
	if (front + ETHERNET > data_end(skb))
		return DROPPED;
	copy(front, frame, ETHERNET);
	if (!leave_quoted(skb) || !make_message(skb, frame->ether_type, parcel->room - less, true) || !turn_round(skb))
		return DROPPED;
	skb->tc_index = 0;
	return bpf_redirect(skb->ifindex, BPF_F_INGRESS);
}
