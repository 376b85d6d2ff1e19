/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Who a packet is from and for, of encapsulations that do not say it.
 *
 * Choice: such a packet is for this node, unless its identifier is known at another: then this node sends it on, so that
 * a path may change its encapsulation at each hop. What is for a group is never sent on, since nobody could tell who
 * has it already; and nothing goes back to where it came from. */
#pragma once

#include "count.h"
#include "driver.h"
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
	if (!tenant || !takes(tenant->driver, parcel->payload))
		return -DROP_UNKNOWN_TENANT;
	if (!find(skb, tenant, &key, parcel))
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
