//! What a controller of 1.3 is beside others, and what it wants to be told: sections 7.3.9 and 7.3.10. The names of roles
//! are those of the specification's time.

use crate::openflow::tables::{codes, flags, record};

codes! {
    /// What a controller is to a switch.
    pub struct ControllerRole(u32) {
        /// As it is: a question, or the number of an election alone.
        NOCHANGE = 0,
        /// May do everything, as others may.
        EQUAL = 1,
        /// May do everything, and is the only one.
        MASTER = 2,
        /// May read.
        SLAVE = 3,
    }
}

record! {
    /// Which role a controller asks for, or has.
    pub struct Role {
        /// Which.
        pub role: ControllerRole, (pad 4)
        /// The number of the election of a master: of an older one, nothing is taken any more.
        pub generation: u64,
    }
}

flags! {
    /// Packet-ins that are wanted: bit `n` stands for reason `n`.
    pub struct PacketInReasons(u32) {
        /// No flow is for them.
        NO_MATCH = 1,
        /// An action says so.
        ACTION = 1 << 1,
        /// Their TTL is used up.
        INVALID_TTL = 1 << 2,
    }
}

flags! {
    /// Port-statuses that are wanted: bit `n` stands for reason `n`.
    pub struct PortReasons(u32) {
        /// A port is new.
        ADD = 1,
        /// A port is gone.
        DELETE = 1 << 1,
        /// A port has changed.
        MODIFY = 1 << 2,
    }
}

flags! {
    /// Flow-removeds that are wanted: bit `n` stands for reason `n`.
    pub struct FlowRemovedReasons(u32) {
        /// No packet came for too long.
        IDLE_TIMEOUT = 1,
        /// Their time was up.
        HARD_TIMEOUT = 1 << 1,
        /// They were deleted.
        DELETE = 1 << 2,
        /// Their group was deleted.
        GROUP_DELETE = 1 << 3,
    }
}

record! {
    /// What a controller is told unasked: as master or equal, and as slave.
    pub struct AsyncConfig {
        /// Packets, as master or equal.
        pub packet_in_master: PacketInReasons,
        /// Packets, as slave.
        pub packet_in_slave: PacketInReasons,
        /// Of ports, as master or equal.
        pub port_status_master: PortReasons,
        /// Of ports, as slave.
        pub port_status_slave: PortReasons,
        /// Of flows, as master or equal.
        pub flow_removed_master: FlowRemovedReasons,
        /// Of flows, as slave.
        pub flow_removed_slave: FlowRemovedReasons,
    }
}
