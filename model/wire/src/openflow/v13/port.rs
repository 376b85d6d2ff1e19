//! Ports of 1.3: section 7.2.1, and what is said about them.

use crate::ethernet::Mac;
use crate::openflow::tables::{codes, flags, record};
use crate::openflow::{Age, Text};

codes! {
    /// A port's number: from 1 to [`PortNumber::MAX`] one of the switch, above it one that means something else.
    pub struct PortNumber(u32) {
        /// No port of the switch has a higher number.
        MAX = 0xffff_ff00,
        /// Back by the port that the packet came by.
        IN_PORT = 0xffff_fff8,
        /// Through the first flow table; in a packet-out only.
        TABLE = 0xffff_fff9,
        /// As a switch or router without OpenFlow would.
        NORMAL = 0xffff_fffa,
        /// As a switch without OpenFlow floods.
        FLOOD = 0xffff_fffb,
        /// By every port but that which the packet came by.
        ALL = 0xffff_fffc,
        /// To the controller.
        CONTROLLER = 0xffff_fffd,
        /// To the switch's own stack.
        LOCAL = 0xffff_fffe,
        /// Any port, or none.
        ANY = 0xffff_ffff,
    }
}

flags! {
    /// How a port is configured.
    pub struct PortConfig(u32) {
        /// It is down.
        PORT_DOWN = 1,
        /// What comes by it is dropped.
        NO_RECV = 1 << 2,
        /// What is to leave by it is dropped.
        NO_FWD = 1 << 5,
        /// What comes by it causes no packet-in.
        NO_PACKET_IN = 1 << 6,
    }
}

flags! {
    /// In which state a port is.
    pub struct PortState(u32) {
        /// It has no link.
        LINK_DOWN = 1,
        /// A spanning tree or the like has closed it.
        BLOCKED = 1 << 1,
        /// Groups that watch it may use it.
        LIVE = 1 << 2,
    }
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
        /// 40 Gbit/s, full duplex.
        RATE_40GB_FD = 1 << 7,
        /// 100 Gbit/s, full duplex.
        RATE_100GB_FD = 1 << 8,
        /// 1 Tbit/s, full duplex.
        RATE_1TB_FD = 1 << 9,
        /// Another rate, which [`Port::current_speed`] and [`Port::max_speed`] tell.
        OTHER = 1 << 10,
        /// Copper.
        COPPER = 1 << 11,
        /// Fibre.
        FIBER = 1 << 12,
        /// Both ends agree on the rate.
        AUTONEG = 1 << 13,
        /// It may be asked to pause.
        PAUSE = 1 << 14,
        /// In one direction only.
        PAUSE_ASYM = 1 << 15,
    }
}

record! {
    /// A port of a switch.
    pub struct Port {
        /// Its number.
        pub number: PortNumber, (pad 4)
        /// Its hardware address.
        pub address: Mac, (pad 2)
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
        /// The link's rate in kbit/s.
        pub current_speed: u32,
        /// What its rate may be, in kbit/s.
        pub max_speed: u32,
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
        pub number: PortNumber, (pad 4)
        /// Its hardware address, that no other is meant.
        pub address: Mac, (pad 2)
        /// The bits as they are to be.
        pub config: PortConfig,
        /// Which of them are to change.
        pub mask: PortConfig,
        /// What it is to tell its peer; nothing leaves that as it is.
        pub advertise: PortFeatures, (pad 4)
    }
}

record! {
    /// What a port has counted. What is not counted is [`u64::MAX`].
    pub struct PortStatistics {
        /// Which.
        pub port: PortNumber, (pad 4)
        /// Packets received.
        pub received: u64,
        /// Packets sent.
        pub sent: u64,
        /// Bytes received.
        pub received_bytes: u64,
        /// Bytes sent.
        pub sent_bytes: u64,
        /// Packets dropped on their way in.
        pub received_dropped: u64,
        /// Packets dropped on their way out.
        pub sent_dropped: u64,
        /// Errors in receiving, those below among them.
        pub received_errors: u64,
        /// Errors in sending.
        pub sent_errors: u64,
        /// Frames that were no multiple of eight bits.
        pub frame_errors: u64,
        /// Packets that found no room on their way in.
        pub overrun_errors: u64,
        /// Frames whose checksum did not fit.
        pub checksum_errors: u64,
        /// Collisions.
        pub collisions: u64,
        /// How long it has been there.
        pub age: Age,
    }
}
