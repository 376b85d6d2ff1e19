//! What a switch of 1.0 can do and how it is set: sections 5.3.1 and 5.3.2.

use super::port::Port;
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
        /// It takes part in 802.1D's spanning tree.
        STP = 1 << 3,
        /// Must not be set.
        RESERVED = 1 << 4,
        /// It can put fragments together.
        IP_REASM = 1 << 5,
        /// It counts by queue.
        QUEUE_STATS = 1 << 6,
        /// It finds ARP packets by their addresses.
        ARP_MATCH_IP = 1 << 7,
    }
}

flags! {
    /// Actions that a switch knows: bit `n` stands for the action of type `n`.
    pub struct ActionTypes(u32) {
        /// To a port.
        OUTPUT = 1,
        /// VLAN.
        SET_VLAN_VID = 1 << 1,
        /// VLAN priority.
        SET_VLAN_PCP = 1 << 2,
        /// Without VLAN.
        STRIP_VLAN = 1 << 3,
        /// Source address of Ethernet.
        SET_DL_SRC = 1 << 4,
        /// Destination address of Ethernet.
        SET_DL_DST = 1 << 5,
        /// Source address of IP.
        SET_NW_SRC = 1 << 6,
        /// Destination address of IP.
        SET_NW_DST = 1 << 7,
        /// DSCP.
        SET_NW_TOS = 1 << 8,
        /// Source port of TCP or UDP.
        SET_TP_SRC = 1 << 9,
        /// Destination port of TCP or UDP.
        SET_TP_DST = 1 << 10,
        /// To a queue of a port.
        ENQUEUE = 1 << 11,
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
        pub tables: u8, (pad 3)
        /// What it can do.
        pub capabilities: Capabilities,
        /// Which actions it knows.
        pub actions: ActionTypes,
        /// Its ports.
        pub ports: Vec<Port>,
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
        /// Bytes of a new flow's packet that it sends to the controller.
        pub miss_send_length: u16,
    }
}
