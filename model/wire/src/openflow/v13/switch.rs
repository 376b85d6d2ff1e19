//! What a switch of 1.3 can do and how it is set: sections 7.3.1 and 7.3.2.

use crate::openflow::tables::{codes, flags, record};

flags! {
    /// What a switch can do.
    pub struct Capabilities(u32) {
        /// It counts by flow.
        FLOW_STATS = 1,
        /// It counts by table.
        TABLE_STATS = 1 << 1,
        /// It counts by port.
        PORT_STATS = 1 << 2,
        /// It counts by group.
        GROUP_STATS = 1 << 3,
        /// It can put fragments together.
        IP_REASM = 1 << 5,
        /// It counts by queue.
        QUEUE_STATS = 1 << 6,
        /// It closes ports that make loops.
        PORT_BLOCKED = 1 << 8,
    }
}

flags! {
    /// Types of actions: bit `n` stands for type `n` of [`Action`](super::Action).
    pub struct ActionTypes(u32) {
        /// To a port.
        OUTPUT = 1,
        /// The outermost TTL becomes the next one's.
        COPY_TTL_OUT = 1 << 11,
        /// The next TTL becomes the outermost.
        COPY_TTL_IN = 1 << 12,
        /// MPLS's TTL is set.
        SET_MPLS_TTL = 1 << 15,
        /// MPLS's TTL is counted down.
        DEC_MPLS_TTL = 1 << 16,
        /// A VLAN more.
        PUSH_VLAN = 1 << 17,
        /// A VLAN less.
        POP_VLAN = 1 << 18,
        /// An MPLS label more.
        PUSH_MPLS = 1 << 19,
        /// An MPLS label less.
        POP_MPLS = 1 << 20,
        /// To a queue.
        SET_QUEUE = 1 << 21,
        /// To a group.
        GROUP = 1 << 22,
        /// IP's TTL is set.
        SET_NW_TTL = 1 << 23,
        /// IP's TTL is counted down.
        DEC_NW_TTL = 1 << 24,
        /// A field is set.
        SET_FIELD = 1 << 25,
        /// A provider's backbone header more.
        PUSH_PBB = 1 << 26,
        /// A provider's backbone header less.
        POP_PBB = 1 << 27,
    }
}

record! {
    /// What a switch is and can do.
    pub struct Features {
        /// Which switch: 16 bits of its maker's, then the hardware address.
        pub datapath: u64,
        /// How many packets it can keep.
        pub buffers: u32,
        /// How many flow tables it has.
        pub tables: u8,
        /// Which of its connections this is; 0 is the main one.
        pub auxiliary: u8, (pad 2)
        /// What it can do.
        pub capabilities: Capabilities,
        /// Means nothing yet.
        pub reserved: u32,
    }
}

codes! {
    /// What is done with fragments of IP packets.
    pub struct Fragments(u16) {
        /// Nothing special.
        NORMAL = 0,
        /// They are dropped.
        DROP = 1,
        /// They are put together.
        REASM = 2,
    }
}

record! {
    /// How a switch is set.
    pub struct Config {
        /// What it does with fragments.
        pub fragments: Fragments,
        /// Bytes of a packet that it sends to the controller, if no action says how many.
        pub miss_send_length: u16,
    }
}
