/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What passes through this node before the kernel makes a packet of it: for devices whose drivers run XDP themselves.
 *
 * Choice: it takes only what it sends on as long as it came, which is ovstack for another node over the same family. Whatever
 * else there is (what is for this node or a group, another encapsulation, too big, expired, or wrong) it leaves as it
 * came, and the program behind it decides and counts: so that there is one place for each reason to drop. */
#pragma once

#include "arrive.h"
#include "forward.h"

/* Devices that take packets from XDP. To one that does not, what is sent is gone without anybody counting it. */
TABLE(exits, BPF_MAP_TYPE_DEVMAP_HASH, __u32, __u32, 1024, 0);

/* The path of what is for another node, if it is one that leads to a single next hop. */
inline bool path_on(const struct parcel *parcel, __u32 *path, __u32 *hop)
{
	const struct application *application = at(applications, parcel->application);
	const __u64 *word;

	if (!application || !application->own || parcel->source == application->own ||
	    parcel->destination == application->own || parcel->ttl <= 1 || !path_of(parcel, path))
		return false;
	word = at(paths, *path);
	if (!word || *word >> 32 != PATH_HOP)
		return false;
	*hop = *word;
	return true;
}

/* Sends a packet of a family on. */
inline int pass_on(struct xdp_md *context, bool is_ipv6)
{
	const __u32 udp_at = ETHERNET + (is_ipv6 ? IPV6 : IPV4), outer = udp_at + UDP + sizeof(struct ovstack_header);
	void *front = POINTER(xdp_md, context, data), *end = POINTER(xdp_md, context, data_end);
	__u32 total = end - front - ETHERNET, path, hop, interface;
	const struct ovstack_header *header;
	const struct udp_header *udp;
	struct parcel parcel = {};
	struct peer_key key = {};
	const struct peer *peer;
	struct way way;

	if (front + outer > end)
		return XDP_PASS;
	if (is_ipv6)
		take_ipv6(front + ETHERNET, &parcel, &key);
	else if (!take_ipv4(front + ETHERNET, &parcel, &key))
		return XDP_PASS;
	if (key.protocol_port != PROTOCOL_UDP << 16)
		return XDP_PASS;
	udp = front + udp_at;
	key.protocol_port |= bpf_ntohs(udp->destination);
	parcel.flow = udp->source;
	peer = bpf_map_lookup_elem(&peers, &key);
	if (!peer || peer->encapsulation != ENCAPSULATION_OVSTACK)
		return XDP_PASS;
	header = front + udp_at + UDP;
	if (header->version != OVSTACK_VERSION)
		return XDP_PASS;
	take_ovstack(header, &parcel);
	if (!is_known_in(peer, parcel.application) || !path_on(&parcel, &path, &hop) ||
	    !find_way(hop, parcel.hash, &way))
		return XDP_PASS;
	interface = way.adjacency->interface;
	if (way.wire->form != ENCAPSULATION_OVSTACK + (is_ipv6 ? FORM_IPV6 : 0) || total > way.adjacency->mtu ||
	    (interface != context->ingress_ifindex && !bpf_map_lookup_elem(&exits, &interface)))
		return XDP_PASS;
	parcel.ttl -= 1;
	if (!write_form(front, end, total, way.wire, way.adjacency, &parcel, is_ipv6, ENCAPSULATION_OVSTACK, true,
			sizeof(struct ovstack_header)))
		return XDP_PASS;
	count_path(path, total + ETHERNET - outer);
	count_hop(&way, total + ETHERNET - outer);
	return interface == context->ingress_ifindex ? XDP_TX : bpf_redirect_map(&exits, interface, XDP_DROP);
}
