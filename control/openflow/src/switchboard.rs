//! The driver between switches and the control runtime: news of sessions becomes views, commands find their switch.

use crate::debt::{Debt, Debts};
use crate::gone::Gone;
use crate::holders::{Holders, Identity};
use crate::{
    Command, Commands, News, PacketIns, Probes, Staged, SwitchEvent, SwitchEvents, SwitchInfo, Switches,
};
use plait_control_runtime::{Content, Driver, Name, Port, Signature, Snapshot, View, ViewId};
use std::sync::Arc;
use std::time::Duration;

/// Switches that are remembered, those that are gone among them.
const MOST: usize = 1 << 16;
/// Ports of switches that are gone. Choice: one for each of them, or sixteen of those that have as many as may be.
const MOST_PORTS: usize = 1 << 16;

/// What is known of all switches.
///
/// Flow requests do not pass here: whoever reads sockets writes [`PacketIns`] and [`Probes`] in its name.
#[derive(Debug, Default)]
pub struct Switchboard {
    switches: Switches,
    gone: Gone,
    debts: Debts,
    holders: Holders,
}

impl Switchboard {
    /// Its name.
    pub const NAME: &'static str = "openflow";

    /// Whether somebody who has shown this, if anything, may have a datapath that no connection has: for whoever had it last, and
    /// has shown who that is, it is kept for so long.
    pub fn may_have(&self, datapath: u64, who: Option<Identity>, now: Duration, keep: Duration) -> bool {
        self.holders.may_have(datapath, who, now, keep)
    }

    /// A datapath is somebody's, whose connection is met next.
    pub fn took(&mut self, datapath: u64, who: Option<Identity>) {
        self.holders.took(datapath, who);
    }

    /// The connection of a datapath has ended, and there is no other.
    pub fn went(&mut self, datapath: u64, now: Duration) {
        self.holders.went(datapath, now);
    }

    /// Keeps a datapath for nobody any more, where it would be for so long. Whether it was kept.
    pub fn release(&mut self, datapath: u64, now: Duration, keep: Duration) -> bool {
        self.holders.release(datapath, now, keep)
    }

    /// What a switch could not be told, or may not have done, is kept for it until it is [taken](Self::take_owed). Of one that
    /// nobody knows nothing is kept. Gives what is known of one that is taken for connected: what it is owed by now was decided before
    /// that connection was met, and it is to be told so, and then met once more, since what it was told when it was met may be
    /// among what is deleted.
    pub fn owe(&mut self, datapath: u64, debt: Debt) -> Option<SwitchInfo> {
        let info = self.switches.known.get(&datapath)?;
        if !debt.is_empty() {
            self.debts.add(datapath, debt);
        }
        info.connected.then(|| SwitchInfo::clone(info))
    }

    /// What a switch is owed that is there again, and is to be told before anything else; it is then owed no more.
    pub fn take_owed(&mut self, datapath: u64) -> Debt {
        self.debts.take(datapath)
    }
}

impl Driver for Switchboard {
    /// The switch's datapath, and what happened.
    type Event = (u64, News);
    /// The switch's datapath, and what it is to do.
    type Message = (u64, Command);

    fn name(&self) -> Name {
        Name::of_rust(Self::NAME)
    }

    fn signature(&self) -> Signature {
        let outputs = vec![
            Port::of::<PacketIns>(),
            Port::of::<Probes>(),
            Port::of::<Switches>(),
            Port::of::<SwitchEvents>(),
        ];
        Signature { inputs: vec![Port::of::<Commands>(), Port::of::<Staged>()], outputs }
    }

    fn observe(&mut self, (datapath, news): Self::Event, _: &Snapshot) -> Vec<(ViewId, Content)> {
        let (info, event) = match news {
            News::Connected(info) => (Some(info), Some(SwitchEvent::Connected)),
            News::Changed(info, port) => (Some(info), port.map(SwitchEvent::Port)),
            News::Event(event) => (None, Some(event)),
            News::Answer(message) => (None, message.emit().ok().map(SwitchEvent::Message)),
            // Applications hear of a role by what they may do: a switch is connected anew when it takes commands again.
            News::Role(_) | News::Passed(_) | News::Unanswered(_) => (None, None),
            News::Ended(reason) => {
                let last = self.switches.known.get(&datapath).map(|info| (**info).clone());
                let info = last.map(|info| SwitchInfo { connected: false, ..info });
                (info, Some(SwitchEvent::Gone(reason.to_string())))
            }
        };
        let mut changes = Vec::new();
        if let Some(info) = info {
            match info.connected {
                true => self.gone.remove(datapath),
                false => self.gone.add(datapath, info.ports.len()),
            }
            self.switches.known.insert_mut(datapath, Arc::new(info));
            while (self.switches.known.size() > MOST || self.gone.ports() > MOST_PORTS)
                && let Some(forgotten) = self.gone.pop()
            {
                self.switches.known.remove_mut(&forgotten);
                self.debts.take(forgotten);
                self.holders.forget(forgotten);
            }
            changes.push((Switches::id(), Content::new(self.switches.clone())));
        }
        if let Some(event) = event {
            changes.push((SwitchEvents::id(), Content::new(SwitchEvents { list: vec![(datapath, event)] })));
        }
        changes
    }

    fn push(&mut self, view: &ViewId, _: Option<&Content>, now: &Content) -> Vec<Self::Message> {
        // The runtime has checked the schema of what was written.
        if *view == Commands::id() {
            return now.read::<Commands>().map_or_else(|_| Vec::new(), |commands| commands.words());
        }
        if *view == Staged::id() {
            // Whoever has no gate tells one after the other.
            let all = |staged: Arc<Staged>| {
                let then = staged.steps.iter().map(|step| &step.then);
                std::iter::once(&staged.first).chain(then).flat_map(Commands::words).collect()
            };
            return now.read::<Staged>().map_or_else(|_| Vec::new(), all);
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PortInfo;
    use crate::connection::Reason;

    fn info(ports: u32) -> SwitchInfo {
        let port = |number| PortInfo {
            number: crate::Port(number),
            name: String::new(),
            address: [2; 6],
            up: true,
            speed: None,
        };
        SwitchInfo { connected: true, ports: (1..=ports).map(port).collect(), ..SwitchInfo::default() }
    }

    fn delete(port: u32) -> Debt {
        let fields = crate::Fields { in_port: Some(crate::Port(port)), ..crate::Fields::ANY };
        let mut debt = Debt::default();
        debt.add(Command::Flow(crate::Flow::delete(fields)));
        debt
    }

    #[test]
    fn what_a_switch_is_owed_is_kept_until_it_is_told_and_one_that_is_there_is_met_once_more() {
        let (mut board, past) = (Switchboard::default(), Snapshot::default());
        let there = SwitchInfo { version: 1, ..info(1) };
        assert!(board.owe(7, delete(1)).is_none() && board.take_owed(7).is_empty(), "nobody knows it");
        board.observe((7, News::Connected(there.clone())), &past);
        assert_eq!(board.owe(7, delete(1)), Some(there));
        assert_eq!(board.take_owed(7), delete(1));
        board.observe((7, News::Ended(Reason::Gone)), &past);
        let mut both = delete(2);
        both.join(delete(3));
        for port in [2, 3, 2] {
            assert_eq!(board.owe(7, delete(port)), None);
        }
        assert_eq!(board.take_owed(7), both);
        assert!(board.take_owed(7).is_empty(), "it is told once");
    }

    #[test]
    fn what_all_are_owed_is_bounded_and_goes_with_who_is_forgotten() {
        let (mut board, past) = (Switchboard::default(), Snapshot::default());
        for datapath in 0..4000 {
            board.observe((datapath, News::Connected(info(0))), &past);
            board.observe((datapath, News::Ended(Reason::Gone)), &past);
            for port in 0..40 {
                board.owe(datapath, delete(port));
            }
        }
        let bytes = board.debts.bytes();
        assert!(bytes > 15 << 20 && bytes <= 16 << 20, "{bytes}");
        assert_ne!(board.take_owed(0), Debt::ALL);
        assert_eq!(board.take_owed(3999), Debt::ALL);
        assert!(board.take_owed(1 << 40).is_empty(), "nobody knows it");
        for datapath in 0..MOST as u64 {
            board.observe(((1 << 32) + datapath, News::Connected(info(0))), &past);
            board.observe(((1 << 32) + datapath, News::Ended(Reason::Gone)), &past);
        }
        assert_eq!(board.debts.bytes(), 0);
        assert!(board.take_owed(5).is_empty(), "it was forgotten");
    }

    /// Somebody is there as a new switch again and again: what is remembered is bounded, and those that are there stay.
    #[test]
    fn of_those_that_are_gone_no_more_is_remembered_than_may_be() {
        let (mut board, past) = (Switchboard::default(), Snapshot::default());
        board.observe((1, News::Connected(info(4096))), &past);
        for datapath in 100..200 {
            board.observe((datapath, News::Connected(info(4096))), &past);
            board.observe((datapath, News::Ended(Reason::Gone)), &past);
        }
        let known = |board: &Switchboard| {
            let mut known: Vec<u64> = board.switches.known.keys().copied().collect();
            known.sort_unstable();
            known
        };
        // Sixteen of them have as many ports as may be.
        assert_eq!(known(&board), [1].into_iter().chain(184..200).collect::<Vec<_>>());
        // One that is there again counts no more.
        board.observe((184, News::Connected(info(4096))), &past);
        board.observe((200, News::Connected(info(4096))), &past);
        board.observe((200, News::Ended(Reason::Gone)), &past);
        assert_eq!(known(&board), [1].into_iter().chain(184..=200).collect::<Vec<_>>());
        // Of those without ports as many as there is room for.
        for datapath in 1000..1000 + 2 * MOST as u64 {
            board.observe((datapath, News::Connected(info(0))), &past);
            board.observe((datapath, News::Ended(Reason::Gone)), &past);
        }
        assert_eq!(board.switches.known.size(), MOST);
        assert!(board.switches.known.contains_key(&1) && board.switches.known.contains_key(&184));
    }
}
