//! What a switch of 1.3 tells when asked, in as many messages as it takes: section 7.3.5.

use super::group::{GroupDescription, GroupFeatures, GroupId, GroupStatistics};
use super::meter::{MeterConfig, MeterFeatures, MeterId, MeterStatistics};
use super::port::PortStatistics;
use super::queue::QueueStatistics;
use super::table::{TableFeatures, TableStatistics};
use super::{Instruction, Match, Port, PortNumber, TableId, flow_mod::FlowModFlags};
use crate::Malformed;
use crate::openflow::codec::{Reader, Wire, Writer};
use crate::openflow::tables::{choice, flags, record};
use crate::openflow::{Age, QueueId, Text};

choice! {
    /// What is asked for.
    pub enum Asked: u16 {
        /// What the switch says it is.
        Description = 0;
        /// Flows, one by one.
        Flows(FlowFilter) = 1;
        /// Flows, summed up.
        Aggregate(FlowFilter) = 2;
        /// What tables have counted.
        Tables = 3;
        /// What a port has counted, or by [`PortNumber::ANY`] all.
        Ports { /** Which. */ port: PortNumber, } = 4, pad 4;
        /// What queues have counted.
        Queues {
            /// Of which port, or by [`PortNumber::ANY`] of all.
            port: PortNumber,
            /// Which of them.
            queue: QueueId,
        } = 5;
        /// What a group has seen, or by [`GroupId::ALL`] all.
        Groups { /** Which. */ group: GroupId, } = 6, pad 4;
        /// Groups as they are.
        GroupDescriptions = 7;
        /// What it can do with groups.
        GroupFeatures = 8;
        /// What a meter has seen, or by [`MeterId::ALL`] all.
        Meters { /** Which. */ meter: MeterId, } = 9, pad 4;
        /// A meter as it is, or by [`MeterId::ALL`] all.
        MeterConfigs { /** Which. */ meter: MeterId, } = 10, pad 4;
        /// What it can do with meters.
        MeterFeatures = 11;
        /// What tables can do; if some are said, they are to be so.
        TableFeatures(Vec<TableFeatures>) = 12;
        /// Ports.
        PortDescriptions = 13;
        /// Somebody's own.
        Experimenter {
            /// Whose.
            experimenter: u32,
            /// Which of theirs.
            kind: u32,
            /// What only they know.
            data: Vec<u8>,
        } = 0xffff;
    }
}

choice! {
    /// What is answered.
    pub enum Answered: u16 {
        /// What the switch says it is.
        Description(Box<Description>) = 0;
        /// Flows, one by one.
        Flows(Vec<FlowStatistics>) = 1;
        /// Flows, summed up.
        Aggregate(Aggregate) = 2;
        /// What tables have counted.
        Tables(Vec<TableStatistics>) = 3;
        /// What ports have counted.
        Ports(Vec<PortStatistics>) = 4;
        /// What queues have counted.
        Queues(Vec<QueueStatistics>) = 5;
        /// What groups have seen.
        Groups(Vec<GroupStatistics>) = 6;
        /// Groups as they are.
        GroupDescriptions(Vec<GroupDescription>) = 7;
        /// What it can do with groups.
        GroupFeatures(GroupFeatures) = 8;
        /// What meters have seen.
        Meters(Vec<MeterStatistics>) = 9;
        /// Meters as they are.
        MeterConfigs(Vec<MeterConfig>) = 10;
        /// What it can do with meters.
        MeterFeatures(MeterFeatures) = 11;
        /// What tables can do.
        TableFeatures(Vec<TableFeatures>) = 12;
        /// Ports.
        PortDescriptions(Vec<Port>) = 13;
        /// Somebody's own.
        Experimenter {
            /// Whose.
            experimenter: u32,
            /// Which of theirs.
            kind: u32,
            /// What only they know.
            data: Vec<u8>,
        } = 0xffff;
    }
}

flags! {
    /// Flags of a request or reply.
    pub struct MultipartFlags(u16) {
        /// Another message belongs to the same request or reply.
        MORE = 1,
    }
}

macro_rules! multipart {
    ($(#[$doc:meta])* $name:ident of $body:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            /// Whether more follow.
            pub flags: MultipartFlags,
            /// What it is about.
            pub body: $body,
        }

        impl Wire for $name {
            fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                let kind = u16::read(from)?;
                let flags = MultipartFlags::read(from)?;
                from.pad(4)?;
                Ok(Self { flags, body: $body::read_as(kind, from)? })
            }

            fn write(&self, to: &mut Writer<'_>) {
                self.body.kind().write(to);
                self.flags.write(to);
                to.pad(4);
                self.body.write_body(to);
            }
        }
    };
}

multipart! {
    /// A request, or some of it.
    MultipartRequest of Asked
}

multipart! {
    /// A reply, or some of it.
    MultipartReply of Answered
}

record! {
    /// What a switch says it is.
    pub struct Description {
        /// Who made it.
        pub manufacturer: Text<256>,
        /// Of what.
        pub hardware: Text<256>,
        /// What runs on it.
        pub software: Text<256>,
        /// Which one it is.
        pub serial_number: Text<32>,
        /// What its owner calls it.
        pub datapath: Text<256>,
    }
}

record! {
    /// Which flows are meant.
    pub struct FlowFilter {
        /// Of which table; [`TableId::ALL`] is of all.
        pub table: TableId, (pad 3)
        /// By which port their packets leave; [`PortNumber::ANY`] is by any.
        pub out_port: PortNumber,
        /// Through which group they go; [`GroupId::ANY`] is through any or none.
        pub out_group: GroupId, (pad 4)
        /// The controller's mark.
        pub cookie: u64,
        /// Which bits of it count.
        pub cookie_mask: u64,
        /// Those whose packets are among these.
        pub flow_match: Match,
    }
}

record! {
    sized
    /// A flow.
    pub struct FlowStatistics {
        /// Its table.
        pub table: TableId, (pad 1)
        /// How long it has been there.
        pub age: Age,
        /// Its priority.
        pub priority: u16,
        /// After how many seconds without a packet it goes; 0 is never.
        pub idle_timeout: u16,
        /// After how many seconds it goes; 0 is never.
        pub hard_timeout: u16,
        /// What else was asked for.
        pub flags: FlowModFlags, (pad 4)
        /// The controller's mark.
        pub cookie: u64,
        /// Packets that it was for.
        pub packets: u64,
        /// Their bytes.
        pub bytes: u64,
        /// Which packets it is for.
        pub flow_match: Match,
        /// What it does with them.
        pub instructions: Vec<Instruction>,
    }
}

record! {
    /// Several flows together.
    pub struct Aggregate {
        /// Packets that they were for.
        pub packets: u64,
        /// Their bytes.
        pub bytes: u64,
        /// How many flows.
        pub flows: u32, (pad 4)
    }
}
