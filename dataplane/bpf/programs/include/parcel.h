/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* A packet on its way through the overlay: what every encapsulation says of it, or what is filled in for those that
 * say less. */
#pragma once

#include "base.h"

enum payload {
	PAYLOAD_ETHERNET,
	PAYLOAD_IPV4,
	PAYLOAD_IPV6,
	/* The application knows. */
	PAYLOAD_UNSAID,
	/* A message of the overlay itself. */
	PAYLOAD_CONTROL,
};

struct parcel {
	/* As in the ovstack header, in the host's order. */
	__u32 application;
	__u32 vni;
	__u32 hash;
	__u32 destination;
	__u32 source;
	__u32 ttl;
	/* What it carries. */
	enum payload payload;
	/* Bytes before the payload; 0 on a device that carries frames. */
	__u32 outer;
	/* ECN and flow of the payload, for the outer header; of a packet on its way the outer header's own. */
	__u32 ecn;
	__u16 flow;
	/* Of a packet that was too big, how many bytes would have fitted. */
	__u32 room;
	/* Whether its header says from which node it is, and for which. */
	bool placed;
	/* The locator it came from; all nought of a packet that begins here. */
	__u8 from[16] __attribute__((aligned(8)));
	/* Whether the kernel has been told that it is encapsulated, which it must not be told twice. */
	__u8 encapsulated;
};

/* How the guard knows what these programs send: no socket can write it. */
#define GUARD_PASSES 0x504c

/* A port for the flow, in network order, of the range that RFC 7348 section 5 recommends. */
inline __u16 flow_port(__u32 hash)
{
	return bpf_htons(0xc000 | ((hash ^ hash >> 16) & 0x3fff));
}
