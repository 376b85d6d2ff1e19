//! What a worker does with a switch that has said who it is: whether it is believed, and what it is told first.
//!
//! Whoever connects may say any datapath. Choice: the connection that is there stays, as long as it answers, since the switch that
//! it belongs to would otherwise lose it to whoever names its datapath. One that has ended, or does not answer an echo request in
//! time, makes way; and so does one whose switch showed the certificate that the newer one shows, too. Where certificates are shown,
//! a datapath whose switch has gone is kept for its certificate for a while: what the switch is owed is told to no other.

use super::Worker;
use crate::brain::Outcome;
use crate::link::Link;
use crate::shared::Shared;
use crate::statistics::Counters;
use plait_control_openflow::connection::Reason;
use plait_control_openflow::{Command, Identity, News, NotTold, Probes, Role, Switchboard, Waiting};
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

impl Worker<'_> {
    /// Has applications meet a switch, of which `news` says that it is connected, unless another of its datapath is.
    /// Whether it has sent packets before.
    pub(super) fn meet(&mut self, slot: u32, datapath: u64, news: News) -> bool {
        let shared = self.shared;
        let mut claimed = Ok(());
        shared.brain.news_if(shared.now(), datapath, &mut self.outcome, |switchboard, revision| {
            claimed = claim(shared, switchboard, datapath, slot);
            claimed.as_ref().ok()?;
            if let Some(link) = shared.slots[slot as usize].hold().as_mut() {
                link.met = revision;
            }
            switchboard.owe(datapath, shared.left.take(datapath));
            settle(shared, switchboard, datapath, slot);
            // Only now can anybody tell it anything.
            shared.found(datapath, slot);
            Some(news)
        });
        let mut held = shared.slots[slot as usize].hold();
        let Some(link) = held.as_mut() else { return false };
        let number = format_args!("{datapath:016x}");
        let Err(why) = claimed else {
            let taken = self.take_packets(slot, link);
            tracing::info!(datapath = %number, address = link.session.address(), "a switch");
            return taken > 0;
        };
        shared.claims.fetch_add(1, Ordering::Relaxed);
        tracing::warn!(datapath = %number, address = link.session.address(), %why, "a connection was refused");
        link.session.refuse_datapath(why);
        link.ending = Some(shared.now());
        shared.set_ready(slot, true);
        false
    }
}

impl Worker<'_> {
    /// Takes packets that a switch sent before applications met it. How many there were.
    fn take_packets(&mut self, slot: u32, link: &mut Link) -> u64 {
        let before = self.requests.len() + self.probes.len();
        let (requests, probes) = (&mut self.requests, &mut self.probes);
        let lost = link.session.take_packets(|packet| match Probes::includes(&packet) {
            true => probes.push(&packet),
            false => requests.push(&packet),
        });
        let taken = (self.requests.len() + self.probes.len() - before) as u64;
        Counters::add(&self.counters.requests, taken);
        Counters::add(&self.counters.early, lost);
        if let Some(bound) = self.bound.as_mut().filter(|_| taken > 0) {
            bound.joined(Waiting { came: self.shared.now(), bytes: 0 });
        }
        self.shared.slots[slot as usize].requests.fetch_add(taken, Ordering::Relaxed);
        taken
    }
}

/// Keeps deletions that are left for switches, and has those that are there by now told them. What applications told such a one when they
/// met it may be among what is deleted: they meet it once more, behind the deletions.
pub fn owe(shared: &Shared, datapaths: BTreeSet<u64>, to: &mut Outcome) {
    for datapath in datapaths {
        shared.brain.news_if(shared.now(), datapath, to, |switchboard, _| {
            let left = shared.left.take(datapath);
            if left.is_empty() {
                // Who met its next connection has told it.
                return None;
            }
            let info = switchboard.owe(datapath, left)?;
            let slot = shared.routes().get(&datapath).copied()?;
            settle(shared, switchboard, datapath, slot).then_some(News::Connected(info))
        });
    }
}

/// Gives a datapath to the connection in a slot; then its switch is owed what it may not have done by the one before. Or why not.
fn claim(shared: &Shared, switchboard: &mut Switchboard, datapath: u64, slot: u32) -> Result<(), Reason> {
    let who = shared.slots[slot as usize].hold().as_ref().and_then(|link| link.stream.identity());
    let before = shared.routes().get(&datapath).copied().filter(|before| *before != slot);
    if before.is_some_and(|before| !makes_way(shared, datapath, before, who)) {
        return Err(Reason::Claimed);
    }
    if !switchboard.may_have(datapath, who, shared.now(), shared.config.keep_datapath) {
        return Err(Reason::Kept);
    }
    switchboard.took(datapath, who);
    let Some(before) = before else { return Ok(()) };
    let mut held = shared.slots[before as usize].hold();
    if let Some(link) = held.as_mut().filter(|link| link.is_of(datapath)) {
        link.session.connection.close();
        link.ending = Some(shared.now());
        shared.set_ready(before, true);
        switchboard.owe(datapath, link.session.take_owed());
    }
    Ok(())
}

/// Whether the connection of this datapath in a slot makes way for one whose switch has shown this.
fn makes_way(shared: &Shared, datapath: u64, before: u32, who: Option<Identity>) -> bool {
    let mut held = shared.slots[before as usize].hold();
    let Some(link) = held.as_mut().filter(|link| link.is_of(datapath)) else { return true };
    let has_ended = link.ending.is_some() || link.session.connection.is_closed() || link.stream.has_ended();
    if has_ended || (who.is_some() && link.stream.identity() == who) {
        return true;
    }
    // If it does not live, whoever connects next is believed.
    link.session.connection.challenge(shared.now());
    link.flush();
    false
}

/// Tells a switch what it is owed, before anybody else can tell it anything more. Of whom we are slave another has the flows: what it
/// was owed is forgotten, lest it deletes what that one has set up. False if it was told nothing.
fn settle(shared: &Shared, switchboard: &mut Switchboard, datapath: u64, slot: u32) -> bool {
    let mut held = shared.slots[slot as usize].hold();
    let is_there = |link: &&mut Link| {
        link.is_of(datapath) && link.ending.is_none() && !link.session.connection.is_closed()
    };
    // What one that has gone is owed is kept for the next.
    let Some(link) = held.as_mut().filter(is_there) else { return false };
    let owed = switchboard.take_owed(datapath);
    if owed.is_empty() || link.session.role() == Role::Slave {
        return false;
    }
    let (version, mark) = (link.session.version(), shared.config.mark);
    let commands = owed.commands(version, mark);
    tracing::info!(
        datapath = %format_args!("{datapath:016x}"), deletions = commands.len(),
        "a switch is there again, and is told what it missed"
    );
    for command in commands {
        // What is not sent is owed as before. Of what it was to delete when it spoke another version this one may have no words.
        if let Err(NotTold::Unsaid(_)) = link.session.tell(&command) {
            let _ = link.session.tell(&Command::delete_own(version, mark));
        }
    }
    link.session.settle();
    link.flush();
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use crate::brain::{Answer, Brain};
    use crate::poller::Poller;
    use crate::scripted::Scripted;
    use plait_control_openflow::{
        Actions, Commands, Fields, Flow, PacketIns, Port, SwitchEvent, SwitchEvents, Tried,
    };
    use plait_control_runtime::{Cause, Content, Dag, Manifest, Runtime, View, native};
    use plait_model_wire::openflow::v10::flow_mod::FlowModCommand;
    use plait_model_wire::openflow::{Message, chop, v10};
    use std::net::TcpListener;
    use std::sync::{Arc, Mutex};

    fn of(port: u32) -> Fields {
        Fields { in_port: Some(Port(port)), ..Fields::ANY }
    }

    /// Two workers' own. Whoever connects gets a flow for port 1, which goes with the next packet.
    fn shared() -> Shared {
        let mut runtime = Runtime::new(Default::default());
        let manifest = Manifest::new("welcome").reads("~switch-events@1").writes("~commands@1");
        runtime.grant(&manifest.name, &Commands::id().name);
        let welcome = native(|(events,): (Arc<SwitchEvents>,)| {
            let mut commands = Commands::default();
            for (datapath, event) in &events.list {
                if *event == SwitchEvent::Connected {
                    let flow = Flow::add(100, of(1), Actions::output(Port(2)));
                    commands.push(*datapath, Command::Flow(flow));
                }
            }
            Ok((commands,))
        });
        runtime.add_application(manifest, welcome).unwrap();
        let dag = Dag::chain("welcome", &["welcome"]).on(&SwitchEvents::id().to_string());
        runtime.add_dag(std::time::Duration::ZERO, dag).unwrap();
        let manifest = Manifest::new("clean").reads("~packet-ins@1").writes("~commands@1");
        runtime.grant(&manifest.name, &Commands::id().name);
        runtime.add_application(manifest, native(|(_,): (Arc<PacketIns>,)| Ok((deletion(1),)))).unwrap();
        let dag = Dag::chain("clean", &["clean"]).on(&PacketIns::id().to_string());
        runtime.add_dag(std::time::Duration::ZERO, dag).unwrap();
        let config = Config { workers: 2, most_connections: 4, ..Config::default() };
        let brain = Brain::new(runtime, None).unwrap();
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        Shared::new(config, brain, Poller::new(listener).unwrap())
    }

    /// What a switch is told: bytes.
    type Told = Arc<Mutex<Vec<u8>>>;

    /// The switch connects, in the next slot, and is met by a worker.
    fn connect(worker: &mut Worker<'_>, end: Scripted, slot: u32) -> Told {
        let told = end.told.clone();
        assert!(worker.shared.admit_end(Box::new(end), "memory".to_owned()));
        assert_eq!((worker.visit(slot), worker.visit(slot)), (Tried::Read, Tried::Read));
        worker.pass_news();
        assert_eq!(worker.shared.routes().get(&7), Some(&slot));
        told
    }

    /// Flows that a switch was told so far, by their port: whether it is to have them.
    fn flows(told: &Told) -> Vec<(u16, bool)> {
        let told = told.lock().unwrap();
        let (mut rest, mut flows) = (&told[..], Vec::new());
        while let Some((frame, after)) = chop(rest).unwrap() {
            rest = after;
            // Our hello names a version that it does not speak.
            if let Message::V10(v10::Message { body: v10::Body::FlowMod(flow), .. }) =
                Message::of(&frame).unwrap()
            {
                flows.push((flow.flow_match.in_port.0, flow.command == FlowModCommand::ADD));
            }
        }
        flows
    }

    fn deletion(port: u32) -> Commands {
        let mut commands = Commands::default();
        commands.push(7, Command::Flow(Flow::delete(of(port))));
        commands
    }

    /// What has it delete the flows of a port, decided by what is known now.
    fn delete(shared: &Shared, port: u32) -> Answer {
        let seen = shared.brain.lock().runtime.state().revision();
        Answer::new(Arc::new(deletion(port)), Cause { seen, origin: None })
    }

    const WELCOME: (u16, bool) = (1, true);
    const DELETED: (u16, bool) = (1, false);

    #[test]
    fn what_a_connection_left_undone_is_told_to_the_next_before_it_is_met_whoever_hears_of_the_end_when() {
        let shared = shared();
        let (mut one, mut two) = (Worker::new(&shared, 0), Worker::new(&shared, 1));
        let first = connect(&mut one, Scripted::that_ends(7), 0);
        one.outbox.send(&shared, &[delete(&shared, 1)], one.counters);
        assert_eq!(flows(&first), [WELCOME, DELETED]);
        // It ends, has not said that it has done so, and nobody has heard of that yet.
        assert_eq!((one.visit(0), one.visit(0)), (Tried::Read, Tried::Empty));
        let next = connect(&mut two, Scripted::new(7), 1);
        assert_eq!(flows(&next), [DELETED, WELCOME]);
        one.pass_news();
        assert_eq!(flows(&next), [DELETED, WELCOME], "it is told once");
        assert_eq!(shared.routes().get(&7), Some(&1));
    }

    #[test]
    fn what_finds_no_link_any_more_is_told_to_the_next_connection_before_it_is_met() {
        let shared = shared();
        let (mut one, mut two) = (Worker::new(&shared, 0), Worker::new(&shared, 1));
        connect(&mut one, Scripted::that_ends(7), 0);
        assert_eq!((one.visit(0), one.visit(0)), (Tried::Read, Tried::Empty));
        // Of the end nobody has heard, and of what could not be told nobody either.
        one.outbox.send(&shared, &[delete(&shared, 1)], one.counters);
        assert_eq!(one.counters.read().owed, 1);
        let next = connect(&mut two, Scripted::new(7), 1);
        assert_eq!(flows(&next), [DELETED, WELCOME]);
        one.finish();
        one.pass_news();
        assert_eq!(flows(&next), [DELETED, WELCOME], "it is told once");
    }

    #[test]
    fn a_deletion_that_was_decided_before_a_connection_was_met_never_has_the_last_word() {
        let shared = shared();
        let (mut one, mut two) = (Worker::new(&shared, 0), Worker::new(&shared, 1));
        connect(&mut one, Scripted::that_ends(7), 0);
        // Decided while the first is there, and on its way for longer than it takes the next to be met.
        let late = delete(&shared, 1);
        assert_eq!((one.visit(0), one.visit(0)), (Tried::Read, Tried::Empty));
        one.pass_news();
        let next = connect(&mut two, Scripted::new(7), 0);
        assert_eq!(flows(&next), [WELCOME]);
        one.outbox.send(&shared, &[late], one.counters);
        assert_eq!(flows(&next), [WELCOME], "it is not for this connection");
        one.finish();
        assert_eq!(flows(&next), [WELCOME, DELETED, WELCOME]);
        // What is decided now is.
        one.outbox.send(&shared, &[delete(&shared, 3)], one.counters);
        one.finish();
        assert_eq!(flows(&next), [WELCOME, DELETED, WELCOME, (3, false)]);
    }

    #[test]
    fn a_deletion_whose_task_began_before_a_connection_was_met_never_has_the_last_word() {
        let shared = shared();
        let (mut one, mut two) = (Worker::new(&shared, 0), Worker::new(&shared, 1));
        connect(&mut one, Scripted::that_ends(7), 0);
        // The run begins, and its task takes longer than it takes the next to be met.
        let mut begun = Outcome::default();
        let batch = (PacketIns::id(), Content::new(PacketIns::default()));
        shared.brain.batch(shared.now(), batch, None, &mut begun).unwrap();
        assert_eq!((one.visit(0), one.visit(0)), (Tried::Read, Tried::Empty));
        one.pass_news();
        let next = connect(&mut two, Scripted::new(7), 0);
        assert_eq!(flows(&next), [WELCOME]);
        shared.brain.work(
            || shared.now(),
            &mut begun,
            |answers| {
                one.outbox.send(&shared, answers, one.counters);
            },
        );
        assert_eq!(flows(&next), [WELCOME], "it is not for this connection");
        one.finish();
        assert_eq!(flows(&next), [WELCOME, DELETED, WELCOME]);
    }

    #[test]
    fn what_is_left_for_one_that_is_away_is_kept_for_it() {
        let shared = shared();
        let mut one = Worker::new(&shared, 0);
        connect(&mut one, Scripted::that_ends(7), 0);
        assert_eq!((one.visit(0), one.visit(0)), (Tried::Read, Tried::Empty));
        one.pass_news();
        assert!(shared.routes().is_empty());
        one.outbox.send(&shared, &[delete(&shared, 1)], one.counters);
        one.finish();
        let next = connect(&mut one, Scripted::new(7), 0);
        assert_eq!(flows(&next), [DELETED, WELCOME]);
        assert!(shared.brain.lock().switchboard.take_owed(7).is_empty());
    }
}
