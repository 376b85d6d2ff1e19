TABLE(fib, BPF_MAP_TYPE_HASH, struct fib_key, struct fib_entry
TABLE(nodes, BPF_MAP_TYPE_HASH, struct node_key, __u32
TABLE(paths, BPF_MAP_TYPE_ARRAY, __u32, __u64
TABLE(limits, BPF_MAP_TYPE_ARRAY, __u32, __u64
TABLE(path_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct count
TABLE(hop_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct count
TABLE(wire_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct count
TABLE(hops, BPF_MAP_TYPE_ARRAY, __u32, struct hop
TABLE(wires, BPF_MAP_TYPE_ARRAY, __u32, struct wire
TABLE(tenants, BPF_MAP_TYPE_ARRAY, __u32, struct tenant
TABLE(tenant_counts, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, struct tenant_count
TABLE(vnis, BPF_MAP_TYPE_HASH, struct vni_key, __u32
TABLE(drops, BPF_MAP_TYPE_PERCPU_ARRAY, __u32, __u64

#define DROP_MALFORMED 1
#define DROP_VERSION 2
#define DROP_UNKNOWN_LOCATOR 3
#define DROP_UNKNOWN_SOURCE 4
#define DROP_UNKNOWN_TENANT 5
#define DROP_NO_ROUTE 6
#define DROP_UNKNOWN_IDENTIFIER 7
#define DROP_EXPIRED 8
#define DROP_TOO_BIG 9
#define DROP_CONGESTION 10
#define DROP_FORGED 11
#define DROP_REFUSED 12
#define DROP_WRONG_DEVICE 13

#define PATH_NOWHERE 0
#define PATH_HOP 1
#define PATH_GROUP 2
#define PATH_OWN 3

#define DRIVER_ETHERNET 1
#define DRIVER_IP 2
#define DRIVER_BITS 3
#define DRIVER_PAYLOAD 4

struct fib_key {
	__u32 tenant;
	__u8 identifier[16];
};
_Static_assert(sizeof(struct fib_key) == 20, "as Rust lays it out");

struct fib_entry {
	__u32 node;
	__u32 path;
	__u32 heard;
	__u32 reserved;
	__u64 packets;
	__u64 bytes;
};
_Static_assert(sizeof(struct fib_entry) == 32, "as Rust lays it out");

struct node_key {
	__u32 application;
	__u32 node;
};
_Static_assert(sizeof(struct node_key) == 8, "as Rust lays it out");

struct hop {
	__u32 node;
	__u32 weights;
	__u32 count;
	__u32 path;
	struct choice choices[8];
};
_Static_assert(sizeof(struct hop) == 80, "as Rust lays it out");

struct wire {
	__u8 header[96];
	__u32 length;
	__u32 sum;
	__u32 adjacency;
	__u32 form;
};
_Static_assert(sizeof(struct wire) == 112, "as Rust lays it out");

struct choice {
	__u32 below;
	__u32 wire;
};
_Static_assert(sizeof(struct choice) == 8, "as Rust lays it out");

struct tenant {
	__u32 application;
	__u32 vni;
	__u32 interface;
	__u32 driver;
	__u32 unknown_node;
	__u32 unknown_path;
	__u8 address[6];
	__u8 prefix[2];
	__u32 in_place;
	__u32 way_out;
	__u32 offset;
	__u32 reserved;
	__u8 mask[16];
};
_Static_assert(sizeof(struct tenant) == 64, "as Rust lays it out");

struct vni_key {
	__u32 application;
	__u32 vni;
};
_Static_assert(sizeof(struct vni_key) == 8, "as Rust lays it out");

struct count {
	__u64 packets;
	__u64 bytes;
};
_Static_assert(sizeof(struct count) == 16, "as Rust lays it out");

struct tenant_count {
	struct count sent;
	struct count received;
	struct count missed;
};
_Static_assert(sizeof(struct tenant_count) == 48, "as Rust lays it out");
