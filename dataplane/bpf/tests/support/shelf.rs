//! Loaded programs that tests hand on to each other: the kernel looks at programs for long before it takes them, which in an
//! emulated guest is seconds.

use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

/// How many are kept: those given back longest ago go first.
const MOST: usize = 32;

/// Programs that nobody has at the moment, each with what tells it from others.
pub struct Shelf<K, P> {
    spare: Mutex<Vec<(K, P)>>,
}

impl<K: PartialEq, P> Shelf<K, P> {
    pub const fn new() -> Self {
        Self { spare: Mutex::new(Vec::new()) }
    }

    /// Programs of a kind, with empty tables: those that are there, or others that are loaded now.
    pub fn lend(&'static self, kind: K, clear: impl FnOnce(&P), load: impl FnOnce() -> P) -> Lent<K, P> {
        let found = {
            let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
            let place = spare.iter().position(|(known, _)| *known == kind);
            place.map(|place| spare.remove(place).1)
        };
        let programs = match found {
            Some(programs) => {
                clear(&programs);
                programs
            }
            None => load(),
        };
        Lent { programs: Some(programs), back_to: Some((self, kind)) }
    }
}

/// Programs that a test has, until it ends well.
pub struct Lent<K: 'static, P: 'static> {
    programs: Option<P>,
    back_to: Option<(&'static Shelf<K, P>, K)>,
}

impl<K, P> From<P> for Lent<K, P> {
    /// Programs that nobody gets afterwards.
    fn from(programs: P) -> Self {
        Self { programs: Some(programs), back_to: None }
    }
}

impl<K, P> Deref for Lent<K, P> {
    type Target = P;

    fn deref(&self) -> &P {
        self.programs.as_ref().expect("there until it is dropped")
    }
}

impl<K, P> Drop for Lent<K, P> {
    fn drop(&mut self) {
        let (Some(programs), Some((shelf, kind))) = (self.programs.take(), self.back_to.take()) else {
            return;
        };
        if std::thread::panicking() {
            return;
        }
        let mut spare = shelf.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() == MOST {
            spare.remove(0);
        }
        spare.push((kind, programs));
    }
}
