//! The flows heard of last.

use super::tables::{Flow, FlowKey};
use std::collections::{BTreeMap, HashMap};

/// What is known of flows, and of so many at most: a further one takes the place of the one that was silent for longest.
///
/// The kernel's table takes one that was silent for long, not always the longest.
#[derive(Debug, Clone)]
pub struct Flows {
    most: usize,
    known: HashMap<FlowKey, Flow>,
    /// By when each was heard of when its place was looked at last, which is no later than it really was.
    order: BTreeMap<(u64, u64), FlowKey>,
    placed: u64,
}

impl Flows {
    /// Room for so many flows.
    ///
    /// # Panics
    /// When there is none.
    pub fn new(most: usize) -> Self {
        assert!(most > 0, "a table without room knows no flows");
        Self { most, known: HashMap::new(), order: BTreeMap::new(), placed: 0 }
    }

    /// How many flows are known.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// What is known of a flow.
    pub fn get(&self, key: &FlowKey) -> Option<&Flow> {
        self.known.get(key)
    }

    /// All of them, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&FlowKey, &Flow)> {
        self.known.iter()
    }

    /// What is known of a flow, to be changed.
    pub(super) fn get_mut(&mut self, key: &FlowKey) -> Option<&mut Flow> {
        self.known.get_mut(key)
    }

    /// A flow that was not known, or is to be known anew.
    pub(super) fn insert(&mut self, key: FlowKey, flow: Flow) {
        if !self.known.contains_key(&key) {
            if self.known.len() >= self.most {
                self.forget_one();
            }
            self.place(flow.heard, key);
        }
        self.known.insert(key, flow);
    }

    fn place(&mut self, heard: u64, key: FlowKey) {
        self.placed += 1;
        self.order.insert((heard, self.placed), key);
    }

    fn forget_one(&mut self) {
        while let Some(((placed, _), key)) = self.order.pop_first() {
            match self.known.get(&key).map(|flow| flow.heard) {
                Some(heard) if heard > placed => self.place(heard, key),
                _ => {
                    self.known.remove(&key);
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::mapped;
    use super::super::tables::FlowPlace;
    use super::*;

    fn key(number: u8) -> FlowKey {
        let (source, destination) = (mapped([10, 0, 0, 1].into()), mapped([10, 0, 0, 2].into()));
        FlowKey { source, destination, ports: [0, number, 0, 9], protocol: 17 }
    }

    #[test]
    fn the_flow_that_was_silent_for_longest_makes_room() {
        let mut flows = Flows::new(3);
        let place = FlowPlace { set: 1, list: 0, name: 0 };
        let flow = |heard| Flow::heard(1, 100, heard, place);
        for number in 1..=3 {
            flows.insert(key(number), flow(number.into()));
        }
        flows.get_mut(&key(1)).unwrap().heard = 4;
        flows.insert(key(4), flow(5));
        let known =
            |flows: &Flows| (1..=5).filter(|number| flows.get(&key(*number)).is_some()).collect::<Vec<_>>();
        assert_eq!(known(&flows), [1, 3, 4]);
        flows.insert(key(5), flow(6));
        assert_eq!((known(&flows), flows.len()), (vec![1, 4, 5], 3));
    }
}
