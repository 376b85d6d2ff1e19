/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Superpackets that cannot go under a stack as they are: the kernel cuts them.
 *
 *   steer ─► a veth that takes no superpackets ─► its other end: `again` ─► the device, where `steer` meets segments
 *
 * Those of this host are made as they can be; others' come as their senders, or this host's GRO, made them. */
#pragma once

#include "path_maps.h"
#include "push_stack.h"

/* The device by which a packet is cut before it goes on; nought where it goes on at once, or was cut already. Of what others send
 * through this host all packets go by it where superpackets among them would be cut, so that none is overtaken by what comes
 * behind it. */
inline __u32 cutter_of(struct __sk_buff *skb, const struct stack *stack, const struct packet *packet, int misfit)
{
	bool is_passing = !misfit && skb->ingress_ifindex && takes_segments(stack, packet);
	const struct cutter *cutter;
	const struct holder *holder;

	if (misfit != PATH_DROP_SUPERPACKET && !is_passing)
		return 0;
	cutter = at(cutters, 0);
	if (!cutter || !cutter->front || skb->ingress_ifindex == cutter->back)
		return 0;
	/* What was held is cut by the holder. */
	holder = is_passing ? at(holders, 0) : 0;
	return holder && holder->tap == skb->ingress_ifindex ? 0 : cutter->front;
}
