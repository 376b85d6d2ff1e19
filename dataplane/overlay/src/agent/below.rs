//! The underlay's devices, and the programs on them.

use super::{Agent, AgentError, devices};
use crate::config::DeviceConfig;
use plait_dataplane_bpf::Program;
use std::collections::BTreeSet;

impl Agent {
    /// Puts programs on the underlay's devices, and takes them from those that are gone.
    pub(super) fn attach(&mut self) -> Result<(), AgentError> {
        if !self.is_whole {
            return Ok(());
        }
        let wanted = self.below();
        let relaying = self.relaying();
        self.tried.retain(|index| relaying.contains(index));
        let places = &self.places;
        let is_gone = |(index, program): &(u32, Program)| {
            !wanted.contains(index) || (*program == Program::Relay && !relaying.contains(index))
        };
        let gone: Vec<(u32, Program)> = self.on_underlay.keys().copied().filter(is_gone).collect();
        for (index, program) in gone {
            if program == Program::Relay {
                self.tables.programs.close_exit(index)?;
            }
            if let Some(attachment) = self.on_underlay.remove(&(index, program)) {
                attachment.remove(&places.on_underlay(program, index))?;
            }
        }
        // The guard last: what programs of an older plait send is not marked as theirs.
        let of = |program: Program| move |index: &u32| (*index, program);
        let relays = relaying.difference(&self.tried);
        let (received, guarded) =
            (wanted.iter().map(of(Program::Receive)), wanted.iter().map(of(Program::Guard)));
        let all: Vec<(u32, Program)> =
            received.chain(guarded).chain(relays.map(of(Program::Relay))).collect();
        for (index, program) in all {
            if program == Program::Relay {
                self.tried.insert(index);
            }
            if !self.on_underlay.contains_key(&(index, program)) {
                match self.tables.programs.succeed(program, index, &places.on_underlay(program, index)) {
                    Ok(attachment) => drop(self.on_underlay.insert((index, program), attachment)),
                    // It may be gone again already.
                    Err(error) => {
                        let program = program.name();
                        tracing::warn!(interface = index, program, %error, "no program on a device of the underlay")
                    }
                }
            }
        }
        Ok(())
    }

    /// The devices by which the overlay's packets leave and may come in, if drivers are to relay what passes. Choice: no others,
    /// since a driver that runs XDP may do without what it does else, such as superpackets.
    pub(super) fn relaying(&self) -> BTreeSet<u32> {
        let entrances: BTreeSet<u32> = self.entrances().collect();
        let ways = self.compiler.wanted().map(|exit| exit.neighbour.interface);
        ways.filter(|index| self.xdp && entrances.contains(index)).collect()
    }

    /// The devices of the underlay.
    pub(super) fn below(&self) -> BTreeSet<u32> {
        let links = self.underlay.links.iter();
        let below = links.filter(|(_, link)| devices::is_underlay(link, |name| self.is_own(name)));
        below.map(|(index, _)| *index).collect()
    }

    /// Whether a device is one of the overlay's own.
    pub(super) fn is_own(&self, name: &str) -> bool {
        let is_it = |device: &DeviceConfig| device.name == name;
        self.config.devices.iter().any(is_it) || self.starting.as_deref() == Some(name)
    }

    /// Has drivers relay that are on a way now, and no others.
    pub(super) fn follow_relays(&mut self) -> Result<(), AgentError> {
        if self.xdp && self.is_whole && self.relaying() != self.tried {
            self.attach()?;
            self.set_exits();
        }
        Ok(())
    }

    /// Tells relays which devices take packets from XDP: those that say so, which may change.
    pub(super) fn set_exits(&self) {
        for (index, _) in self.on_underlay.keys().filter(|(_, program)| *program == Program::Relay) {
            if let Err(error) = self.tables.programs.set_exit(*index) {
                // It may be gone already; the kernel then took it out of the table.
                tracing::debug!(interface = index, %error, "nothing is known of what a device takes from XDP");
            }
        }
    }
}
