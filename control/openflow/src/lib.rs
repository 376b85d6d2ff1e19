//! What an OpenFlow controller decides. Nothing here has a socket, a thread or a clock: bytes and time go in, bytes and
//! decisions come out, and a driver with threads of its own carries them.
//!
//! ```text
//!  bytes of a switch                                                       bytes to a switch
//!        │                                                                         ▲
//!        ▼                                                                         │
//!      chop ────────────► parse ────────────► applications ────────────► output ───┘
//!  Connection cuts       packet-ins stay     a batch of requests       grouped by switch,
//!  the stream: a switch  where they lie,     at a time                 bounded
//!  a time                all else whole
//! ```
//!
//! 1. [`Connection`] – one switch: versions, liveness, roles, barriers, and what may be held of it,
//! 2. [`Batch`] – how many requests at once: the threshold that adapts to rate and load; [`LatencyBound`] – what bounds
//!    latency from end to end,
//! 3. [`Rounds`] – whose turn it is: four designs, of which [`max_min()`] says how fair they are,
//! 4. [`PacketIns`], [`Probes`], [`Commands`], [`Switches`], [`SwitchEvents`] – the views through which applications see switches, in
//!    words that both versions have: [`Fields`], [`Actions`], [`Port`],
//! 5. [`Session`], [`Switchboard`] – from connections to views, and from commands to switches,
//! 6. [`Staged`], [`Gate`] – commands that wait until other switches have done theirs,
//! 7. [`Debt`] – deletions that a switch was not there to be told; [`Mark`] – whose a flow is,
//! 8. [`Identity`] – who had a datapath last that is away,
//! 9. [`Role`], [`Candidacy`] – what a controller is to a switch beside other controllers.
//!
//! Source: Zheng Cai, *Maestro: Achieving Scalability and Coordination in Centralized Network Control Plane*, Rice
//! University 2011, chapter 4; OpenFlow Switch Specification 1.0.0 and 1.3.5.

#![forbid(unsafe_code)]

mod action;
pub mod batch;
pub mod bound;
mod command;
pub mod connection;
mod debt;
pub mod distribute;
mod early;
mod fields;
mod gone;
mod holders;
mod mark;
mod max_min;
mod nicira;
mod packet_ins;
mod port;
mod ports;
mod role;
mod session;
mod stages;
mod switchboard;
mod switches;
mod version;

pub use action::{Action, Actions};
pub use batch::{Batch, Batching};
pub use bound::{LatencyBound, Waiting};
pub use command::{
    Between, Change, Command, Commands, Flow, NotSaid, Order, Packet, PacketOut, StationFlows,
};
pub use connection::{Bundle, Connection, Event, Hot, NotSent, Switch};
pub use debt::Debt;
pub use distribute::{Design, Rounds, Tried, dynamic_partition, fewest, static_partition};
pub use fields::Fields;
pub use holders::Identity;
pub use mark::Mark;
pub use max_min::max_min;
pub use packet_ins::{PacketIn, PacketIns, Probes};
pub use port::Port;
pub use ports::Ports;
pub use role::{Candidacy, NotGranted, Role};
pub use session::{News, NotTold, Session};
pub use stages::{Gate, Passed, Staged, Step, Token, Told};
pub use switchboard::Switchboard;
pub use switches::{FlowRemoved, PortInfo, SwitchEvent, SwitchEvents, SwitchInfo, Switches};
pub use version::{Refusal, Version};
