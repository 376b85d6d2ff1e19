/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Path control's programs. Each reads as a packet's walk.
 *
 *   steer     leaves a host:      prefix ─► set ─► flow's list ─► stack before the packet ─► its device
 *   relay     comes to a relay:   for it, and from the shared source? ─► one header less ─► the kernel's routing
 *   border    comes from outside: says it is from the shared source? ─► dropped
 */
#include "choose_list.h"
#include "pop_header.h"
#include "push_stack.h"
#include "tell.h"

inline bool read_ipv4(struct __sk_buff *skb, struct ipv4_header *ip)
{
	return skb->protocol == bpf_htons(ETH_P_IP) && !bpf_skb_load_bytes(skb, ETHERNET, ip, IPV4) &&
	       ip->version_ihl >> 4 == 4;
}

inline bool is_from_shared(const struct ipv4_header *ip)
{
	return *(const __u32 *)ip->source == *(const volatile __u32 *)steering.source;
}

SEC("tcx/egress")
int steer(struct __sk_buff *skb)
{
	struct prefix_key prefix = { .bits = 32 };
	struct ipv4_header ip ON_STACK;
	struct flow_key key ON_STACK;
	const struct stack *stack;
	struct list_set *set;
	struct flow *known;
	__u32 *number, slot, hash, list, index, most, bytes = skb->len;
	int reason;

	/* What has its stack already goes on with it. */
	if (!read_ipv4(skb, &ip) || is_from_shared(&ip))
		return NEXT;
	copy(prefix.address, ip.destination, 4);
	number = bpf_map_lookup_elem(&prefixes, &prefix);
	if (!number)
		return NEXT;
	slot = *number;
	set = at(sets, slot);
	if (!set || !set->count)
		return NEXT;
	flow_of(skb, &ip, &key);
	hash = hash_of(&key);
	known = bpf_map_lookup_elem(&flows, &key);
	list = choose_list(slot, set, &key, known, hash);
	index = set->choices[list & (PATHS_LISTS - 1)].stack;
	stack = at(stacks, index);
	if (!stack)
		return NEXT;
	if (stack->count) {
		most = longest(skb);
		reason = push_stack(skb, stack, &ip, hash, most);
		if (reason) {
			drop_of_path(reason);
			if (set->selector == SELECTOR_ROUND_ROBIN && (!known || known->set != slot))
				keep_turn(&key, slot, list);
			/* Nothing comes back to the shared source, so that it is said here what fits. */
			return reason == PATH_DROP_TOO_BIG && most > stack->length ?
				       tell_sender(skb, most - stack->length) : DROPPED;
		}
	}
	count_flow(&key, known, slot, list, index, bytes);
	return NEXT;
}

SEC("tcx/ingress")
int relay(struct __sk_buff *skb)
{
	struct ipv4_header ip ON_STACK;
	struct relay_key key;
	const __u32 *taken;
	int reason;

	if (!read_ipv4(skb, &ip))
		return NEXT;
	copy(key.own, ip.destination, 4);
	copy(key.source, ip.source, 4);
	taken = bpf_map_lookup_elem(&relays, &key);
	if (!taken)
		return NEXT;
	reason = pop_header(skb, &ip, *taken);
	return reason ? drop_of_path(reason) : NEXT;
}

/* The shared source is nobody's address, and only hosts inside put it before packets. */
SEC("tcx/ingress")
int border(struct __sk_buff *skb)
{
	struct ipv4_header ip ON_STACK;

	return read_ipv4(skb, &ip) && is_from_shared(&ip) ? drop_of_path(PATH_DROP_FORGED) : NEXT;
}

char _license[] SEC("license") = "Dual MIT/GPL";
