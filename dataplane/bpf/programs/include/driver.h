/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The drivers above the overlay: what a tenant's device carries, and what of it names where it goes.
 *
 * A driver is a header in drivers/ with four functions, and a line below. NAME is its name, and its number in the tables
 * DRIVER_NAME (tables.rs; the reference walk has the same as a trait):
 *
 *   bool NAME_takes(payload)                        whether a packet is for such a device
 *   bool NAME_identify(skb, frame, key, parcel)     on a device: its identifier, what it carries, its flow
 *   bool NAME_find(skb, tenant, key, parcel)        on its way, of headers that name no nodes: identifier and flow once more
 *   int  NAME_hear(frame, tenant, parcel)           at its end: 0, UNLEARNED, or why it must not be, as a negative number
 */
#pragma once

#include "drivers/bits.h"
#include "drivers/ethernet.h"
#include "drivers/ip.h"
#include "drivers/payload.h"

/* Who has one more defines it before. */
#ifndef MORE_DRIVERS
#define MORE_DRIVERS(EACH)
#endif

#define DRIVERS(EACH)                                                                                                 \
	EACH(ETHERNET, ethernet)                                                                                      \
	EACH(IP, ip)                                                                                                  \
	EACH(BITS, bits)                                                                                              \
	EACH(PAYLOAD, payload)                                                                                        \
	MORE_DRIVERS(EACH)

inline bool takes(__u32 driver, enum payload payload)
{
#define TAKES(NUMBER, name)                                                                                           \
	case DRIVER_##NUMBER:                                                                                         \
		return name##_takes(payload);
	switch (driver) {
		DRIVERS(TAKES)
	}
	return false;
}

/* By the constants of the device that a copy of the program serves: of the drivers one is left. */
inline bool identify(struct __sk_buff *skb, struct fib_key *key, struct parcel *parcel)
{
	const struct ethernet_header *frame;

	/* As much as any driver looks at; of a packet that is shorter, all. */
	if (!reach(skb, ETHERNET + IPV6) && !reach(skb, ETHERNET + IPV4) && !reach(skb, ETHERNET))
		return false;
	frame = data(skb);
	if ((void *)(frame + 1) > data_end(skb))
		return false;
	parcel->ecn = ecn_of(skb, frame->ether_type);
#define IDENTIFY(NUMBER, name)                                                                                        \
	case DRIVER_##NUMBER:                                                                                         \
		return name##_identify(skb, frame, key, parcel);
	switch (device.driver) {
		DRIVERS(IDENTIFY)
	}
	return false;
}

inline bool find(struct __sk_buff *skb, const struct tenant *tenant, struct fib_key *key, struct parcel *parcel)
{
#define FIND(NUMBER, name)                                                                                            \
	case DRIVER_##NUMBER:                                                                                         \
		return name##_find(skb, tenant, key, parcel);
	switch (tenant->driver) {
		DRIVERS(FIND)
	}
	return false;
}

inline int hear(__u32 driver, const struct ethernet_header *frame, __u32 tenant, const struct parcel *parcel)
{
#define HEAR(NUMBER, name)                                                                                            \
	case DRIVER_##NUMBER:                                                                                         \
		return name##_hear(frame, tenant, parcel);
	switch (driver) {
		DRIVERS(HEAR)
	}
	return 0;
}
