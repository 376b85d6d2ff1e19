/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Who a packet is from and for, of encapsulations that do not say it.
 *
 * Choice: such a packet is for this node, unless its identifier is known at another: then this node sends it on, so that
 * a path may change its encapsulation at each hop. What is for a group is never sent on, since nobody could tell who
 * has it already; and nothing goes back to where it came from. */
#pragma once

#include "count.h"
#include "identify.h"
#include "parcel.h"

/* The node that a packet was sent here by. */
inline __u32 came_from(const struct parcel *parcel)
{
	struct locator_key key = { .application = parcel->application };
	const __u32 *node;

	__builtin_memcpy(key.address, parcel->from, sizeof(key.address));
	node = bpf_map_lookup_elem(&locators, &key);
	return node ? *node : 0;
}

/* Reads the identifier of what a packet carries, and tells its flow from others. */
inline bool read_identifier(struct __sk_buff *skb, struct parcel *parcel, const struct tenant *tenant,
			    struct fib_key *key)
{
	__u32 words[10];

	switch (parcel->payload) {
	case PAYLOAD_ETHERNET: {
		struct ethernet_header frame ON_STACK;

		if (bpf_skb_load_bytes(skb, parcel->outer, &frame, ETHERNET))
			return false;
		__builtin_memcpy(key->identifier, frame.destination, 6);
		parcel->hash = stations_hash(&frame);
		return true;
	}
	case PAYLOAD_IPV4:
		if (bpf_skb_load_bytes(skb, parcel->outer, words, IPV4))
			return false;
		mapped(key->identifier, (__u8 *)&words[4]);
		masked((__u32 *)key->identifier, 96 + tenant->prefix[0]);
		parcel->hash = mixed(words[3], words[4], words[2] & bpf_htonl(0xff0000));
		return true;
	case PAYLOAD_IPV6:
		if (bpf_skb_load_bytes(skb, parcel->outer, words, IPV6))
			return false;
		__builtin_memcpy(key->identifier, &words[6], 16);
		masked((__u32 *)key->identifier, tenant->prefix[1]);
		parcel->hash = mixed(words[2] ^ words[3] ^ words[4] ^ words[5],
				     words[6] ^ words[7] ^ words[8] ^ words[9], words[0] & bpf_htonl(0xfffff));
		return true;
	default:
		return false;
	}
}

/* Fills in what the header left open; the path is that of another node, if it is for one. */
inline int place(struct __sk_buff *skb, struct parcel *parcel, const struct application *application, __u32 *path)
{
	struct vni_key vni = { .application = parcel->application, .vni = parcel->vni };
	const struct fib_entry *entry;
	const struct tenant *tenant;
	struct fib_key key = {};
	const __u64 *word;
	__u32 *index;

	parcel->source = came_from(parcel);
	parcel->destination = application->own;
	index = bpf_map_lookup_elem(&vnis, &vni);
	tenant = index ? at(tenants, *index) : 0;
	if (!tenant)
		return -DROP_UNKNOWN_TENANT;
	if (!read_identifier(skb, parcel, tenant, &key))
		return -DROP_MALFORMED;
	if (!parcel->flow)
		parcel->flow = flow_port(parcel->hash);
	key.tenant = *index;
	entry = bpf_map_lookup_elem(&fib, &key);
	if (entry && entry->node != parcel->source) {
		word = at(paths, entry->path);
		if (word && *word >> 32 != PATH_GROUP) {
			parcel->destination = entry->node;
			*path = entry->path;
		}
	}
	return 0;
}
