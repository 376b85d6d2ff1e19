//! Groups of 1.3, ways that a packet may take: sections 7.3.4.3 and 7.3.5.7 to 7.3.5.9.

use super::switch::ActionTypes;
use super::{Action, PortNumber};
use crate::openflow::Age;
use crate::openflow::tables::{codes, flags, record};

codes! {
    /// A group: up to [`GroupId::MAX`] one of the switch.
    pub struct GroupId(u32) {
        /// No group of the switch has a higher number.
        MAX = 0xffff_ff00,
        /// Every group, in requests.
        ALL = 0xffff_fffc,
        /// Any group, or none.
        ANY = 0xffff_ffff,
    }
}

codes! {
    /// What happens to a group.
    pub struct GroupModCommand(u16) {
        /// It is added.
        ADD = 0,
        /// It gets other buckets.
        MODIFY = 1,
        /// It is deleted.
        DELETE = 2,
    }
}

codes! {
    /// Which of its buckets a packet goes through.
    pub struct GroupType(u8) {
        /// All.
        ALL = 0,
        /// One, chosen by weight.
        SELECT = 1,
        /// The only one.
        INDIRECT = 2,
        /// The first that is alive.
        FF = 3,
    }
}

record! {
    sized
    /// A way that a packet may take.
    pub struct Bucket {
        /// Its share, of [`GroupType::SELECT`].
        pub weight: u16,
        /// Alive while this port is, of [`GroupType::FF`].
        pub watch_port: PortNumber,
        /// Alive while this group is, of [`GroupType::FF`].
        pub watch_group: GroupId, (pad 4)
        /// What is done with the packet.
        pub actions: Vec<Action>,
    }
}

record! {
    /// A change of groups.
    pub struct GroupMod {
        /// What happens.
        pub command: GroupModCommand,
        /// Which buckets are taken.
        pub kind: GroupType, (pad 1)
        /// To which group.
        pub group: GroupId,
        /// Its buckets.
        pub buckets: Vec<Bucket>,
    }
}

record! {
    sized
    /// What a group has seen.
    pub struct GroupStatistics {
        (pad 2)
        /// Which group.
        pub group: GroupId,
        /// How many flows and groups lead to it.
        pub references: u32, (pad 4)
        /// Packets that went through it.
        pub packets: u64,
        /// Their bytes.
        pub bytes: u64,
        /// How long it has been there.
        pub age: Age,
        /// What each bucket has seen.
        pub buckets: Vec<BucketStatistics>,
    }
}

record! {
    /// What a bucket has seen.
    pub struct BucketStatistics {
        /// Packets that went through it.
        pub packets: u64,
        /// Their bytes.
        pub bytes: u64,
    }
}

record! {
    sized
    /// A group as it is.
    pub struct GroupDescription {
        /// Which buckets are taken.
        pub kind: GroupType, (pad 1)
        /// Which group.
        pub group: GroupId,
        /// Its buckets.
        pub buckets: Vec<Bucket>,
    }
}

flags! {
    /// Types of groups that a switch knows: bit `n` stands for type `n`.
    pub struct GroupTypes(u32) {
        /// [`GroupType::ALL`].
        ALL = 1,
        /// [`GroupType::SELECT`].
        SELECT = 1 << 1,
        /// [`GroupType::INDIRECT`].
        INDIRECT = 1 << 2,
        /// [`GroupType::FF`].
        FF = 1 << 3,
    }
}

flags! {
    /// What a switch can do with groups.
    pub struct GroupCapabilities(u32) {
        /// It heeds weights.
        SELECT_WEIGHT = 1,
        /// It heeds life when it selects.
        SELECT_LIVENESS = 1 << 1,
        /// A group may lead to another.
        CHAINING = 1 << 2,
        /// It looks for loops, and whether a group that is deleted is led to.
        CHAINING_CHECKS = 1 << 3,
    }
}

record! {
    /// What a switch can do with groups. What is said of each type stands in the types' order.
    pub struct GroupFeatures {
        /// Which types it knows.
        pub types: GroupTypes,
        /// What it can do with them.
        pub capabilities: GroupCapabilities,
        /// How many groups of [`GroupType::ALL`] there may be.
        pub max_all: u32,
        /// How many of [`GroupType::SELECT`].
        pub max_select: u32,
        /// How many of [`GroupType::INDIRECT`].
        pub max_indirect: u32,
        /// How many of [`GroupType::FF`].
        pub max_fast_failover: u32,
        /// Which actions buckets of [`GroupType::ALL`] may have.
        pub actions_all: ActionTypes,
        /// Which those of [`GroupType::SELECT`].
        pub actions_select: ActionTypes,
        /// Which those of [`GroupType::INDIRECT`].
        pub actions_indirect: ActionTypes,
        /// Which those of [`GroupType::FF`].
        pub actions_fast_failover: ActionTypes,
    }
}
