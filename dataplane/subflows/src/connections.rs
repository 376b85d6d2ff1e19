//! Which subflows are to be opened, as connections and their subflows come and go.

use crate::event::{Ends, Event};
use serde::Serialize;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// How long after a subflow ended another one takes its place. Choice: what ended it may still be there, and whoever
/// refuses each is asked once a second.
const AGAIN: Duration = Duration::from_secs(1);

/// Something that became so with a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum News {
    /// It has this many subflows now.
    Subflows {
        /// The kernel's number of the connection.
        connection: u32,
        /// How many are open.
        open: usize,
    },
    /// It is over.
    Closed {
        /// The kernel's number of the connection.
        connection: u32,
    },
    /// The kernel would not open one more.
    Refused {
        /// The kernel's number of the connection.
        connection: u32,
        /// The kernel's reason, an `errno`.
        error: i32,
    },
}

/// One more subflow that is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub token: u32,
    pub ends: Ends,
}

/// Connections that this host opened.
pub(crate) struct Connections {
    /// Subflows for each.
    count: usize,
    all: HashMap<u32, Connection>,
}

struct Connection {
    ends: Ends,
    open: usize,
    /// When to make up for those that ended.
    again: Option<Instant>,
}

impl Connections {
    pub fn new(count: usize) -> Self {
        Self { count, all: HashMap::new() }
    }

    /// Takes in an event: what is to be opened at once, and what became so.
    pub fn heard(&mut self, event: &Event, now: Instant) -> (Vec<Wanted>, Option<News>) {
        match *event {
            Event::Established { token, ends, is_server } if !is_server => {
                self.all.insert(token, Connection { ends, open: 1, again: None });
                let wanted = vec![Wanted { token, ends }; self.count - 1];
                (wanted, Some(News::Subflows { connection: token, open: 1 }))
            }
            Event::Closed { token } => {
                (Vec::new(), self.all.remove(&token).map(|_| News::Closed { connection: token }))
            }
            Event::SubflowEstablished { token } => (Vec::new(), self.changed(token, 1, now)),
            Event::SubflowClosed { token } => (Vec::new(), self.changed(token, -1, now)),
            Event::Established { .. } | Event::Other => (Vec::new(), None),
        }
    }

    fn changed(&mut self, token: u32, by: isize, now: Instant) -> Option<News> {
        let connection = self.all.get_mut(&token)?;
        connection.open = connection.open.saturating_add_signed(by);
        if by < 0 {
            connection.again.get_or_insert(now + AGAIN);
        }
        Some(News::Subflows { connection: token, open: connection.open })
    }

    /// When [`due`](Self::due) has something to give.
    pub fn next(&self) -> Option<Instant> {
        self.all.values().filter_map(|connection| connection.again).min()
    }

    /// What is to be opened in place of what ended.
    pub fn due(&mut self, now: Instant) -> Vec<Wanted> {
        let mut wanted = Vec::new();
        for (&token, connection) in &mut self.all {
            if connection.again.take_if(|again| *again <= now).is_some() {
                // The kernel tells of a subflow's end while the connection itself ends, too; what it has none of is over.
                let missing =
                    if connection.open == 0 { 0 } else { self.count.saturating_sub(connection.open) };
                wanted.extend(std::iter::repeat_n(Wanted { token, ends: connection.ends }, missing));
            }
        }
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: u32 = 7;

    fn ends() -> Ends {
        Ends { local: "10.0.0.1".parse().unwrap(), remote: "10.0.0.2:80".parse().unwrap() }
    }

    fn open(connections: &mut Connections, now: Instant) -> Vec<Wanted> {
        connections.heard(&Event::Established { token: TOKEN, ends: ends(), is_server: false }, now).0
    }

    #[test]
    fn who_opens_a_connection_opens_its_other_subflows() {
        let now = Instant::now();
        let mut connections = Connections::new(8);
        assert_eq!(open(&mut connections, now), vec![Wanted { token: TOKEN, ends: ends() }; 7]);
        let (wanted, news) = connections.heard(&Event::SubflowEstablished { token: TOKEN }, now);
        assert!(wanted.is_empty());
        assert_eq!(news, Some(News::Subflows { connection: TOKEN, open: 2 }));
        assert_eq!(connections.next(), None);
    }

    #[test]
    fn who_is_asked_opens_none() {
        let mut connections = Connections::new(8);
        let event = Event::Established { token: TOKEN, ends: ends(), is_server: true };
        assert_eq!(connections.heard(&event, Instant::now()), (Vec::new(), None));
        let subflow = Event::SubflowEstablished { token: TOKEN };
        assert_eq!(connections.heard(&subflow, Instant::now()), (Vec::new(), None));
    }

    #[test]
    fn what_ends_is_made_up_for_a_second_later_and_together() {
        let now = Instant::now();
        let mut connections = Connections::new(4);
        open(&mut connections, now);
        for _ in 0..3 {
            connections.heard(&Event::SubflowEstablished { token: TOKEN }, now);
        }
        connections.heard(&Event::SubflowClosed { token: TOKEN }, now);
        connections.heard(&Event::SubflowClosed { token: TOKEN }, now + AGAIN / 2);
        assert_eq!(connections.next(), Some(now + AGAIN));
        assert!(connections.due(now + AGAIN / 2).is_empty());
        assert_eq!(connections.due(now + AGAIN).len(), 2);
        assert_eq!(connections.next(), None);
    }

    #[test]
    fn what_is_over_is_left() {
        let now = Instant::now();
        let mut connections = Connections::new(2);
        open(&mut connections, now);
        connections.heard(&Event::SubflowClosed { token: TOKEN }, now);
        assert!(connections.due(now + AGAIN).is_empty(), "no subflow is left to open another by");
        let (_, news) = connections.heard(&Event::Closed { token: TOKEN }, now);
        assert_eq!(news, Some(News::Closed { connection: TOKEN }));
        assert_eq!(connections.heard(&Event::Closed { token: TOKEN }, now).1, None);
    }
}
