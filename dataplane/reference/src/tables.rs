//! The tables that agents write and programs read, declared once: the build makes C's structures of these lines.
//!
//! ```text
//! identifier ─► FIB ─► path ─► hop ─► wire ─► adjacency
//!              hash    array   array  array   array
//! ```
//!
//! One hash lookup leads from an identifier to a [`FibEntry`]; the rest are array indices, each there so that what many
//! share changes by one write. A path is where a node or group is reached now; a hop is a next hop with its weighted
//! locators; a wire is a whole outer header; an adjacency is the neighbour's hardware address and the interface.
//!
//! Words of the tables `paths` and `adjacencies` are indices of slots that
//! nobody writes while they can be read: a change fills a free slot, then turns the word, which is one store of eight
//! bytes. No packet ever sees half of a change.

use crate::declare::{numbers, reasons, tables};

tables! {
    /// An identifier in the tables of a tenant.
    pub struct FibKey as "fib_key" {
        /// The tenant's number on this node, an index of its table.
        pub tenant: u32,
        /// The bits of the packet that name where it goes, then nought.
        pub identifier: [u8; size::IDENTIFIER as usize],
    }

    /// Where an identifier is.
    pub struct FibEntry as "fib_entry" {
        /// The node or group it is at.
        pub node: u32,
        /// The path there.
        pub path: u32,
        /// When it was last heard from, on the monotonic clock in units of 2^30 ns; nought of one that was configured.
        pub heard: u32,
        /// Nought.
        pub reserved: u32,
        /// Packets sent there.
        pub packets: u64,
        /// Their bytes, without outer headers.
        pub bytes: u64,
    }

    /// When a packet passed somewhere.
    pub struct Stamp as "stamp" {
        /// Nanoseconds on the monotonic clock.
        pub time: u64,
        /// A [`passage`].
        pub passage: u64,
    }

    /// A packet's way from the call that sends it until that is over.
    pub struct Journey as "journey" {
        /// The descriptor of the socket that it was sent by.
        pub socket: u32,
        /// How many stamps it got; those that found no room are counted and not kept.
        pub count: u32,
        /// In their order.
        pub stamps: [Stamp; size::STAMPS as usize],
    }

    /// When packets of a kind came.
    pub struct Sighting as "sighting" {
        /// The first, in nanoseconds on the monotonic clock; nought if none did.
        pub first: u64,
        /// The last.
        pub last: u64,
        /// How many.
        pub packets: u64,
    }

    /// Whose packets get stamps.
    pub struct Traced as "traced" {
        /// The device of the PID namespace that the thread's number is of.
        pub device: u64,
        /// Its inode.
        pub inode: u64,
        /// The thread's number.
        pub thread: u32,
        /// The number of the system call that sends.
        pub call: u32,
    }

    /// A node or group of an application.
    pub struct NodeKey as "node_key" {
        /// The application.
        pub application: u32,
        /// The identity.
        pub node: u32,
    }

    /// A pair of locators, told from others by the hash.
    pub struct Choice as "choice" {
        /// The hash, reduced to the sum of weights, is below this.
        pub below: u32,
        /// The wire.
        pub wire: u32,
    }

    /// A next hop with its weighted locators.
    pub struct Hop as "hop" {
        /// The next hop's identity.
        pub node: u32,
        /// The sum of all weights.
        pub weights: u32,
        /// How many choices there are.
        pub count: u32,
        /// The path of the next hop itself, by which is counted what was sent to it.
        pub path: u32,
        /// By ascending `below`.
        pub choices: [Choice; size::CHOICES as usize],
    }

    /// Next hops that all get a copy: of what came in, those that are not where it came from, and only if that is one of them.
    pub struct Group as "group" {
        /// How many there are.
        pub count: u32,
        /// Whether this node is one of them.
        pub includes_own: u32,
        /// Their hops.
        pub hops: [u32; size::GROUP as usize],
    }

    /// A whole outer header, but for what follows from the packet and for hardware addresses.
    pub struct Wire as "wire" {
        /// The bytes, from the first of the Ethernet header.
        pub header: [u8; size::HEADER as usize],
        /// How many of them there are.
        pub length: u32,
        /// The sum of the IPv4 header's words, with nought for its length, TOS and checksum.
        pub sum: u32,
        /// The adjacency.
        pub adjacency: u32,
        /// The encapsulation, and [`form::IPV6`] more for IPv6.
        pub form: u32,
    }

    /// A neighbour on an interface.
    pub struct Adjacency as "adjacency" {
        /// The interface.
        pub interface: u32,
        /// Its MTU.
        pub mtu: u32,
        /// The neighbour's hardware address.
        pub destination: [u8; 6],
        /// The interface's.
        pub source: [u8; 6],
    }

    /// An application on this node.
    pub struct Application as "application" {
        /// The node's own identity in it; nought before it has one.
        pub own: u32,
        /// Overlay hops of a packet that begins here.
        pub ttl: u32,
        /// What its packets carry, which the ovstack header does not say: [`driver`].
        pub driver: u32,
    }

    /// A tenant of an application, and the device that hosts use it by. What belongs together is in one word of eight bytes, or
    /// behind an index.
    #[derive(Default)]
    pub struct Tenant as "tenant" {
        /// The application.
        pub application: u32,
        /// The VNI.
        pub vni: u32,
        /// The device.
        pub interface: u32,
        /// What the device carries: [`driver`].
        pub driver: u32,
        /// The node or group for identifiers that nobody knows; nought drops them.
        pub unknown_node: u32,
        /// The path there.
        pub unknown_path: u32,
        /// The device's hardware address.
        pub address: [u8; 6],
        /// Of IP: how many bits of an IPv4 address are the identifier, and how many of an IPv6 one.
        pub prefix: [u8; 2],
        /// One where the device of the underlay takes in what may stay there, nought where the tenant's takes all.
        pub in_place: u32,
        /// For packets that nobody knows and that go to no group: a [`WayOut`]; nought drops them.
        pub way_out: u32,
        /// Of bits: at which byte they begin.
        pub offset: u32,
        /// Nought.
        pub reserved: u32,
        /// Of bits: which of those sixteen bytes they are.
        pub mask: [u8; 16],
    }

    /// A pair of devices by which the kernel cuts superpackets.
    pub struct Segmenter as "segmenter" {
        /// The device that they go to, which hands over segments; nought where nobody cuts.
        pub front: u32,
        /// That which those come in by.
        pub back: u32,
    }

    /// Where the kernel finds a way for packets.
    pub struct WayOut as "way_out" {
        /// The device for IPv4 and that for IPv6; nought drops packets of that family.
        pub interfaces: [u32; 2],
        /// Of IPv6 the neighbour to whom they go there; nought where they are for neighbours themselves. Of IPv4 the kernel finds
        /// it for each packet.
        pub gateway: [u8; 16],
    }

    /// A VNI of an application.
    pub struct VniKey as "vni_key" {
        /// The application.
        pub application: u32,
        /// The VNI.
        pub vni: u32,
    }

    /// A locator of another node, and an own one at which its packets arrive. Addresses are those of IPv6; of IPv4
    /// they are mapped (RFC 4291 section 2.5.5.2).
    pub struct PeerKey as "peer_key" {
        /// The other's.
        pub locator: [u8; 16],
        /// The own one.
        pub own: [u8; 16],
        /// How: [`arrival`].
        pub protocol_port: u32,
    }

    /// What arrives there.
    pub struct Peer as "peer" {
        /// The encapsulation.
        pub encapsulation: u32,
        /// The application of packets that name none.
        pub application: u32,
        /// The VNI of packets that name none.
        pub vni: u32,
        /// A bit for each application in which the other's locator is one of a node's.
        pub applications: [u32; 8],
    }

    /// An own locator of any application.
    pub struct EndpointKey as "endpoint_key" {
        /// The address.
        pub own: [u8; 16],
        /// How: [`arrival`].
        pub protocol_port: u32,
    }

    /// A locator of an application's node.
    pub struct LocatorKey as "locator_key" {
        /// The application.
        pub application: u32,
        /// The address.
        pub address: [u8; 16],
    }

    /// Packets and bytes.
    #[derive(Default)]
    pub struct Count as "count" {
        /// Packets.
        pub packets: u64,
        /// Their bytes, without outer headers.
        pub bytes: u64,
    }

    /// What a tenant's device sent and received, and did not know.
    #[derive(Default)]
    pub struct TenantCount as "tenant_count" {
        /// Into the overlay.
        pub sent: Count,
        /// Out of it.
        pub received: Count,
        /// Of identifiers that nobody knew, whatever became of them.
        pub missed: Count,
    }

    /// The device that a copy of the program serves, written before it is loaded.
    pub struct Device as "device" {
        /// The tenant.
        pub tenant: u32,
        /// What it carries: [`driver`].
        pub driver: u32,
        /// Of IP: how many bits of an IPv4 address are the identifier, and how many of an IPv6 one.
        pub prefix: [u32; 2],
        /// Of bits: at which byte they begin, of a frame or of what one carries.
        pub offset: u32,
        /// Of bits: which of those sixteen bytes they are; nought of a device whose packets all go one way.
        pub mask: [u8; 16],
    }

    /// A token bucket.
    pub struct Bucket as "bucket" {
        /// Nanoseconds of the monotonic clock up to which all tokens are spent.
        pub spent_until: u64,
    }
}

numbers! {
    /// What a path leads to, in the upper half of its word; the lower half is an index.
    pub mod path as "PATH" {
        /// Nothing: packets are dropped.
        pub const NOWHERE = 0;
        /// A hop.
        pub const HOP = 1;
        /// A group.
        pub const GROUP = 2;
        /// This node.
        pub const OWN = 3;
    }

    /// What a device carries.
    pub mod driver as "DRIVER" {
        /// Ethernet frames; the identifier is the destination's hardware address, and sources are learned.
        pub const ETHERNET = 1;
        /// IP packets; the identifier is a prefix of the destination address.
        pub const IP = 2;
        /// Ethernet frames; the identifier is whatever the device's configuration cuts out of them.
        pub const BITS = 3;
        /// What frames carry, whatever that is, without their headers; the identifier is cut out of it likewise.
        pub const PAYLOAD = 4;
    }

    /// What stands between outer IP and payload.
    pub mod encapsulation as "ENCAPSULATION" {
        /// UDP and ovstack.
        pub const OVSTACK = 0;
        /// UDP and VXLAN.
        pub const VXLAN = 1;
        /// UDP and Geneve.
        pub const GENEVE = 2;
        /// GRE with a frame, the VNI in its key.
        pub const NVGRE = 3;
        /// GRE with a frame or a packet.
        pub const GRE = 4;
        /// Nothing: IP in IP.
        pub const IPIP = 5;
        /// GRE with a label, the VNI's lower 20 bits.
        pub const MPLS = 6;
        /// UDP, VXLAN-GPE and NSH, whose path is the VNI.
        pub const NSH = 7;
        /// UDP and GUE.
        pub const GUE = 8;
        /// IPv6 with a segment routing header: of paths alone.
        pub const SRV6 = 9;
        /// UDP and VXLAN-GPE.
        pub const GPE = 10;
    }

    /// How packets arrive: the IP protocol in the third byte, below it the UDP port or the type of what GRE carries.
    pub mod arrival as "ARRIVAL" {
        /// GRE with a key.
        pub const KEYED = 0x100_0000;
    }

    /// What [`Wire::form`] has beside the encapsulation.
    pub mod form as "FORM" {
        /// The outer header is one of IPv6.
        pub const IPV6 = 256;
    }

    /// What a device is to the overlay's packets that come by it. By one that is nothing of it none comes in.
    pub mod entrance as "ENTRANCE" {
        /// They may come in.
        pub const OPEN = 1;
        /// The device above it says: it is a port of a bridge, or wears another's address.
        pub const BELOW = 2;
    }

    /// Hops in the underlay.
    pub mod hops as "HOPS" {
        /// Of an ovstack packet, which has hops of its own; of others they are the overlay's.
        pub const OUTER = 64;
    }

    /// Messages of the overlay itself.
    pub mod message as "MESSAGE" {
        /// The flag in the ovstack header that says so.
        pub const FLAG = 0x80;
        /// That a packet was too big.
        pub const TOO_BIG = 1;
        /// Bytes of a message, of which those behind what it says are the packet's last.
        pub const BYTES = 128;
        /// The least room that is believed: the 576 bytes that every IPv4 host takes (RFC 791), and an Ethernet header.
        pub const LEAST_ROOM = 590;
        /// The least MTU that hosts are told of: what every IPv4 link carries (RFC 791).
        pub const LEAST_TOLD = 68;
        /// Bytes of a packet that hosts are told of. Choice: an IPv4 header of 60 bytes and a TCP header are in it whole.
        pub const QUOTED = 88;
    }

    /// What relays said of paths.
    pub mod limits as "LIMITS" {
        /// Ten minutes in units of 2^30 ns, after RFC 8201 section 4: a path may have grown by then.
        pub const AGE = 559;
    }

    /// Where a packet that is sent passes, as a [`Stamp`] says it.
    pub mod passage as "PASSAGE" {
        /// A program calls to send it.
        pub const SEND = 0;
        /// It has its IP header, and firewalls are next.
        pub const OUT = 1;
        /// A program on the device that it leaves by has it.
        pub const ENTER = 2;
        /// A route was looked up for it.
        pub const LOOKUP = 3;
        /// It gets to a device's queue, behind what is on the device.
        pub const QUEUE = 4;
        /// A device's driver is given it.
        pub const START = 5;
        /// The driver is done with it.
        pub const SENT = 6;
        /// The call is over.
        pub const BACK = 7;
        /// With any of these: said once more by a second program, right behind the first.
        pub const AGAIN = 16;
    }

    /// Sizes of parts of tables.
    pub mod size as "SIZE" {
        /// Stamps of a packet: the most that a tunnel in a tunnel has, each twice.
        pub const STAMPS = 32;
        /// Kinds of packets that are sighted: for two addresses and for any other, twice.
        pub const SIGHTINGS = 6;
        /// Bytes of the longest identifier: an IPv6 address.
        pub const IDENTIFIER = 16;
        /// Bytes of the longest outer header: Ethernet, IPv6, UDP, and 34 for what comes next.
        pub const HEADER = 96;
        /// Bytes of a packet that a relay writes: Ethernet, IPv4, UDP and ovstack.
        pub const RELAYED = 62;
        /// Pairs of locators that a next hop may be reached by.
        pub const CHOICES = 8;
        /// Next hops of a group.
        pub const GROUP = 256;
        /// Tenants of a node, and one more: nought is none.
        pub const TENANTS = 1024;
    }
}

reasons! {
    /// Why a packet was dropped. A new one is the last: a successor reads its predecessor's counters.
    pub enum Drop as "DROP" {
        /// The bytes are no packet of their encapsulation.
        Malformed as "malformed" = "MALFORMED",
        /// Another version of the header.
        Version as "version" = "VERSION",
        /// The outer source is no locator of the application's nodes.
        UnknownLocator as "unknown-locator" = "UNKNOWN_LOCATOR",
        /// The packet says it is from a node that nobody knows, or from this one.
        UnknownSource as "unknown-source" = "UNKNOWN_SOURCE",
        /// The tenant is none of this node's.
        UnknownTenant as "unknown-tenant" = "UNKNOWN_TENANT",
        /// No path leads to the node, or to the group from where the packet came.
        NoRoute as "no-route" = "NO_ROUTE",
        /// Nobody knows the identifier.
        UnknownIdentifier as "unknown-identifier" = "UNKNOWN_IDENTIFIER",
        /// Its overlay hops are used up.
        Expired as "expired" = "EXPIRED",
        /// It does not fit the next hop's MTU.
        TooBig as "too-big" = "TOO_BIG",
        /// Congestion was marked on a packet whose ends do not understand it (RFC 6040).
        Congestion as "congestion" = "CONGESTION",
        /// A program of this host sent it, in an encapsulation and from a locator that are the overlay's; or in ovstack.
        Forged as "forged" = "FORGED",
        /// The kernel refused what had to be done with it.
        Refused as "refused" = "REFUSED",
        /// It came from a node's locator by a device that leads to no node.
        WrongDevice as "wrong-device" = "WRONG_DEVICE",
    }
}

impl Count {
    /// One packet more, of so many bytes.
    pub fn add(&mut self, bytes: usize) {
        self.packets += 1;
        self.bytes += bytes as u64;
    }
}

/// All of it in C, for the programs to include.
pub fn tables_in_c() -> String {
    format!("{}\n{}\n{}", numbers_in_c(), reasons_in_c(), structures_in_c())
}
