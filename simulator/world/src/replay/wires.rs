//! Which way datagrams got through, and when: what one member sent and whether the other heard it.

use super::reading::Recording;
use plait_control_overlay::Sealed;
use plait_control_overlay::record::{Bytes, Event};
use plait_model_overlay::Application;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::net::IpAddr;
use std::time::Duration;

/// Datagrams lost in a row after which a way is taken for broken. Choice: as many as a member itself waits for.
const MISSED: usize = 3;

/// The ways between members, by their places, as time goes on.
#[derive(Debug, Default)]
pub(super) struct Wires {
    /// What changes when, the next one last.
    changes: Vec<(Duration, (usize, usize), State)>,
    broken: BTreeMap<(usize, usize), State>,
}

/// How a way from one member to another is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// Nothing is known against it.
    Good,
    /// What is sent is not heard, by one who hears others or is at work at least.
    Lost,
    /// What is sent is not heard by one of whom nothing is known meanwhile.
    Silent,
}

/// A member of the recordings, as it is met while they are read.
#[derive(Debug, Default)]
struct Met {
    /// When anything happened with it.
    active: Vec<Duration>,
    /// Messages that it heard: whose life, and which.
    heard: HashSet<(u64, u64)>,
    interval: Duration,
}

/// A message on its way: when it was sent, and which it is.
type Sent = (Duration, (u64, u64));

impl Wires {
    /// Looks through recordings in the order in which they are replayed, so that places are the same.
    pub fn of(recordings: &[Recording], order: impl Iterator<Item = (usize, usize)>) -> Self {
        let mut places: BTreeMap<(usize, Application), usize> = BTreeMap::new();
        let mut members: Vec<Met> = Vec::new();
        let mut at_locators: BTreeMap<(Application, IpAddr), usize> = BTreeMap::new();
        let mut all_sent = Vec::new();
        for (file, place) in order {
            let entry = &recordings[file].entries[place].1;
            let key = (file, entry.application);
            let member = match (places.get(&key), &entry.event) {
                (Some(member), _) => *member,
                (None, Event::Begin(_)) => {
                    places.insert(key, members.len());
                    members.push(Met::default());
                    members.len() - 1
                }
                // The replay refuses it.
                (None, _) => continue,
            };
            let met = &mut members[member];
            met.active.push(entry.at);
            let locators = match &entry.event {
                Event::Begin(begin) => {
                    met.interval = begin.interval;
                    Some(&begin.locators)
                }
                Event::Locators { locators } => Some(locators),
                Event::Heard { message: Bytes(message), .. } => {
                    met.heard.extend(Sealed::number_of(message));
                    None
                }
                Event::Sent { to, message: Bytes(message) } => {
                    // A locator that is another's later was not yet.
                    let to = (entry.application, *to);
                    let known = at_locators.get(&to).copied();
                    let number = Sealed::number_of(message);
                    all_sent.extend(number.map(|number| (member, to, known, (entry.at, number))));
                    None
                }
                _ => None,
            };
            for locator in locators.into_iter().flat_map(|locators| locators.keys()) {
                at_locators.insert((entry.application, *locator), member);
            }
        }
        let mut sent: BTreeMap<(usize, usize), Vec<Sent>> = BTreeMap::new();
        for (from, locator, known, message) in all_sent {
            // One that nobody had yet is that of who has it in the end.
            if let Some(to) = known.or_else(|| at_locators.get(&locator).copied()) {
                sent.entry((from, to)).or_default().push(message);
            }
        }
        let mut changes = Vec::new();
        for ((from, to), sent) in sent {
            for (since, until, state) in broken(&sent, members[from].interval, &members[to]) {
                changes.push((since, (from, to), state));
                changes.extend(until.map(|until| (until, (from, to), State::Good)));
            }
        }
        changes.sort_by(|a, b| b.cmp(a));
        Self { changes, broken: BTreeMap::new() }
    }

    /// When a way breaks or heals next.
    pub fn next_change(&self) -> Option<Duration> {
        self.changes.last().map(|(at, ..)| *at)
    }

    /// Goes on to an instant; whether any way is another then.
    pub fn pass(&mut self, at: Duration) -> bool {
        let mut is_changed = false;
        while let Some((_, wire, state)) = self.changes.pop_if(|(change, ..)| *change <= at) {
            is_changed = true;
            match state {
                State::Good => self.broken.remove(&wire),
                broken => self.broken.insert(wire, broken),
            };
        }
        is_changed
    }

    /// How the way from one to another is now.
    pub fn state(&self, from: usize, to: usize) -> State {
        self.broken.get(&(from, to)).copied().unwrap_or(State::Good)
    }
}

/// When a way was broken: from the first datagram that was lost until the first that was not.
///
/// Choice: one that is lost now and then breaks nothing. A way is broken where three in a row are lost, over an interval and
/// a half: so long nobody who is at work does nothing, and what is still under way at a recording's end does not count.
fn broken(sent: &[Sent], interval: Duration, to: &Met) -> Vec<(Duration, Option<Duration>, State)> {
    let mut found = Vec::new();
    let mut lost: Option<(Duration, Duration, usize)> = None;
    let mut close = |lost: Option<(Duration, Duration, usize)>, until: Option<Duration>| {
        let Some((first, last, count)) = lost else { return };
        if count < MISSED || last - first < interval + interval / 2 {
            return;
        }
        let after = to.active.partition_point(|at| *at <= first);
        let is_at_work = to.active.get(after).is_some_and(|at| *at <= last);
        found.push((first, until, if is_at_work { State::Lost } else { State::Silent }));
    };
    // In the order in which they were sent, each once.
    let mut seen = BTreeSet::new();
    for (at, number) in sent.iter().filter(|(_, number)| seen.insert(*number)) {
        if to.heard.contains(number) {
            close(lost.take(), Some(*at));
        } else {
            let (first, _, count) = lost.unwrap_or((*at, *at, 0));
            lost = Some((first, *at, count + 1));
        }
    }
    close(lost, None);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_control_overlay::Plane;
    use plait_control_overlay::record::{Begin, Entry};
    use plait_model_overlay::{Locators, NodeId, Weight};

    /// A member's entries, in seconds.
    fn recording(name: &str, events: impl IntoIterator<Item = (u64, Event)>) -> Recording {
        let entry =
            |(at, event)| Entry { at: Duration::from_secs(at), application: Application::ETHERNET, event };
        Recording::of(name, events.into_iter().map(entry))
    }

    fn begin(own: u32, locator: IpAddr) -> Event {
        Event::Begin(Box::new(Begin {
            own: NodeId(own),
            locators: Locators::from([(locator, Weight::default())]),
            group: None,
            seeds: Vec::new(),
            plane: Plane::Mesh,
            interval: Duration::from_secs(1),
            neighbours: None,
            draws: Vec::new(),
        }))
    }

    /// A message by its number.
    fn message(number: u8) -> Bytes {
        Bytes(vec![number; 24])
    }

    #[test]
    fn what_was_sent_to_a_locator_was_for_who_had_it_then() {
        let [own, other, elsewhere] = [1, 2, 3].map(|last| IpAddr::from([192, 0, 2, last]));
        let sent = |number: u8| (number.into(), Event::Sent { to: other, message: message(number) });
        let heard = |number: u8| {
            let message = message(number);
            (number.into(), Event::Heard { from: own, message, draws: Vec::new() })
        };
        // The locator is b's until 10 s, then c's; c hears nothing.
        let moved = (10, Event::Locators { locators: Locators::from([(elsewhere, Weight::default())]) });
        let recordings = [
            recording("a", [(0, begin(1, own))].into_iter().chain((1..20).map(sent))),
            recording("b", [(0, begin(2, other))].into_iter().chain((1..10).map(heard)).chain([moved])),
            recording("c", [(9, begin(3, elsewhere)), (10, begin(3, other)), (19, Event::Leave)]),
        ];
        let mut order: Vec<(usize, usize)> = (0..recordings.len())
            .flat_map(|file| (0..recordings[file].entries.len()).map(move |place| (file, place)))
            .collect();
        order.sort_by_key(|(file, place)| (recordings[*file].entries[*place].1.at, *file));
        let mut wires = Wires::of(&recordings, order.into_iter());
        assert_eq!(wires.next_change(), Some(Duration::from_secs(11)));
        wires.pass(Duration::from_secs(11));
        assert_eq!([(0, 1), (0, 2)].map(|(from, to)| wires.state(from, to)), [State::Good, State::Lost]);
    }
}
