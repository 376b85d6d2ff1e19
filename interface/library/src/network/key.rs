//! Methods that each write one key of the file.

/// A method for each key: its name is the key's, and it takes whatever may be written there.
macro_rules! keys {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[must_use]
        #[track_caller]
        pub fn $name(mut self, value: impl Into<Written>) -> Self {
            self.0.set(stringify!($name), value, Place::here());
            self
        }
    )* };
}

/// A method for each key that is true where it is written.
macro_rules! flags {
    ($($(#[$doc:meta])* $name:ident)*) => { $(
        $(#[$doc])*
        #[must_use]
        #[track_caller]
        pub fn $name(mut self) -> Self {
            self.0.set(stringify!($name), true, Place::here());
            self
        }
    )* };
}

/// The door to keys that have no method.
macro_rules! any_key {
    () => {
        /// Writes any other key, such as one that a room outside the core gives meaning to.
        #[must_use]
        #[track_caller]
        pub fn key(mut self, name: &str, value: impl Into<Written>) -> Self {
            self.0.set(name, value, Place::here());
            self
        }
    };
}

/// What may be asked of one direction of a link.
macro_rules! conditions {
    () => {
        keys! {
            /// How fast bits leave, counted over whole Ethernet frames: `"10Mbit"`. Served exactly, without
            /// bursts.
            rate
            /// A file with lines of `time rate`, replayed from the start and repeated. Instead of `rate`.
            rate_trace
            /// One-way delay: `"20ms"`.
            delay
            /// Variation of the delay: `"2ms"`, which is uniform, or a map.
            jitter
            /// Which packets vanish: `"1%"`, or a map.
            loss
            /// The share of packets that skip the delay and so overtake others: `"1%"`.
            reorder
            /// The share of packets that arrive twice: `"0.1%"`.
            duplicate
            /// The share of packets that arrive with one bit flipped: `"0.01%"`.
            corrupt
            /// What may wait for the rate: `"50ms"`, `"64KiB"`, `"100p"`, or a map with `limit` and
            /// `discipline`.
            queue
        }
    };
}

/// Conditions of the other direction.
macro_rules! reverse {
    ($(#[$doc:meta])*) => {
        $(#[$doc])*
        #[must_use]
        #[track_caller]
        pub fn reverse(mut self, with: impl FnOnce(Conditions) -> Conditions) -> Self {
            self.0.set("reverse", with(Conditions::new()).0, Place::here());
            self
        }
    };
}

pub(super) use {any_key, conditions, flags, keys, reverse};
