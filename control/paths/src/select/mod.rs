//! Which flow of a prefix is to go by another of its relay lists (Algorithm 1, §5.4.1).
//!
//! Which list a flow goes by, and that its packets never overtake each other, is of who sends them: programs of a kernel, or
//! `dataplane/reference` where there is none. By their counters a [`Rearranger`] says which flows they are to move.
//!
//! | selector | a new flow's list | later |
//! |---|---|---|
//! | hash | by its hash, like ECMP | |
//! | weighted | by its hash, each list its weight's share | |
//! | round robin | the next one: each subflow of MPTCP is a flow | |
//! | flow-based | by its hash | Algorithm 1: [`Rearrangement`] |

mod rearrange;
mod rearranger;

pub use rearrange::{Candidates, FlowShare, Reading, Rearrangement, Window, rearranged};
pub use rearranger::Rearranger;
