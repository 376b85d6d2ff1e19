//! Which of a prefix's relay lists a packet goes by (§5.4.1, §5.5.1).
//!
//! A [`Selector`] is of one prefix. It is asked for each packet, and says by which list it goes and when. Packets of a flow
//! go by one list, but where a flow is moved, and then in order: see [`Placement`].
//!
//! | [`Policy`] | a new flow's list | later |
//! |---|---|---|
//! | `Hash` | by its hash, like ECMP | |
//! | `Weighted` | by its hash, each list its weight's share | |
//! | `RoundRobin` | the next one: each subflow of MPTCP is a flow | |
//! | `FlowBased` | by its hash | Algorithm 1: [`Rearrangement`] |
//!
//! Where programs of a kernel place packets, a [`Rearranger`] says by their counters which flows they are to move.

mod flow;
mod rearrange;
mod rearranger;
mod selector;

pub use flow::FlowKey;
pub use rearrange::{FlowShare, Rearrangement, rearranged};
pub use rearranger::Rearranger;
pub use selector::{Placement, Policy, Selector, SelectorConfig};
