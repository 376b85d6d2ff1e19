//! OpenFlow 1.0: its specification's version 1.0.0, wire protocol 0x01.
//!
//! | what | where |
//! |---|---|
//! | which messages there are | [`Body`] |
//! | packets to and from the controller | [`packet_in`], [`packet_out`] |
//! | flows: which packets, what happens to them | [`flow_match`], [`action`] |
//! | their coming and going | [`flow_mod`], [`flow_removed`] |
//! | the switch and its ports | [`switch`], [`port`], [`queue`] |
//! | what it has counted | [`statistics`] |
//! | what it refuses | [`error`] |

pub mod action;
pub mod error;
pub mod flow_match;
pub mod flow_mod;
pub mod flow_removed;
pub mod packet_in;
pub mod packet_out;
pub mod port;
pub mod queue;
pub mod statistics;
pub mod switch;

pub use action::Action;
pub use error::{Error, Reason};
pub use flow_match::{Match, Wildcards};
pub use flow_mod::FlowMod;
pub use flow_removed::FlowRemoved;
pub use packet_in::PacketIn;
pub use packet_out::PacketOut;
pub use port::{Port, PortMod, PortNumber, PortStatus};
pub use queue::{QueueConfig, QueueConfigRequest};
pub use statistics::{StatisticsReply, StatisticsRequest};
pub use switch::{Config, Features};

use super::codec::{Reader, Writer};
use super::message::message;
use super::tables::{choice, codes};
use super::{Frame, Hello, TooLong};
use crate::{Fault, Malformed};

/// What the header of its messages says.
pub const VERSION: u8 = 0x01;
const NAME: &str = "OpenFlow 1.0";

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
        Vendor {
            /// Whose.
            vendor: u32,
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
        /// Controller: change a port.
        PortMod(PortMod) = 15;
        /// Controller: what have you counted?
        StatisticsRequest(StatisticsRequest) = 16;
        /// Switch: this.
        StatisticsReply(StatisticsReply) = 17;
        /// Controller: answer when all before this is done.
        BarrierRequest = 18;
        /// Switch: it is.
        BarrierReply = 19;
        /// Controller: which queues has a port?
        QueueConfigRequest(QueueConfigRequest) = 20;
        /// Switch: these.
        QueueConfig(QueueConfig) = 21;
    }
}

codes! {
    /// A flow table.
    pub struct TableId(u8) {
        /// The table of flows for emergencies, in requests.
        EMERGENCY = 0xfe,
        /// Every table, in requests.
        ALL = 0xff,
    }
}
