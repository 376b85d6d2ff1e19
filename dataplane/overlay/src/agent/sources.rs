//! From which of its own addresses the kernel sends to others, as it said when it was asked last.

use crate::Rerouted;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;

/// Addresses that are remembered. Choice: more than most nodes speak to, in some 4 MB; who speaks to more asks again now and then.
const MOST: usize = 1 << 16;

/// What the kernel sends from, by whom it sends to.
#[derive(Debug, Default)]
pub(super) struct Sources {
    known: HashMap<IpAddr, IpAddr>,
}

impl Sources {
    /// The address that the kernel sends from to another; asks, if that is not known. What cannot be said now is asked again.
    pub fn of(&mut self, to: IpAddr, ask: impl FnOnce(IpAddr) -> io::Result<IpAddr>) -> Option<IpAddr> {
        if let Some(known) = self.known.get(&to) {
            return Some(*known);
        }
        let found = ask(to).ok()?;
        if self.known.len() >= MOST {
            // Those of nodes that are gone among them.
            self.known.clear();
        }
        self.known.insert(to, found);
        Some(found)
    }

    /// Forgets what may be otherwise now.
    pub fn forget(&mut self, changed: &Rerouted) {
        self.known.retain(|to, _| !changed.covers(*to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    /// Sends to so many, and how often the kernel was asked.
    fn send(sources: &mut Sources, count: u32, from: [u8; 4]) -> u32 {
        let mut asked = 0;
        for number in 0..count {
            let to = Ipv4Addr::from_bits(0x0a00_0000 + number).into();
            sources.of(to, |_| {
                asked += 1;
                Ok(from.into())
            });
        }
        asked
    }

    #[test]
    fn the_kernel_is_asked_once_for_each_until_a_route_to_it_changes() {
        let (one, other) = ([192, 0, 2, 1], [198, 51, 100, 1]);
        let mut sources = Sources::default();
        assert_eq!((send(&mut sources, 1000, one), send(&mut sources, 1000, other)), (1000, 0));
        let mut changed = Rerouted::default();
        changed.add("10.0.1.0/24".parse().unwrap());
        sources.forget(&changed);
        assert_eq!((send(&mut sources, 1000, other), send(&mut sources, 1000, one)), (256, 0));
        let mut from = |to: [u8; 4]| sources.of(to.into(), |_| panic!("it is known")).unwrap();
        assert_eq!((from([10, 0, 1, 9]), from([10, 0, 2, 9])), (other.into(), one.into()));
        sources.forget(&Rerouted::all());
        assert_eq!(send(&mut sources, 1000, one), 1000);
    }

    #[test]
    fn what_the_kernel_cannot_say_is_asked_again() {
        let mut sources = Sources::default();
        let to = [10, 0, 0, 1].into();
        assert_eq!(sources.of(to, |_| Err(io::ErrorKind::NetworkUnreachable.into())), None);
        assert_eq!(sources.of(to, |_| Ok([192, 0, 2, 1].into())), Some([192, 0, 2, 1].into()));
    }

    #[test]
    fn more_than_fit_are_answered_and_not_kept() {
        let mut sources = Sources::default();
        let many = MOST as u32 + 10;
        assert_eq!(send(&mut sources, many, [192, 0, 2, 1]), many);
        assert!(sources.known.len() <= MOST, "{}", sources.known.len());
    }
}
