//! What a switch of 1.0 has counted: section 5.3.5.

use super::action::Action;
use super::flow_match::{Match, Wildcards};
use super::{PortNumber, TableId};
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
        /// Tables.
        Tables = 3;
        /// A port, or by [`PortNumber::NONE`] all.
        Ports { /** Which. */ port: PortNumber, } = 4, pad 6;
        /// Queues.
        Queues {
            /// Of which port, or by [`PortNumber::ALL`] of all.
            port: PortNumber, (pad 2)
            /// Which of them.
            queue: QueueId,
        } = 5;
        /// Somebody's own.
        Vendor {
            /// Whose.
            vendor: u32,
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
        /// Tables.
        Tables(Vec<TableStatistics>) = 3;
        /// Ports.
        Ports(Vec<PortStatistics>) = 4;
        /// Queues.
        Queues(Vec<QueueStatistics>) = 5;
        /// Somebody's own.
        Vendor {
            /// Whose.
            vendor: u32,
            /// What only they know.
            data: Vec<u8>,
        } = 0xffff;
    }
}

flags! {
    /// Flags of a reply; a request has none.
    pub struct StatisticsFlags(u16) {
        /// Another reply to the same request follows.
        MORE = 1,
    }
}

macro_rules! statistics {
    ($(#[$doc:meta])* $name:ident of $body:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct $name {
            /// Whether more follow.
            pub flags: StatisticsFlags,
            /// What it is about.
            pub body: $body,
        }

        impl Wire for $name {
            fn read(from: &mut Reader<'_>) -> Result<Self, Malformed> {
                let kind = u16::read(from)?;
                let flags = StatisticsFlags::read(from)?;
                Ok(Self { flags, body: $body::read_as(kind, from)? })
            }

            fn write(&self, to: &mut Writer<'_>) {
                self.body.kind().write(to);
                self.flags.write(to);
                self.body.write_body(to);
            }
        }
    };
}

statistics! {
    /// A request for statistics.
    StatisticsRequest of Asked
}

statistics! {
    /// Statistics, or some of them.
    StatisticsReply of Answered
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
        /// Those whose packets are among these.
        pub flow_match: Match,
        /// Of which table; [`TableId::ALL`] is of all.
        pub table: TableId, (pad 1)
        /// By which port their packets leave; [`PortNumber::NONE`] is by any.
        pub out_port: PortNumber,
    }
}

record! {
    sized
    /// A flow.
    pub struct FlowStatistics {
        /// Its table.
        pub table: TableId, (pad 1)
        /// Which packets it is for.
        pub flow_match: Match,
        /// How long it has been there.
        pub age: Age,
        /// Its priority.
        pub priority: u16,
        /// After how many seconds without a packet it goes; 0 is never.
        pub idle_timeout: u16,
        /// After how many seconds it goes; 0 is never.
        pub hard_timeout: u16, (pad 6)
        /// The controller's mark.
        pub cookie: u64,
        /// Packets that it was for.
        pub packets: u64,
        /// Their bytes.
        pub bytes: u64,
        /// What it does with them.
        pub actions: Vec<Action>,
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

record! {
    /// A table.
    pub struct TableStatistics {
        /// Which.
        pub table: TableId, (pad 3)
        /// Its name.
        pub name: Text<32>,
        /// Which fields may be wild in it.
        pub wildcards: Wildcards,
        /// How many flows it can hold.
        pub max_entries: u32,
        /// How many it holds.
        pub active: u32,
        /// Packets that were looked up.
        pub lookups: u64,
        /// Packets that a flow was found for.
        pub matched: u64,
    }
}

record! {
    /// A port. What is not counted is [`u64::MAX`].
    pub struct PortStatistics {
        /// Which.
        pub port: PortNumber, (pad 6)
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
    }
}

record! {
    /// A queue.
    pub struct QueueStatistics {
        /// Of which port.
        pub port: PortNumber, (pad 2)
        /// Which.
        pub queue: QueueId,
        /// Bytes sent.
        pub sent_bytes: u64,
        /// Packets sent.
        pub sent: u64,
        /// Packets dropped since there was no room.
        pub sent_errors: u64,
    }
}
