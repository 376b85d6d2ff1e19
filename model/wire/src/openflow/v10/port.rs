//! Ports of 1.0: section 5.2.1, and what is said about them.

use crate::ethernet::Mac;
use crate::openflow::Text;
use crate::openflow::tables::{codes, flags, record};

codes! {
    /// A port's number: from 1 to [`PortNumber::MAX`] one of the switch, above it one that means something else.
    pub struct PortNumber(u16) {
        /// No port of the switch has a higher number.
        MAX = 0xff00,
        /// Back by the port that the packet came by.
        IN_PORT = 0xfff8,
        /// Through the flow table; in a packet-out only.
        TABLE = 0xfff9,
        /// As a switch or router without OpenFlow would.
        NORMAL = 0xfffa,
        /// By every port but that which the packet came by and those that the spanning tree has closed.
        FLOOD = 0xfffb,
        /// By every port but that which the packet came by.
        ALL = 0xfffc,
        /// To the controller.
        CONTROLLER = 0xfffd,
        /// To the switch's own stack.
        LOCAL = 0xfffe,
        /// No port.
        NONE = 0xffff,
    }
}

flags! {
    /// How a port is configured.
    pub struct PortConfig(u32) {
        /// It is down.
        PORT_DOWN = 1,
        /// No spanning tree runs on it.
        NO_STP = 1 << 1,
        /// What comes by it is dropped, but for spanning tree packets.
        NO_RECV = 1 << 2,
        /// Spanning tree packets that come by it are dropped.
        NO_RECV_STP = 1 << 3,
        /// No part of flooding.
        NO_FLOOD = 1 << 4,
        /// What is to leave by it is dropped.
        NO_FWD = 1 << 5,
        /// What comes by it causes no packet-in.
        NO_PACKET_IN = 1 << 6,
    }
}

flags! {
    /// In which state a port is. Its state in the spanning tree is a number of two bits, [`PortState::STP_MASK`], of which
    /// listening is 0.
    pub struct PortState(u32) {
        /// It has no link.
        LINK_DOWN = 1,
        /// It is no part of the tree.
        STP_BLOCK = 3 << 8,
        /// It learns stations and forwards nothing.
        STP_LEARN = 1 << 8,
        /// It forwards.
        STP_FORWARD = 2 << 8,
    }
}

impl PortState {
    /// The bits of the state in the spanning tree.
    pub const STP_MASK: u32 = 3 << 8;
}

flags! {
    /// What a port's link is or may be.
    pub struct PortFeatures(u32) {
        /// 10 Mbit/s, half duplex.
        RATE_10MB_HD = 1,
        /// 10 Mbit/s, full duplex.
        RATE_10MB_FD = 1 << 1,
        /// 100 Mbit/s, half duplex.
        RATE_100MB_HD = 1 << 2,
        /// 100 Mbit/s, full duplex.
        RATE_100MB_FD = 1 << 3,
        /// 1 Gbit/s, half duplex.
        RATE_1GB_HD = 1 << 4,
        /// 1 Gbit/s, full duplex.
        RATE_1GB_FD = 1 << 5,
        /// 10 Gbit/s, full duplex.
        RATE_10GB_FD = 1 << 6,
        /// Copper.
        COPPER = 1 << 7,
        /// Fibre.
        FIBER = 1 << 8,
        /// Both ends agree on the rate.
        AUTONEG = 1 << 9,
        /// It may be asked to pause.
        PAUSE = 1 << 10,
        /// In one direction only.
        PAUSE_ASYM = 1 << 11,
    }
}

record! {
    /// A port of a switch.
    pub struct Port {
        /// Its number.
        pub number: PortNumber,
        /// Its hardware address.
        pub address: Mac,
        /// Its name.
        pub name: Text<16>,
        /// How it is configured.
        pub config: PortConfig,
        /// In which state it is.
        pub state: PortState,
        /// What its link is.
        pub current: PortFeatures,
        /// What it tells its peer that the link may be.
        pub advertised: PortFeatures,
        /// What the link may be.
        pub supported: PortFeatures,
        /// What its peer tells.
        pub peer: PortFeatures,
    }
}

codes! {
    /// What happened to a port.
    pub struct PortReason(u8) {
        /// It is new.
        ADD = 0,
        /// It is gone.
        DELETE = 1,
        /// It has changed.
        MODIFY = 2,
    }
}

record! {
    /// That something happened to a port.
    pub struct PortStatus {
        /// What.
        pub reason: PortReason, (pad 7)
        /// To which.
        pub port: Port,
    }
}

record! {
    /// How a port is to be configured.
    pub struct PortMod {
        /// Which port.
        pub number: PortNumber,
        /// Its hardware address, that no other is meant.
        pub address: Mac,
        /// The bits as they are to be.
        pub config: PortConfig,
        /// Which of them are to change.
        pub mask: PortConfig,
        /// What it is to tell its peer; nothing leaves that as it is.
        pub advertise: PortFeatures, (pad 4)
    }
}
