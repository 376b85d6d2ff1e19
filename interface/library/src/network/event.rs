//! An event of a run, in the closures of [`Network::at`](crate::Network::at) and
//! [`Network::until_with`](crate::Network::until_with).

use super::Conditions;
use super::key::{any_key, flags, keys};
use crate::place::Place;
use crate::written::Written;

/// A command (`on` and `exec`), a change (`link` or `node`), or a wait.
#[derive(Debug, Clone)]
pub struct Event(pub(super) Written);

impl Event {
    pub(super) fn new() -> Self {
        Self(Written::map())
    }

    /// Lays conditions over those the link has: `|link| link.delay("50ms")`.
    #[must_use]
    #[track_caller]
    pub fn set(mut self, change: impl FnOnce(Conditions) -> Conditions) -> Self {
        self.0.set("set", change(Conditions::new()).0, Place::here());
        self
    }

    keys! {
        /// The node, or the list of nodes, on which `exec` runs.
        on
        /// A line for the shell.
        exec
        /// What to call the command in the results; the program's name when not said.
        name
        /// The exit code that counts as success (0 when not said), or `"any"`.
        expect
        /// When the command is stopped if it has not ended, or a wait has failed: `"10s"`.
        timeout
        /// The link that changes.
        link
        /// Which direction of the link: `"forward"`, `"reverse"`, or `"both"` when not said.
        direction
        /// The node that fails or recovers.
        node
    }

    flags! {
        /// Lets the command accompany the run, such as a server: the run does not wait for it, and stops it
        /// at the end.
        background
        /// Makes the link or node fail: nothing passes.
        fail
        /// Makes the link or node work again.
        recover
    }

    any_key!();
}
