//! What rounds of looks say together. Knows no clock and starts nothing: looks are asked for, and what they showed is
//! told with its instants.

use super::tables::{is_open, routes};
use crate::section::{Condition, Protocol};
use crate::world::Ended;
use std::collections::BTreeSet;
use std::time::Duration;

/// Choice: rounds are so far apart that looking costs little beside what is measured, and near enough for a person.
const PORT_PAUSE: Duration = Duration::from_millis(100);
const ROUTES_PAUSE: Duration = Duration::from_millis(250);
const TRY_PAUSE: Duration = Duration::from_millis(200);

/// A look that is to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Asked<'a> {
    pub node: &'a str,
    pub command: &'a str,
    /// Whether what the command prints is to be read.
    pub is_table: bool,
}

/// What a look showed.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// How its command ended.
    pub ended: Option<Ended>,
    /// What it printed, where that was asked for.
    pub table: String,
    /// The last line it printed.
    pub words: String,
}

/// What was seen so far.
pub(super) struct Watch<'a> {
    condition: &'a Condition,
    /// The routes of each router.
    routes: Vec<BTreeSet<String>>,
    /// Since when they have been so: the end of the first round that saw them.
    since: Option<Duration>,
    /// What is missing, in words.
    why: Option<String>,
}

impl<'a> Watch<'a> {
    pub fn new(condition: &'a Condition) -> Self {
        Self { condition, routes: Vec::new(), since: None, why: None }
    }

    /// The looks of one round.
    pub fn looks(&self) -> Vec<Asked<'a>> {
        let table = |node: &'a String, command: &'static str| Asked { node, command, is_table: true };
        match self.condition {
            Condition::Port { protocol: Protocol::Tcp, node, .. } => {
                vec![table(node, "exec cat /proc/net/tcp /proc/net/tcp6")]
            }
            Condition::Port { protocol: Protocol::Udp, node, .. } => {
                vec![table(node, "exec cat /proc/net/udp /proc/net/udp6")]
            }
            Condition::Routes { routers, .. } => routers
                .iter()
                .map(|node| table(node, "exec cat /proc/net/route /proc/net/ipv6_route"))
                .collect(),
            Condition::Passes { node, exec } => vec![Asked { node, command: exec, is_table: false }],
        }
    }

    /// How long to wait between the end of a round and the next.
    pub fn pause(&self) -> Duration {
        match self.condition {
            Condition::Port { .. } => PORT_PAUSE,
            Condition::Routes { .. } => ROUTES_PAUSE,
            Condition::Passes { .. } => TRY_PAUSE,
        }
    }

    /// Takes what a round showed, which lasted from one instant to another, in the order in which it was asked for.
    /// Returns whether the condition holds.
    pub fn holds(&mut self, from: Duration, to: Duration, seen: &[Seen]) -> bool {
        match self.condition {
            Condition::Port { protocol, port, .. } => {
                self.why = seen.iter().find_map(unreadable);
                seen.iter().any(|seen| is_open(&seen.table, *protocol, *port))
            }
            Condition::Routes { routers, quiet } => {
                self.note_routes(routers, to, seen);
                // They were so at the end of that round and at the start of this one.
                self.since.is_some_and(|since| from >= since + Duration::from(*quiet))
            }
            Condition::Passes { .. } => {
                self.why = seen.first().map(failed_try);
                !seen.is_empty() && seen.iter().all(|seen| seen.ended == Some(Ended::Exit(0)))
            }
        }
    }

    /// What is missing, where more can be said than the condition does.
    pub fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    /// Takes note of the routes, and of whether they are still those of the round before.
    fn note_routes(&mut self, routers: &[String], to: Duration, seen: &[Seen]) {
        if let Some((router, why)) =
            routers.iter().zip(seen).find_map(|(router, seen)| Some((router, unreadable(seen)?)))
        {
            self.since = None;
            self.why = Some(format!("on {router}, {why}"));
            return;
        }
        let now: Vec<_> = seen.iter().map(|seen| routes(&seen.table)).collect();
        // A router that was seen for the first time has not changed.
        let mut pairs = routers.iter().zip(self.routes.iter().zip(&now));
        let changed = pairs.find(|(_, (before, now))| before != now).map(|(router, _)| router);
        if let Some(router) = changed {
            self.why = Some(format!("the routes of {router} changed last"));
        }
        if changed.is_some() || self.since.is_none() {
            self.routes = now;
            self.since = Some(to);
        }
    }
}

/// Why a table tells nothing: every one has a head.
fn unreadable(seen: &Seen) -> Option<String> {
    seen.table.is_empty().then(|| format!("`cat` printed nothing: {}", seen.words))
}

fn failed_try(seen: &Seen) -> String {
    let end = match seen.ended {
        Some(Ended::Exit(code)) => format!("exited with {code}"),
        Some(Ended::Signal(signal)) => format!("was ended by signal {signal}"),
        Some(Ended::TimedOut | Ended::Stopped) | None => "was not done in time".to_owned(),
    };
    match seen.words.as_str() {
        "" => format!("the last try {end}"),
        words => format!("the last try {end}: {words}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_model_quantity::TimeSpan;

    fn table(text: &str) -> Seen {
        Seen {
            ended: Some(Ended::Exit(0)),
            table: format!("Iface Destination\n{text}"),
            words: String::new(),
        }
    }

    const ROUTE: &str = "eth0\t0001000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";

    #[test]
    fn routes_are_stable_when_two_seconds_lie_between_two_equal_rounds() {
        let quiet = TimeSpan::from_millis(2_000);
        let condition = Condition::Routes { routers: vec!["r".into(), "s".into()], quiet };
        let mut watch = Watch::new(&condition);
        let at = Duration::from_millis;
        let [empty, one] = [[table(""), table("")], [table(""), table(ROUTE)]];
        assert!(!watch.holds(at(0), at(10), &empty));
        assert!(!watch.holds(at(1000), at(1010), &one), "s has learnt a route");
        assert_eq!(watch.why(), Some("the routes of s changed last"));
        assert!(!watch.holds(at(2500), at(2510), &one));
        assert!(
            !watch.holds(at(3009), at(3020), &one),
            "2 s from the end of a round to the start of another"
        );
        assert!(watch.holds(at(3010), at(3020), &one));
    }

    #[test]
    fn a_table_that_cannot_be_read_is_not_stable() {
        let condition = Condition::Routes { routers: vec!["r".into()], quiet: TimeSpan::from_millis(2_000) };
        let mut watch = Watch::new(&condition);
        let nothing = Seen { ended: Some(Ended::Exit(127)), table: String::new(), words: "no cat".into() };
        for second in 0..9 {
            let at = Duration::from_secs(second);
            assert!(!watch.holds(at, at, std::slice::from_ref(&nothing)));
        }
        assert_eq!(watch.why(), Some("on r, `cat` printed nothing: no cat"));
    }

    #[test]
    fn a_try_that_fails_says_how() {
        let condition = Condition::Passes { node: "a".into(), exec: "x".into() };
        let mut watch = Watch::new(&condition);
        let tried =
            |ended, words: &str| [Seen { ended: Some(ended), table: String::new(), words: words.into() }];
        assert!(!watch.holds(Duration::ZERO, Duration::ZERO, &tried(Ended::Exit(2), "no route")));
        assert_eq!(watch.why(), Some("the last try exited with 2: no route"));
        assert!(watch.holds(Duration::ZERO, Duration::ZERO, &tried(Ended::Exit(0), "")));
    }
}
