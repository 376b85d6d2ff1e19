//! Drivers: events become views, and views become messages to devices (thesis §3.2.3).

use crate::{Content, Name, Signature, Snapshot, View, ViewId};

/// What stands between the runtime and one sort of device. It decides nothing, and does no I/O either: whoever has the
/// sockets gives it events and sends its messages.
pub trait Driver {
    /// What happens on devices.
    type Event;
    /// What devices are told.
    type Message;

    /// Its name, which no application has.
    fn name(&self) -> Name;

    /// What it writes when something happens (`outputs`), and of which views it wants to know (`inputs`).
    fn signature(&self) -> Signature;

    /// What an event changes. All of it is seen at once. A state that a driver writes, nobody else writes.
    fn observe(&mut self, event: Self::Event, views: &Snapshot) -> Vec<(ViewId, Content)>;

    /// What devices are told when a view changed from `before`, or when there is a batch of a stream.
    fn push(&mut self, view: &ViewId, before: Option<&Content>, now: &Content) -> Vec<Self::Message>;
}

/// A view, if its content is another than the one that is there, as [`Driver::observe`] gives it: what only repeats sets
/// nothing off.
pub fn changed<T: View + PartialEq>(now: T, views: &Snapshot) -> Option<(ViewId, Content)> {
    let known = views.content(&T::id()).and_then(|content| content.read::<T>().ok());
    (known.as_deref() != Some(&now)).then(|| (T::id(), Content::new(now)))
}
