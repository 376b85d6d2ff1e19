/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the relay in a driver is measured beside, and what ends a packet's way for both.
 *
 *   reflect   the least that a driver does with a packet that leaves again: by the device that it came by
 *   forward    what a network card does in any case: what comes leaves by another device
 *   swallow    the other end of what is measured up to its device: what comes is counted
 *   sight     the same, where what counts is when a packet came first or last, of those for one address and those for another
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

TABLE(sightings, BPF_MAP_TYPE_ARRAY, __u32, struct sighting, SIZE_SIGHTINGS, 0);

/* Which of two addresses: those that are alike behind their first byte, even or odd there. Any other is a third. */
inline __u32 which(const __u8 address[6])
{
	__u8 byte = address[1];

	return address[2] == byte && address[3] == byte && address[4] == byte && address[5] == byte ? byte & 1 : 2;
}

SEC("tcx/ingress")
int sight(struct __sk_buff *skb)
{
	const __u32 port = ETHERNET + IPV4 + __builtin_offsetof(struct udp_header, destination);
	const void *known = (const void *)&original;
	const struct ethernet_header *frame;
	const struct ipv4_header *ip;
	const struct udp_header *udp;
	struct sighting *sighting;
	__u64 now = bpf_ktime_get_ns();
	bool is_alike;

	asm volatile("" : "+r"(known));
	if (!reach(skb, ETHERNET + IPV4 + UDP))
		return NEXT;
	frame = data(skb);
	ip = (const void *)(frame + 1);
	udp = (const void *)(ip + 1);
	if ((void *)(udp + 1) > data_end(skb) || frame->ether_type != bpf_htons(ETH_P_IP) || ip->protocol != PROTOCOL_UDP)
		return NEXT;
	is_alike = udp->destination == *(const __be16 *)(known + port);
	sighting = at(sightings, which(frame->destination) + (is_alike ? 0 : 3));
	if (!sighting)
		return DROPPED;
	if (!sighting->packets)
		sighting->first = now;
	sighting->last = now;
	sighting->packets += 1;
	return DROPPED;
}

char _license[] SEC("license") = "Dual MIT/GPL";
