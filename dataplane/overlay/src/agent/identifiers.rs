//! Where identifiers are said to be.

use crate::Identifier;
use plait_model_overlay::{Application, NodeId};
use std::collections::{BTreeMap, BTreeSet};

/// An identifier on a device, by its name.
pub(super) type Key = (String, Identifier);

/// Where identifiers are said to be: by people, and by existing control planes, whose word holds where nobody else says anything.
#[derive(Debug, Default)]
pub(super) struct Identifiers {
    by_hand: BTreeMap<Key, NodeId>,
    told: BTreeMap<Key, NodeId>,
    /// Those that hold, by their nodes, whose paths they wait for.
    waiting: BTreeMap<(Application, NodeId), BTreeSet<Key>>,
}

impl Identifiers {
    /// What people said.
    pub fn by_hand(&self) -> impl Iterator<Item = (&Key, NodeId)> {
        self.by_hand.iter().map(|(key, node)| (key, *node))
    }

    /// What control planes tell.
    pub fn told(&self) -> impl Iterator<Item = (&Key, NodeId)> {
        self.told.iter().map(|(key, node)| (key, *node))
    }

    /// The identifiers that are at a node.
    pub fn at(&self, application: Application, node: NodeId) -> Vec<Key> {
        self.waiting.get(&(application, node)).into_iter().flatten().cloned().collect()
    }

    /// Those on a device of an application, and their nodes.
    pub fn on<'a>(
        &'a self,
        application: Application,
        device: &'a str,
    ) -> impl Iterator<Item = (Identifier, NodeId)> + 'a {
        let its = self.waiting.iter().filter(move |((of, _), _)| *of == application);
        its.flat_map(move |((_, node), keys)| {
            keys.iter().filter(move |(name, _)| name == device).map(|(_, identifier)| (*identifier, *node))
        })
    }

    /// Somebody says where one is. Whether that is news.
    pub fn say(&mut self, application: Application, key: Key, node: NodeId) -> bool {
        let before = self.holds(&key);
        let is_news = self.by_hand.insert(key.clone(), node) != Some(node);
        self.wait(application, &key, before);
        is_news
    }

    /// Somebody takes back what was said. Whether anything had been, and where it is from now on.
    pub fn take_back(&mut self, application: Application, key: &Key) -> (bool, Option<NodeId>) {
        let before = self.by_hand.remove(key);
        if before.is_some() {
            self.wait(application, key, before);
        }
        (before.is_some(), self.holds(key))
    }

    /// A control plane tells where one is, or that it is nowhere. Where it was before, if its word holds.
    pub fn tell(
        &mut self,
        application: Application,
        key: &Key,
        node: Option<NodeId>,
    ) -> Option<Option<NodeId>> {
        let before = match node {
            Some(node) => self.told.insert(key.clone(), node),
            None => self.told.remove(key),
        };
        if self.by_hand.contains_key(key) {
            return None;
        }
        self.wait(application, key, before);
        Some(before)
    }

    /// A device is gone, and all that was said of it.
    pub fn forget(&mut self, device: &str) {
        self.by_hand.retain(|(name, _), _| name != device);
        self.told.retain(|(name, _), _| name != device);
        self.waiting.values_mut().for_each(|keys| keys.retain(|(name, _)| name != device));
    }

    /// What somebody said in a former life. Nothing waits until [`begin`](Self::begin).
    pub fn restore(&mut self, key: Key, node: Option<NodeId>) {
        match node {
            Some(node) => self.by_hand.insert(key, node),
            None => self.by_hand.remove(&key),
        };
    }

    /// What was restored waits for its nodes' paths, of the devices that there are.
    pub fn begin(&mut self, application: impl Fn(&str) -> Option<Application>) {
        for (key, node) in &self.by_hand {
            if let Some(application) = application(&key.0) {
                self.waiting.entry((application, *node)).or_default().insert(key.clone());
            }
        }
    }

    /// The node whose word holds.
    fn holds(&self, key: &Key) -> Option<NodeId> {
        self.by_hand.get(key).or_else(|| self.told.get(key)).copied()
    }

    /// One waits for the path of the node at which it is now, and no more of where it was.
    fn wait(&mut self, application: Application, key: &Key, before: Option<NodeId>) {
        if let Some(waiting) = before.and_then(|node| self.waiting.get_mut(&(application, node))) {
            waiting.remove(key);
        }
        if let Some(node) = self.holds(key) {
            self.waiting.entry((application, node)).or_default().insert(key.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPLICATION: Application = Application::ETHERNET;

    fn key(last: u8) -> Key {
        ("ov0".to_owned(), Identifier::Station([2, 0, 0, 0, 0, last]))
    }

    #[test]
    fn what_is_said_by_hand_holds_before_what_is_told_however_that_changes() {
        let mut known = Identifiers::default();
        let at = |known: &Identifiers, node: u32| known.at(APPLICATION, NodeId(node));
        assert_eq!(known.tell(APPLICATION, &key(1), Some(NodeId(7))), Some(None));
        assert!(known.say(APPLICATION, key(1), NodeId(8)) && !known.say(APPLICATION, key(1), NodeId(8)));
        assert_eq!((at(&known, 7), at(&known, 8)), (vec![], vec![key(1)]));
        // It goes, and comes at the same node and at another: nothing of that holds, nor waits.
        for node in [None, Some(NodeId(7)), Some(NodeId(9))] {
            assert_eq!(known.tell(APPLICATION, &key(1), node), None);
            assert_eq!((at(&known, 7), at(&known, 9), at(&known, 8)), (vec![], vec![], vec![key(1)]));
        }
        assert_eq!(known.take_back(APPLICATION, &key(1)), (true, Some(NodeId(9))));
        assert_eq!((at(&known, 9), at(&known, 8)), (vec![key(1)], vec![]));
        assert_eq!(known.take_back(APPLICATION, &key(1)), (false, Some(NodeId(9))));
        assert_eq!(known.tell(APPLICATION, &key(1), None), Some(Some(NodeId(9))));
        assert_eq!((at(&known, 9), known.told().count()), (vec![], 0));
    }

    #[test]
    fn of_a_device_that_is_gone_nothing_waits() {
        let mut known = Identifiers::default();
        let other = ("ov1".to_owned(), Identifier::Station([2; 6]));
        known.say(APPLICATION, key(1), NodeId(7));
        known.tell(APPLICATION, &key(2), Some(NodeId(7)));
        known.say(APPLICATION, other.clone(), NodeId(7));
        assert_eq!(known.on(APPLICATION, "ov0").count(), 2);
        known.forget("ov0");
        assert_eq!(known.at(APPLICATION, NodeId(7)), [other]);
        assert_eq!((known.by_hand().count(), known.told().count()), (1, 0));
    }

    #[test]
    fn what_a_former_life_was_told_waits_where_its_device_is() {
        let mut known = Identifiers::default();
        known.restore(key(1), Some(NodeId(7)));
        known.restore(key(2), Some(NodeId(7)));
        known.restore(key(2), None);
        known.restore(("gone".to_owned(), key(1).1), Some(NodeId(7)));
        known.begin(|device| (device == "ov0").then_some(APPLICATION));
        assert_eq!(known.at(APPLICATION, NodeId(7)), [key(1)]);
    }
}
