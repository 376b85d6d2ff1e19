//! What a node is to its overlays.

use super::forwarding::{Forwarding, Step};
use super::member::OverlayMember;
use plait_control_overlay::Sealed;
use plait_dataplane_reference::Counts;
use plait_model_overlay::Application;
use plait_model_wire::number::port::OVERLAY_CONTROL;
use plait_model_wire::number::protocol;
use plait_simulator_engine::{Datagram, Host, Transmit};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// A node of overlays: what the agent and the programs are on a real one.
#[derive(Debug)]
pub(super) struct OverlayNode {
    forwarding: Forwarding,
    members: BTreeMap<Application, OverlayMember>,
    transmits: VecDeque<Transmit>,
}

impl OverlayNode {
    pub fn new(forwarding: Forwarding) -> Self {
        Self { forwarding, members: BTreeMap::new(), transmits: VecDeque::new() }
    }

    /// Takes part in an overlay of which its data plane was told.
    pub fn join(&mut self, now: Duration, application: Application, mut member: OverlayMember) {
        member.collect(now, &mut self.transmits);
        member.lead(now, &mut self.forwarding);
        self.members.insert(application, member);
    }

    pub fn member(&self, application: Application) -> Option<&OverlayMember> {
        self.members.get(&application)
    }

    pub fn member_mut(&mut self, application: Application) -> Option<&mut OverlayMember> {
        self.members.get_mut(&application)
    }

    pub fn forwarding(&mut self) -> &mut Forwarding {
        &mut self.forwarding
    }

    /// What its data plane counted.
    pub fn counts(&self) -> &Counts {
        self.forwarding.counts()
    }

    /// Takes what the data plane sends and what comes up, and what the hosts above answer to that.
    fn forward(&mut self, now: Duration, steps: Vec<Step>) {
        let mut steps = VecDeque::from(steps);
        while let Some(step) = steps.pop_front() {
            match step {
                Step::Below(transmit) => self.transmits.push_back(transmit),
                Step::Up(application, place, frame) => {
                    let Some(member) = self.members.get_mut(&application) else { continue };
                    for frame in member.handle_frame(now, place, &frame) {
                        steps.extend(self.forwarding.transmit(application, place, &frame, second(now)));
                    }
                }
            }
        }
    }
}

/// The second of an instant, as the walk has it.
fn second(now: Duration) -> u32 {
    now.as_secs() as u32
}

impl Host for OverlayNode {
    fn handle_datagram(&mut self, now: Duration, datagram: &Datagram<'_>) {
        if datagram.protocol != protocol::UDP || datagram.destination.port() != OVERLAY_CONTROL {
            let steps = self.forwarding.receive(datagram, second(now));
            return self.forward(now, steps);
        }
        let application = Sealed::application_of(datagram.payload);
        if let Some(member) = application.and_then(|application| self.members.get_mut(&application)) {
            member.handle_datagram(now, datagram);
            member.collect(now, &mut self.transmits);
            member.lead(now, &mut self.forwarding);
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        let mut frames = Vec::new();
        for (application, member) in &mut self.members {
            member.handle_timeout(now);
            member.collect(now, &mut self.transmits);
            member.lead(now, &mut self.forwarding);
            frames.extend(member.frames(now).into_iter().map(|(place, frame)| (*application, place, frame)));
        }
        for (application, place, frame) in frames {
            let steps = self.forwarding.transmit(application, place, &frame, second(now));
            self.forward(now, steps);
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    fn poll_timeout(&self) -> Option<Duration> {
        self.members.values().filter_map(OverlayMember::poll_timeout).min()
    }
}
