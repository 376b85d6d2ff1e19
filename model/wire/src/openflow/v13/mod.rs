//! OpenFlow 1.3: its specification's version 1.3.5, wire protocol 0x04.
//!
//! | what | where |
//! |---|---|
//! | which messages there are | [`Body`] |
//! | packets to and from the controller | [`packet_in`], [`packet_out`] |
//! | flows: which packets | [`flow_match`] of [`oxm`] |
//! | what happens to them | [`instruction`], [`action`], [`group`], [`meter`] |
//! | their coming and going | [`flow_mod`], [`flow_removed`] |
//! | the switch, its tables and ports | [`switch`], [`table`], [`port`], [`queue`] |
//! | what it tells when asked | [`multipart`] |
//! | several controllers | [`role`] |
//! | what it refuses | [`error`] |

pub mod action;
pub mod error;
pub mod flow_match;
pub mod flow_mod;
pub mod flow_removed;
pub mod group;
pub mod instruction;
pub mod meter;
pub mod multipart;
pub mod oxm;
pub mod packet_in;
pub mod packet_out;
pub mod port;
pub mod queue;
pub mod role;
pub mod switch;
pub mod table;

pub use action::Action;
pub use error::{Error, Reason};
pub use flow_match::Match;
pub use flow_mod::FlowMod;
pub use flow_removed::FlowRemoved;
pub use group::{Bucket, GroupId, GroupMod};
pub use instruction::Instruction;
pub use meter::{Band, MeterId, MeterMod};
pub use multipart::{MultipartReply, MultipartRequest};
pub use oxm::Oxm;
pub use packet_in::PacketIn;
pub use packet_out::PacketOut;
pub use port::{Port, PortMod, PortNumber, PortStatus};
pub use queue::{QueueConfig, QueueConfigRequest};
pub use role::{AsyncConfig, Role};
pub use switch::{Config, Features};
pub use table::{TableId, TableMod};

use super::codec::{Reader, Writer};
use super::message::message;
use super::tables::choice;
use super::{Frame, Hello, TooLong};
use crate::{Fault, Malformed};

/// What the header of its messages says.
pub const VERSION: u8 = 0x04;
const NAME: &str = "OpenFlow 1.3";

message!();

choice! {
    /// What a message says.
    pub enum Body: u8 {
        /// Either side: which versions it speaks.
        Hello(Hello) = 0;
        /// Either side: that something was refused.
        Error(Error) = 1;
        /// Either side: are you there?
        EchoRequest(Vec<u8>) = 2;
        /// Either side: yes, with the same data.
        EchoReply(Vec<u8>) = 3;
        /// Either side: somebody's own.
        Experimenter {
            /// Whose.
            experimenter: u32,
            /// Which of theirs.
            kind: u32,
            /// What only they know.
            data: Vec<u8>,
        } = 4;
        /// Controller: what can you do?
        FeaturesRequest = 5;
        /// Switch: this.
        Features(Features) = 6;
        /// Controller: how are you set?
        ConfigRequest = 7;
        /// Switch: thus.
        Config(Config) = 8;
        /// Controller: be set thus.
        SetConfig(Config) = 9;
        /// Switch: here is a packet.
        PacketIn(PacketIn) = 10;
        /// Switch: a flow is gone.
        FlowRemoved(FlowRemoved) = 11;
        /// Switch: something happened to a port.
        PortStatus(PortStatus) = 12;
        /// Controller: send this packet.
        PacketOut(PacketOut) = 13;
        /// Controller: change flows.
        FlowMod(FlowMod) = 14;
        /// Controller: change a group.
        GroupMod(GroupMod) = 15;
        /// Controller: change a port.
        PortMod(PortMod) = 16;
        /// Controller: change a table.
        TableMod(TableMod) = 17;
        /// Controller: tell me of this.
        MultipartRequest(MultipartRequest) = 18;
        /// Switch: this is how it is.
        MultipartReply(MultipartReply) = 19;
        /// Controller: answer when all before this is done.
        BarrierRequest = 20;
        /// Switch: it is.
        BarrierReply = 21;
        /// Controller: which queues has a port?
        QueueConfigRequest(QueueConfigRequest) = 22;
        /// Switch: these.
        QueueConfig(QueueConfig) = 23;
        /// Controller: may I have this role?
        RoleRequest(Role) = 24;
        /// Switch: you have it.
        RoleReply(Role) = 25;
        /// Controller: what do you tell me unasked?
        AsyncRequest = 26;
        /// Switch: this.
        AsyncReply(AsyncConfig) = 27;
        /// Controller: tell me this unasked.
        SetAsync(AsyncConfig) = 28;
        /// Controller: change a meter.
        MeterMod(MeterMod) = 29;
    }
}
