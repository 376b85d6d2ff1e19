/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the relay in a driver is measured beside, and what ends a packet's way for both.
 *
 *   reflect   the least that a driver does with a packet that leaves again: by the device that it came by
 *   forward    what a network card does in any case: what comes leaves by another device
 *   swallow    the other end of what is measured up to its device: what comes is counted
 *   restore   the other end: makes the packet what it was, and lets go of it, so that its page can be sent once more
 */
#include "base.h"

/* The first bytes of the packet, up to the end of an ovstack header over IPv4: what a relay writes. */
const volatile struct {
	__u8 bytes[SIZE_RELAYED];
} original = {};

SEC("xdp")
int reflect(struct xdp_md *context)
{
	struct ethernet_header *frame = POINTER(xdp_md, context, data);
	__u8 destination[8] ON_STACK, source[8] ON_STACK;

	if ((void *)(frame + 1) > POINTER(xdp_md, context, data_end))
		return XDP_PASS;
	copy(destination, frame->destination, 6);
	copy(source, frame->source, 6);
	copy(frame->destination, source, 6);
	copy(frame->source, destination, 6);
	return XDP_TX;
}

SEC("xdp")
int restore(struct xdp_md *context)
{
	void *front = POINTER(xdp_md, context, data);
	const void *from = (const void *)&original;

	/* The compiler sees noughts there. */
	asm volatile("" : "+r"(from));
	if (front + SIZE_RELAYED <= POINTER(xdp_md, context, data_end))
		copy(front, from, SIZE_RELAYED);
	return XDP_DROP;
}

/* The device that packets are forwarded to. */
TABLE(forwarded_to, BPF_MAP_TYPE_ARRAY, __u32, __u64, 1, 0);

SEC("tcx/ingress")
int forward(struct __sk_buff *skb)
{
	__u64 *device = at(forwarded_to, 0);

	return device && *device ? bpf_redirect(*device, 0) : DROPPED;
}

/* By whatever processor. */
TABLE(swallowed, BPF_MAP_TYPE_ARRAY, __u32, __u64, 1, 0);

SEC("tcx/ingress")
int swallow(struct __sk_buff *skb)
{
	__u64 *count = at(swallowed, 0);

	if (count)
		__sync_fetch_and_add(count, 1);
	return DROPPED;
}

char _license[] SEC("license") = "Dual MIT/GPL";
