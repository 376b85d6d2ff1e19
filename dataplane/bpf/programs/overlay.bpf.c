/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The overlay's programs. Each reads as a packet's walk.
 *
 *   transmit   leaves a tenant's device:   identify ─► FIB ─► path ─► hop ─► wire ─► adjacency ─► underlay
 *                                          a miss: the group, the kernel's own routes, or dropped
 *   receive    comes in by the underlay:   arrive ─► known peer, by an entrance? ─► own: deliver; else path, as above
 *                                          a superpacket that cannot: cut by the kernel, and here again
 *   relay      the same, before the kernel: arrive ─► known peer? ─► another node's: path, as above; else receive
 *   guard      leaves by the underlay:     not from a program of Plait's, but as if ─► dropped
 */
#include "arrive.h"
#include "count.h"
#include "deliver.h"
#include "driver.h"
#include "forward.h"
#include "place.h"
#include "relay.h"
#include "segment.h"
#include "too_big.h"

/* Of a tag of IEEE 802.1Q. */
#define VLAN_ID 0xfff

/* As sockets have it. */
#define AF_INET6 10

/* Whether a path leads to a group. */
inline bool leads_to_many(__u32 path)
{
	const __u64 *word = at(paths, path);

	return word && *word >> 32 == PATH_GROUP;
}

/* Sends a packet on its path, or up where it ends here. */
inline int follow(struct __sk_buff *skb, __u32 path, struct parcel *parcel, const struct application *application,
		  bool begins_here)
{
	struct copies copies;
	const __u64 *word;
	bool comes_up;
	int interface;

	word = at(paths, path);
	if (!word)
		return drop(DROP_NO_ROUTE);
	count_path(path, skb->len - parcel->outer);
	switch (*word >> 32) {
	case PATH_HOP:
		/* One that was a group's until now: what is too big for it is found out here. */
		parcel->room = 0;
		interface = begins_here ? address_to(skb, *word, parcel) : address_on(skb, *word, parcel);
		return interface > 0 ? bpf_redirect(interface, 0) : drop(-interface);
	case PATH_GROUP:
		copies.skb = skb;
		copies.group = at(groups, *word);
		copies.parcel = *parcel;
		/* What one copy leaves to the next. */
		copies.parcel.outer = unknown(skb, parcel->outer);
		copies.parcel.encapsulated = unknown(skb, parcel->encapsulated);
		copies.parcel.room = unknown(skb, parcel->room);
		copies.interface = unknown(skb, 0);
		copies.passes = unknown(skb, !parcel->encapsulated);
		copies.previous = came_from(parcel);
		if (!copies.group || (begins_here && bpf_skb_load_bytes(skb, 0, &copies.frame, ETHERNET)))
			return drop(DROP_NO_ROUTE);
		if (parcel->encapsulated)
			bpf_loop(copies.group->count, find_previous, &copies, 0);
		if (copies.passes)
			bpf_loop(copies.group->count, send_copy, &copies, 0);
		else if (copies.group->count)
			drop(DROP_NO_ROUTE);
		comes_up = copies.group->includes_own && parcel->source != application->own;
		if (!comes_up && !copies.parcel.room)
			return copies.interface ? bpf_redirect(copies.interface, 0) : DROPPED;
		if (copies.interface)
			bpf_clone_redirect(skb, copies.interface, 0);
		if (!copies.parcel.room)
			return deliver(skb, &copies.parcel, 0, false);
		/* Once all have left whom it fits, the packet itself becomes the answer. */
		if (begins_here) {
			parcel->room = 0;
			return tell_host_of_copies(skb, &copies.parcel, &copies.frame);
		}
		if (comes_up)
			deliver(skb, &copies.parcel, 0, true);
		parcel->outer = copies.parcel.outer;
		parcel->room = copies.parcel.room;
		return DROPPED;
	case PATH_OWN:
		return parcel->encapsulated ? deliver(skb, parcel, 0, false) : drop(DROP_NO_ROUTE);
	default:
		return drop(DROP_NO_ROUTE);
	}
}

/* What becomes of a packet that nobody knows: the kernel's own route has it, on a device that its tenant names. The kernel
 * finds the neighbour and writes the header; the packet itself stays as it is.
 *
 * Choice: of IPv6 the tenant names the neighbour, too, since the kernel, asked for a route by that device, may well answer with
 * one by the tenant's. */
inline int fall_back(struct __sk_buff *skb, const struct tenant *tenant)
{
	const __u32 destination = ETHERNET + __builtin_offsetof(struct ipv6_header, destination);
	struct bpf_redir_neigh next ON_STACK = { .nh_family = AF_INET6 };
	const struct way_out *way = at(ways_out, tenant->way_out);
	__be16 ether_type;

	/* What a relay says of a packet that came in a header of the other family is still taken for that, and has no way. */
	if (!way || bpf_skb_load_bytes(skb, __builtin_offsetof(struct ethernet_header, ether_type), &ether_type, 2) ||
	    ether_type != skb->protocol)
		return drop(DROP_UNKNOWN_IDENTIFIER);
	if (skb->protocol == bpf_htons(ETH_P_IP) && way->interfaces[0])
		return bpf_redirect_neigh(way->interfaces[0], 0, 0, 0);
	if (skb->protocol != bpf_htons(ETH_P_IPV6) || !way->interfaces[1])
		return drop(DROP_UNKNOWN_IDENTIFIER);
	/* Behind the family no word of eight bytes may begin on the stack. */
#pragma unroll
	for (int word = 0; word < 4; word++)
		next.ipv6_nh[word] = ((const __u32 *)way->gateway)[word];
	if (!(next.ipv6_nh[0] | next.ipv6_nh[1] | next.ipv6_nh[2] | next.ipv6_nh[3]) &&
	    bpf_skb_load_bytes(skb, destination, next.ipv6_nh, sizeof(next.ipv6_nh)))
		return drop(DROP_MALFORMED);
	return bpf_redirect_neigh(way->interfaces[1], &next, sizeof(next), 0);
}

SEC("tcx/egress")
int transmit(struct __sk_buff *skb)
{
	const struct application *application;
	struct fib_key key = { .tenant = device.tenant };
	const struct tenant *tenant;
	struct parcel parcel = {};
	struct fib_entry *entry;
	__u64 unknown;
	__u32 path;
	int verdict;

	tenant = at(tenants, device.tenant);
	if (!tenant)
		return drop(DROP_UNKNOWN_TENANT);
	application = at(applications, tenant->application & 255);
	if (!application || !identify(skb, &key, &parcel))
		return drop(DROP_MALFORMED);
	parcel.application = tenant->application;
	parcel.vni = tenant->vni;
	parcel.source = application->own;
	parcel.ttl = application->ttl;
	entry = bpf_map_lookup_elem(&fib, &key);
	if (entry) {
		parcel.destination = entry->node;
		path = entry->path;
		__sync_fetch_and_add(&entry->packets, 1);
		__sync_fetch_and_add(&entry->bytes, skb->len);
	} else {
		count_missed(device.tenant, skb->len);
		/* Node and path in one read, since the agent may be writing them. */
		copy(&unknown, &tenant->unknown_node, sizeof(unknown));
		parcel.destination = ((const __u32 *)&unknown)[0];
		if (!parcel.destination)
			return fall_back(skb, tenant);
		path = ((const __u32 *)&unknown)[1];
	}
	parcel.room = exceeded(skb, &parcel, path);
	/* Copies for those of a group whom it fits leave all the same. */
	if (parcel.room && !leads_to_many(path)) {
		verdict = drop(DROP_TOO_BIG);
	} else {
		count_sent(device.tenant, skb->len);
		verdict = follow(skb, path, &parcel, application, true);
	}
	return parcel.room ? tell_host(skb, &parcel) : verdict;
}

/* What a packet carries that does not say so itself. */
inline enum payload carried(struct __sk_buff *skb, const struct parcel *parcel, __u32 driver)
{
	__u8 first;

	if (takes(driver, PAYLOAD_ETHERNET))
		return PAYLOAD_ETHERNET;
	return !bpf_skb_load_bytes(skb, parcel->outer, &first, 1) && first >> 4 == 6 ? PAYLOAD_IPV6 : PAYLOAD_IPV4;
}

SEC("tcx/ingress")
int receive(struct __sk_buff *skb)
{
	const struct application *application;
	struct parcel parcel = {};
	struct recent *recent;
	__u32 path = 0, segmenter;
	int reason, verdict;

	/* What is of a VLAN is for the device of that, which has this program, too. */
	if (skb->vlan_tci & VLAN_ID)
		return NEXT;
	reason = arrive(skb, &parcel, &recent);
	if (reason)
		return reason == NOT_OURS ? NEXT : drop(-reason);
	application = at(applications, parcel.application & 255);
	if (!application || !application->own)
		return drop(DROP_UNKNOWN_TENANT);
	if (parcel.payload == PAYLOAD_UNSAID)
		parcel.payload = carried(skb, &parcel, application->driver);
	if (!parcel.placed) {
		reason = place(skb, &parcel, application, &path);
		if (reason)
			return drop(-reason);
	}
	if (parcel.source == application->own)
		return drop(DROP_UNKNOWN_SOURCE);
	segmenter = segmenter_of(skb, &parcel, application, recent);
	if (segmenter) {
		skb->tc_index = GUARD_PASSES;
		return bpf_redirect(segmenter, 0);
	}
	if (parcel.destination == application->own)
		return parcel.payload == PAYLOAD_CONTROL ? heed(skb, &parcel) : deliver(skb, &parcel, recent, false);
	if (parcel.ttl <= 1)
		return drop(DROP_EXPIRED);
	parcel.ttl -= 1;
	if (parcel.placed && !onward(&parcel, recent, &path))
		return drop(DROP_NO_ROUTE);
	if (parcel.payload == PAYLOAD_CONTROL && !is_told(path, parcel.hash))
		return heed(skb, &parcel);
	if (!parcel.placed) {
		parcel.room = exceeded(skb, &parcel, path);
		verdict = parcel.room ? drop(DROP_TOO_BIG) : follow(skb, path, &parcel, application, false);
		return parcel.room ? answer_host(skb, &parcel) : verdict;
	}
	/* Once more, at most, for the answer to what is too big. */
#pragma nounroll
	for (int packet = 0; packet < 2; packet++) {
		verdict = follow(skb, path, &parcel, application, false);
		if (!parcel.room || !answer_source(skb, &parcel, application) || !path_of(&parcel, &path))
			break;
	}
	return verdict;
}

SEC("xdp")
int relay(struct xdp_md *context)
{
	const struct ethernet_header *frame = POINTER(xdp_md, context, data);

	if ((void *)(frame + 1) > POINTER(xdp_md, context, data_end))
		return XDP_PASS;
	switch (frame->ether_type) {
	case bpf_htons(ETH_P_IP):
		return pass_on(context, false);
	case bpf_htons(ETH_P_IPV6):
		return pass_on(context, true);
	}
	return XDP_PASS;
}

/* Whether what is sent to ovstack's port is that, of an application of this node: it may be an answer to who asked from there. */
inline bool is_ovstack(struct __sk_buff *skb, __u32 shim)
{
	const struct application *application;
	struct ovstack_header header ON_STACK;

	if (bpf_skb_load_bytes(skb, shim, &header, sizeof(header)) || header.version != OVSTACK_VERSION)
		return false;
	application = at(applications, header.application);
	return application && application->own;
}

/* A program of this host that sends what only the overlay may, from a locator of this node, would speak in the node's name; in an
 * encapsulation that nobody else speaks, from any address but those that this host forwards for, in another's. */
SEC("tcx/egress")
int guard(struct __sk_buff *skb)
{
	struct endpoint_key endpoint = {};
	struct parcel parcel = {};
	struct peer_key key = {};
	__u32 shim;

	if (skb->tc_index == GUARD_PASSES)
		return NEXT;
	shim = read_outer(skb, &parcel, &key);
	if (!shim)
		return NEXT;
	endpoint.protocol_port = key.protocol_port;
	if (!skb->ingress_ifindex && bpf_map_lookup_elem(&endpoints, &endpoint) && is_ovstack(skb, shim))
		return drop(DROP_FORGED);
	__builtin_memcpy(endpoint.own, key.locator, 16);
	return bpf_map_lookup_elem(&endpoints, &endpoint) ? drop(DROP_FORGED) : NEXT;
}

char _license[] SEC("license") = "Dual MIT/GPL";
