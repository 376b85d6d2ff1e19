/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The tables; tables.rs says what stands in them. Sizes are the agent's to change when it loads the programs. */
#pragma once

#include "base.h"

/* From identifiers to where they are. */
TABLE(fib, BPF_MAP_TYPE_HASH, struct fib_key, struct fib_entry, 65536, BPF_F_NO_PREALLOC);
/* From nodes and groups to paths. */
TABLE(nodes, BPF_MAP_TYPE_HASH, struct node_key, __u32, 16384, BPF_F_NO_PREALLOC);
/* Each a kind and an index. */
TABLE(paths, BPF_MAP_TYPE_ARRAY, __u32, __u64, 4096, 0);
/* What fits each path, as relays said: a second in the upper half, bytes in the lower. */
TABLE(limits, BPF_MAP_TYPE_ARRAY, __u32, __u64, 4096, 0);
TABLE(path_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct count, 4096, 0);
/* By the paths of next hops themselves. */
TABLE(hop_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct count, 4096, 0);
/* By the wires, each of which is a node's pair of locators. */
TABLE(wire_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct count, 4096, 0);
TABLE(hops, BPF_MAP_TYPE_ARRAY, __u32, struct hop, 4096, 0);
TABLE(groups, BPF_MAP_TYPE_ARRAY, __u32, struct group, 256, 0);
TABLE(wires, BPF_MAP_TYPE_ARRAY, __u32, struct wire, 4096, 0);
/* Each an index of a slot. */
TABLE(adjacencies, BPF_MAP_TYPE_ARRAY, __u32, __u64, 256, 0);
TABLE(adjacency_slots, BPF_MAP_TYPE_ARRAY, __u32, struct adjacency, 512, 0);
TABLE(applications, BPF_MAP_TYPE_ARRAY, __u32, struct application, 256, 0);
TABLE(tenants, BPF_MAP_TYPE_ARRAY, __u32, struct tenant, SIZE_TENANTS, 0);
TABLE(segmenters, BPF_MAP_TYPE_ARRAY, __u32, struct segmenter, 1, 0);
TABLE(ways_out, BPF_MAP_TYPE_ARRAY, __u32, struct way_out, 16, 0);
TABLE(tenant_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct tenant_count, SIZE_TENANTS, 0);
TABLE(vnis, BPF_MAP_TYPE_HASH, struct vni_key, __u32, SIZE_TENANTS, BPF_F_NO_PREALLOC);
/* Pairs of a known locator and an own one. */
TABLE(peers, BPF_MAP_TYPE_HASH, struct peer_key, struct peer, 65536, BPF_F_NO_PREALLOC);
/* Own locators alone, to tell strangers from what is none of the overlay's. */
TABLE(endpoints, BPF_MAP_TYPE_HASH, struct endpoint_key, __u32, 4096, BPF_F_NO_PREALLOC);
/* Devices by which the overlay's packets may come in, and those below them. */
TABLE(entrances, BPF_MAP_TYPE_HASH, __u32, __u32, 4096, BPF_F_NO_PREALLOC);
/* Whose a locator is, for those who ask. */
TABLE(locators, BPF_MAP_TYPE_HASH, struct locator_key, __u32, 16384, BPF_F_NO_PREALLOC);
TABLE(drops, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64, DROP_REASONS, 0);
