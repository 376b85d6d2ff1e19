/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* From a path to the wire, for what begins here and for what passes. */
#pragma once

#include "encapsulate.h"
#include "too_big.h"

/* Where a packet's destination is reached. */
inline bool path_of(const struct parcel *parcel, __u32 *path)
{
	struct node_key key = { .application = parcel->application, .node = parcel->destination };
	const __u32 *known = bpf_map_lookup_elem(&nodes, &key);

	if (known)
		*path = *known;
	return known;
}

/* The same for a packet that came in, as it was lately if it was asked for. */
inline bool onward(const struct parcel *parcel, struct recent *recent, __u32 *path)
{
	if (recent->onward.application == parcel->application && recent->onward.node == parcel->destination) {
		*path = recent->path;
		return true;
	}
	if (!path_of(parcel, path))
		return false;
	recent->onward.application = parcel->application;
	recent->onward.node = parcel->destination;
	recent->path = *path;
	return true;
}

/* One of a hop's wires, by weight; a flow's hash always names the same. */
inline __u32 chosen(const struct hop *hop, __u32 hash)
{
	__u32 point = ((__u64)hash * hop->weights) >> 32;
	__u32 wire = hop->choices[0].wire;

	if (hop->count <= 1)
		return wire;
#pragma unroll
	for (int i = SIZE_CHOICES - 1; i >= 0; i--)
		if (i < hop->count && point < hop->choices[i].below)
			wire = hop->choices[i].wire;
	return wire;
}

/* The header and the neighbour of a hop, and what it is counted by; false where there are none. */
inline bool find_way(__u32 index, __u32 hash, struct way *way)
{
	const struct hop *hop = at(hops, index);
	__u64 *slot;

	if (!hop || !hop->count)
		return false;
	way->path = hop->path;
	way->number = chosen(hop, hash);
	way->wire = at(wires, way->number);
	if (!way->wire)
		return false;
	slot = at(adjacencies, way->wire->adjacency);
	if (!slot)
		return false;
	way->adjacency = at(adjacency_slots, *slot);
	return way->adjacency && way->adjacency->interface;
}

/* Whether messages of the overlay are understood at a path's next hop: only where it is spoken to in ovstack. What leads nowhere is
 * counted as such by who goes there. */
inline bool is_told(__u32 path, __u32 hash)
{
	const __u64 *word = at(paths, path);
	struct way way;

	if (!word || *word >> 32 != PATH_HOP || !find_way(*word, hash, &way))
		return true;
	return carries(way.wire->form & ~FORM_IPV6, PAYLOAD_CONTROL);
}

/* Writes the outer header for a hop. Returns the interface to leave by, or why not, as a negative number. */
inline int address_to(struct __sk_buff *skb, __u32 index, struct parcel *parcel)
{
	__u32 room, bytes = skb->len - parcel->outer;
	const struct wire *wire;
	struct way way;

	if (!find_way(index, parcel->hash, &way))
		return -DROP_NO_ROUTE;
	wire = way.wire;
	room = way.adjacency->mtu + ETHERNET;
	room = room > wire->length ? room - wire->length : 0;
	if (!fits(skb, parcel, room)) {
		parcel->room = room;
		return -DROP_TOO_BIG;
	}
	if (!carries(wire->form & ~FORM_IPV6, parcel->payload))
		return -DROP_REFUSED;
	if (!make_room(skb, parcel, wire) || !write_outer(skb, wire, way.adjacency, parcel))
		return -DROP_REFUSED;
	count_hop(&way, bytes);
	skb->tc_index = GUARD_PASSES;
	return way.adjacency->interface;
}

/* The same for what came here, and for copies: a function of its own, which a verifier looks at once, and not at each place anew.
 * What begins here has it in line, where most of it is known. There is always a parcel, but the verifier wants that asked. */
__attribute__((noinline)) int address_on(struct __sk_buff *skb, __u32 index, struct parcel *parcel)
{
	return parcel ? address_to(skb, index, parcel) : -DROP_NO_ROUTE;
}

/* A number that a verifier knows nothing of. Before Linux 6.7 it looks at a loop's body once, with what is known before the loop,
 * and takes out what cannot happen then: that an earlier copy wears a header, for one. */
inline __u32 unknown(struct __sk_buff *skb, __u32 number)
{
	__u32 length = skb->len;

	asm volatile("" : "+r"(length));
	return number + (skb->len - length);
}

/* The next hops of a group, one after the other. A copy leaves when the next one is asked for, so that the last needs
 * none. */
struct copies {
	struct __sk_buff *skb;
	const struct group *group;
	struct parcel parcel;
	/* Of a packet that begins here, as its device has it. */
	struct ethernet_header frame ON_STACK;
	/* The node it came from; 0 of a packet that begins here. */
	__u32 previous;
	/* Whether it goes on from there. */
	__u32 passes;
	__u32 interface;
};

/* Both ends of a branch must want it: where nodes differ on the tree, copies would come back manifold. */
static long find_previous(__u32 i, struct copies *copies)
{
	const struct hop *hop;

	if (i >= SIZE_GROUP)
		return 1;
	hop = at(hops, copies->group->hops[i]);
	if (!hop || hop->node != copies->previous)
		return 0;
	copies->passes = true;
	return 1;
}

static long send_copy(__u32 i, struct copies *copies)
{
	const struct hop *hop;
	__u32 index, least;
	int interface;

	if (i >= SIZE_GROUP)
		return 1;
	index = copies->group->hops[i];
	hop = at(hops, index);
	/* Not back to where it came from. */
	if (!hop || hop->node == copies->previous)
		return 0;
	if (copies->interface)
		bpf_clone_redirect(copies->skb, copies->interface, 0);
	copies->interface = 0;
	least = copies->parcel.room;
	interface = address_on(copies->skb, index, &copies->parcel);
	/* Of several that it is too big for, the one with the least room counts. */
	if (least && (!copies->parcel.room || least < copies->parcel.room))
		copies->parcel.room = least;
	if (interface > 0)
		copies->interface = interface;
	else
		drop(-interface);
	return 0;
}
