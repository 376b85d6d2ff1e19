/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What every program starts from. */
#pragma once

#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>

#include "tables.h"
#include "wire.h"

/* The numbers of clsact and of TCX are the same: the next program decides, the kernel goes on, or the packet is gone. */
#define NEXT TC_ACT_UNSPEC
#define DROPPED TC_ACT_SHOT

/* How the overlay's guard, and its entrance for what was cut, know what programs of Plait send: no socket can write it. */
#define GUARD_PASSES 0x504c

#define inline static inline __attribute__((always_inline))

/* Protocols behind an IP header. */
#define PROTOCOL_ICMP 1
#define PROTOCOL_IPV4 4
#define PROTOCOL_TCP 6
#define PROTOCOL_UDP 17
#define PROTOCOL_IPV6 41
#define PROTOCOL_ROUTING 43
#define PROTOCOL_GRE 47
#define PROTOCOL_ICMPV6 58

/* What VXLAN-GPE and NSH carry. */
#define NEXT_IPV4 1
#define NEXT_IPV6 2
#define NEXT_ETHERNET 3
#define NEXT_NSH 4
#define NEXT_MPLS 5

/* The most that its six bits say. */
#define NSH_MOST_TTL 63

#define ETHERNET ((__u32)sizeof(struct ethernet_header))
#define IPV4 ((__u32)sizeof(struct ipv4_header))
#define IPV6 ((__u32)sizeof(struct ipv6_header))
#define UDP ((__u32)sizeof(struct udp_header))

/* A table of the programs. */
#define TABLE(name, kind, key_type, value_type, entries, flags)                                                       \
	struct {                                                                                                      \
		__uint(type, kind);                                                                                   \
		__uint(max_entries, entries);                                                                         \
		__uint(map_flags, flags);                                                                             \
		__type(key, key_type);                                                                                \
		__type(value, value_type);                                                                            \
	} name SEC(".maps")

/* An index of an array map. What is beyond it is a table that its agent did not keep. */
#define at(map, index) ({ __u32 __index = (index); bpf_map_lookup_elem(&(map), &__index); })

/* Written out, since a compiler that takes these for numbers of 32 bits cuts pointers short when it reads them once. */
#define POINTER(type, context, field)                                                                                 \
	({                                                                                                            \
		void *__pointer;                                                                                      \
		asm volatile("%0 = *(u32 *)(%1 + %2)"                                                                 \
			     : "=r"(__pointer)                                                                        \
			     : "r"(context), "i"(__builtin_offsetof(struct type, field)));                            \
		__pointer;                                                                                            \
	})

inline void *data(const struct __sk_buff *skb)
{
	return POINTER(__sk_buff, skb, data);
}

inline void *data_end(const struct __sk_buff *skb)
{
	return POINTER(__sk_buff, skb, data_end);
}

/* Makes sure that so many bytes can be read and written in place. Pointers into the packet do not survive it. */
inline bool reach(struct __sk_buff *skb, __u32 bytes)
{
	if (data(skb) + bytes <= data_end(skb))
		return true;
	return bytes <= skb->len && !bpf_skb_pull_data(skb, bytes) && data(skb) + bytes <= data_end(skb);
}

/* The stack alone is read and written in words only where they may begin. */
#define ON_STACK __attribute__((aligned(8)))

/* Copies bytes whose number the compiler knows, in words: of bytes it does not know the alignment of, it would copy one
 * after the other, though all machines that matter here read words wherever they lie. */
inline void copy(void *to, const void *from, const __u32 bytes)
{
	__u32 at = 0;

#pragma unroll
	for (; at + 8 <= bytes; at += 8)
		*(__u64 *)(to + at) = *(const __u64 *)(from + at);
	if (at + 4 <= bytes) {
		*(__u32 *)(to + at) = *(const __u32 *)(from + at);
		at += 4;
	}
	if (at + 2 <= bytes) {
		*(__u16 *)(to + at) = *(const __u16 *)(from + at);
		at += 2;
	}
	if (at < bytes)
		*(__u8 *)(to + at) = *(const __u8 *)(from + at);
}

/* Keeps a number below 1024 in the eyes of the verifier: what a comparison said of it may be lost where it counts, and before
 * Linux 6.8 what is read from a table twice is two numbers. */
inline __u64 below_1024(__u64 number)
{
	asm volatile("%0 &= 1023" : "+r"(number));
	return number;
}

/* Reads bytes whose number the compiler knows: in place where they lie in the packet's first part, which costs no call. */
inline bool read_bytes(struct __sk_buff *skb, __u32 offset, void *to, const __u32 bytes)
{
	const void *from = data(skb) + below_1024(offset);

	if (offset >= 1024 || from + bytes > data_end(skb))
		return !bpf_skb_load_bytes(skb, offset, to, bytes);
	copy(to, from, bytes);
	return true;
}

/* An IPv4 address as one of IPv6: RFC 4291 section 2.5.5.2. */
inline void mapped(__u8 address[16], const __u8 v4[4])
{
	__u32 *words = (__u32 *)address;

	words[0] = 0;
	words[1] = 0;
	words[2] = bpf_htonl(0xffff);
	words[3] = *(const __u32 *)v4;
}

/* A sum of 16-bit words, or of 32-bit ones as the kernel's helper gives it, in 16 bits. */
inline __u16 folded(__u32 sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return sum;
}

inline __u32 rotated(__u32 word, int bits)
{
	return word << bits | word >> (32 - bits);
}

/* The last step of Bob Jenkins' lookup3, which mixes three words into one. */
inline __u32 mixed(__u32 a, __u32 b, __u32 c)
{
	c ^= b;
	c -= rotated(b, 14);
	a ^= c;
	a -= rotated(c, 11);
	b ^= a;
	b -= rotated(a, 25);
	c ^= b;
	c -= rotated(b, 16);
	a ^= c;
	a -= rotated(c, 4);
	b ^= a;
	b -= rotated(a, 14);
	c ^= b;
	c -= rotated(b, 24);
	return c;
}
