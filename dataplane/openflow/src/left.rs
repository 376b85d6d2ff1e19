//! Deletions that nobody has told their switch, or of which nobody knows whether it has done them, until somebody keeps them for it.
//!
//! Whoever takes a link out of its slot leaves here, before anybody else can look into the slot, what its switch is owed; and so does
//! whoever finds no link to tell. Choice: beside the runtime, since whoever holds a link does not wait for that. Who meets the
//! switch's next connection finds it here in the same hold of the runtime in which it says whose the datapath is, and tells
//! it before applications tell anything.

use plait_control_openflow::Debt;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is left, by the switch.
#[derive(Default)]
pub struct Left(Mutex<HashMap<u64, Debt>>);

impl Left {
    /// A switch is owed this, too.
    pub fn add(&self, datapath: u64, debt: Debt) {
        self.hold().entry(datapath).or_default().join(debt);
    }

    /// Takes out what is left for a switch.
    pub fn take(&self, datapath: u64) -> Debt {
        self.hold().remove(&datapath).unwrap_or_default()
    }

    fn hold(&self) -> MutexGuard<'_, HashMap<u64, Debt>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
