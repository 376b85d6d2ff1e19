//! The driver between switches and the control runtime: news of sessions becomes views, commands find their switch.

use crate::{Command, Commands, News, PacketIns, Probes, SwitchEvent, SwitchEvents, Switches};
use plait_control_runtime::{Content, Driver, Name, Port, Signature, Snapshot, View, ViewId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Switches that are remembered, those that are gone among them.
const MOST: usize = 1 << 16;

/// What is known of all switches.
///
/// Flow requests do not pass here: whoever reads sockets writes [`PacketIns`] and [`Probes`] in its name.
#[derive(Debug, Default)]
pub struct Switchboard {
    switches: Switches,
    /// Those that are gone, longest first.
    gone: VecDeque<u64>,
}

impl Switchboard {
    /// Its name.
    pub const NAME: &'static str = "openflow";
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
        Signature { inputs: vec![Port::of::<Commands>()], outputs }
    }

    fn observe(&mut self, (datapath, news): Self::Event, _: &Snapshot) -> Vec<(ViewId, Content)> {
        let (info, event) = match news {
            News::Connected(info) => (Some(info), Some(SwitchEvent::Connected)),
            News::Changed(info, port) => (Some(info), port.map(SwitchEvent::Port)),
            News::Event(event) => (None, Some(event)),
            News::Answer(message) => (None, message.emit().ok().map(SwitchEvent::Message)),
            // Applications hear of a role by what they may do: a switch is connected anew when it takes commands again.
            News::Role(_) => (None, None),
            News::Ended(reason) => {
                self.gone.push_back(datapath);
                let last = self.switches.known.get(&datapath).map(|info| (**info).clone());
                let info = last.map(|info| crate::SwitchInfo { connected: false, ..info });
                (info, Some(SwitchEvent::Gone(reason.to_string())))
            }
        };
        let mut changes = Vec::new();
        if let Some(info) = info {
            if info.connected {
                self.gone.retain(|gone| *gone != datapath);
            }
            self.switches.known.insert_mut(datapath, Arc::new(info));
            while self.switches.known.size() > MOST
                && let Some(forgotten) = self.gone.pop_front()
            {
                self.switches.known.remove_mut(&forgotten);
            }
            changes.push((Switches::id(), Content::new(self.switches.clone())));
        }
        if let Some(event) = event {
            changes.push((SwitchEvents::id(), Content::new(SwitchEvents { list: vec![(datapath, event)] })));
        }
        changes
    }

    fn push(&mut self, view: &ViewId, _: Option<&Content>, now: &Content) -> Vec<Self::Message> {
        if *view != Commands::id() {
            return Vec::new();
        }
        // The runtime has checked the schema of what was written.
        now.read::<Commands>().map_or_else(|_| Vec::new(), |commands| commands.words())
    }
}
