//! By which ways out locators are reached, as the kernel said when it was asked last.

use crate::{Exit, Rerouted};
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::IpAddr;

/// Pairs of locators that are remembered. Choice: more than most nodes have, in some 20 MB; who has more asks again now and then.
const MOST: usize = 1 << 18;

/// What the kernel said of pairs of locators, an own one first.
#[derive(Debug, Default)]
pub(super) struct Routes {
    known: RefCell<HashMap<(IpAddr, IpAddr), Option<Exit>>>,
}

impl Routes {
    /// The way out by which packets from an own locator reach another's; asks, if that is not known.
    pub fn exit(&self, from: IpAddr, to: IpAddr, ask: impl FnOnce() -> Option<Exit>) -> Option<Exit> {
        if let Some(known) = self.known.borrow().get(&(from, to)) {
            return *known;
        }
        let found = ask();
        let mut known = self.known.borrow_mut();
        if known.len() >= MOST {
            // Those of locators that are gone among them.
            known.clear();
        }
        known.insert((from, to), found);
        found
    }

    /// Forgets what may be otherwise now.
    pub fn forget(&self, changed: &Rerouted) {
        self.known.borrow_mut().retain(|(_, to), _| !changed.covers(*to));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Neighbour;
    use std::net::Ipv4Addr;

    #[test]
    fn of_a_prefix_that_changed_what_it_covers_is_asked_again_and_nothing_else() {
        let routes = Routes::default();
        let from = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
        let asked = |gateway: u8| {
            let mut asked = 0;
            for number in 0..10_000u32 {
                let to = IpAddr::V4(Ipv4Addr::from_bits(0x0a00_0000 + number));
                routes.exit(from, to, || {
                    asked += 1;
                    let address = Ipv4Addr::new(192, 0, 2, gateway).into();
                    Some(Exit { neighbour: Neighbour { interface: 7, address }, mtu: None })
                });
            }
            asked
        };
        assert_eq!((asked(2), asked(3)), (10_000, 0));
        let mut changed = Rerouted::default();
        changed.add("10.0.1.0/24".parse().unwrap());
        routes.forget(&changed);
        assert_eq!((asked(3), asked(4)), (256, 0));
        let by = |to: [u8; 4]| routes.exit(from, IpAddr::from(to), || None).map(|by| by.neighbour.address);
        assert_eq!(by([10, 0, 1, 9]), Some([192, 0, 2, 3].into()));
        assert_eq!(by([10, 0, 2, 9]), Some([192, 0, 2, 2].into()));
        routes.forget(&Rerouted::all());
        assert_eq!(asked(4), 10_000);
    }
}
