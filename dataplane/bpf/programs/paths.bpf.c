/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Path control's programs. Each reads as a packet's walk.
 *
 *   steer     leaves a host:      flow, or prefix ─► set ─► flow's list ─► stack before the packet ─► its device
 *   release   held, and let go:   ─► its device again, where `steer` knows it by its mark
 *   again     cut to segments:    ─► its device again
 *   relay     comes to a relay:   for it, and from the shared source? ─► one header less ─► the kernel's routing
 *                                 too long for the next link under its stack? ─► its sender is told
 *   border    comes from outside: says it is from the shared source? ─► dropped
 */
#include "choose_list.h"
#include "count_flow.h"
#include "cut.h"
#include "find_set.h"
#include "flow.h"
#include "hold.h"
#include "narrow.h"
#include "pop_header.h"
#include "push_stack.h"
#include "tell.h"

SEC("tcx/egress")
int steer(struct __sk_buff *skb)
{
	struct packet packet ON_STACK;
	struct flow_key key ON_STACK;
	const struct list_choice *choice;
	const struct stack *stack;
	struct flow_place place;
	struct list_set *set;
	struct flow *known;
	union found found;
	__u32 slot, hash, list, most, cutter, bytes = skb->len;
	int reason;

	/* What has its stack already goes on with it. */
	if (!read_front(skb, &packet) || is_from_shared(&packet) || stays_on_link(skb, &packet))
		return NEXT;
	flow_of(skb, &packet, &key);
	hash = hash_of(&key, packet.family);
	known = bpf_map_lookup_elem(&flows, &key);
	if (known && is_over(known)) {
		known = 0;
		bpf_map_delete_elem(&moves, &key);
	}
	if (!find_set(&packet, known, hash, &found))
		return NEXT;
	slot = found.set;
	set = at(sets, slot);
	if (!set || !set->count)
		return NEXT;
	list = choose_list(skb, slot, set, &key, known, hash);
	if (list == HELD)
		return known ? to_holder(skb, known) : DROPPED;
	choice = &set->choices[list & (PATHS_LISTS - 1)];
	stack = at(stacks, choice->stack);
	if (!stack)
		return NEXT;
	place = (struct flow_place){ .found = found, .list = list, .name = choice->name };
	/* Also by a list without relays, where others have some: a flow may come to them. */
	if (set->tallest) {
		most = longest(skb);
		reason = misfit(skb, set->tallest, stack, &packet, most);
		cutter = cutter_of(skb, stack, &packet, reason);
		if (stack->count && !reason && !cutter) {
			reason = push_stack(skb, stack, &packet, hash);
			/* A list inside ovstack looks like the overlay's. */
			if (!reason)
				skb->tc_index = GUARD_PASSES;
		}
		if (reason || cutter) {
			if (set->selector == SELECTOR_ROUND_ROBIN && (!known || known->set != slot))
				keep_turn(&key, known, &place);
			if (cutter)
				return bpf_redirect(cutter, 0);
			drop_of_path(reason);
			/* Nothing comes back to the shared source, so that it is said here what fits. */
			return reason == PATH_DROP_TOO_BIG && most > set->tallest && !is_made_before(skb, stack, &packet) ?
				       tell_sender(skb, most - set->tallest, false) : DROPPED;
		}
	}
	count_flow(&key, known, &place, choice->stack, bytes);
	return NEXT;
}

/* What the holder lets go leaves by the device that it was to leave by. */
SEC("tcx/ingress")
int release(struct __sk_buff *skb)
{
	const struct holder *holder = at(holders, 0);

	if (!holder || !holder->device)
		return DROPPED;
	skb->mark = steering.mark;
	return bpf_redirect(holder->device, 0);
}

/* What was cut leaves by the device that it was to leave by. */
SEC("tcx/ingress")
int again(struct __sk_buff *skb)
{
	const struct cutter *cutter = at(cutters, 0);

	return cutter && cutter->device ? bpf_redirect(cutter->device, 0) : DROPPED;
}

SEC("tcx/ingress")
int relay(struct __sk_buff *skb)
{
	struct packet packet ON_STACK;
	struct relay_key key ON_STACK;
	const __u32 *taken;
	int reason;

	if (!read_front(skb, &packet))
		return NEXT;
	destination_of(&packet, key.own);
	source_of(&packet, key.source);
	taken = bpf_map_lookup_elem(&relays, &key);
	if (taken) {
		reason = pop_header(skb, &packet, *taken);
		if (reason)
			return drop_of_path(reason);
	} else if (!is_from_shared(&packet)) {
		return NEXT;
	}
	/* Nobody is at the headers' source to be told what the next link takes, but somebody is at that of what they carry. */
	return is_short(skb) ? NEXT : tell_of_narrow(skb);
}

/* The shared source is nobody's address, and only hosts inside put it before packets. */
SEC("tcx/ingress")
int border(struct __sk_buff *skb)
{
	struct packet packet ON_STACK;

	return read_front(skb, &packet) && is_from_shared(&packet) ? drop_of_path(PATH_DROP_FORGED) : NEXT;
}

char _license[] SEC("license") = "Dual MIT/GPL";
