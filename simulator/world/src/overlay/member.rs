//! A member of an overlay on a simulated node.

use super::flows::OverlayFlowSpec;
use super::forwarding::Forwarding;
use super::spec::DataPlane;
use super::station::Station;
use plait_control_overlay::record::{Entry, Recorded};
use plait_control_overlay::{Config, Member, Plane};
use plait_dataplane_overlay::DeviceConfig;
use plait_model_overlay::{Application, Event, NodeId, Overlay, Tables};
use plait_model_wire::number::port::OVERLAY_CONTROL;
use plait_simulator_engine::{Datagram, FlowCounters, Transmit};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// From one decision to the next, for each member that is known. Choice: who hears of a thousand members one by one decides once
/// for many of them, as an agent does that is busy; where they are few, nobody notices.
const PAUSE: Duration = Duration::from_micros(500);

/// A member of an overlay: what a real node's agent knows and does of it. It feeds `control/overlay` and does what it decides.
#[derive(Debug)]
pub struct OverlayMember {
    /// None where nobody decides.
    decider: Option<Decider>,
    application: Application,
    overlay: Overlay,
    /// Changes that its node's data plane has not followed yet.
    events: Vec<Event>,
    devices: Vec<Above>,
    /// Frames that tenants sent and that nobody took yet, by their devices' places.
    frames: Vec<(usize, Vec<u8>)>,
    counters: OverlayCounters,
}

/// A device, and the host above it.
#[derive(Debug)]
struct Above {
    vni: u32,
    station: Station,
}

/// A member that decides for itself.
#[derive(Debug)]
struct Decider {
    member: Recorded,
    plane: Option<Plane>,
    /// When LIB and RIB were decided last, and when they are to be if something happened since.
    decided: Duration,
    decides: Option<Duration>,
    /// What the member was told and did, if it is written down.
    recording: Vec<Entry>,
}

/// What a member counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OverlayCounters {
    /// Messages of the control plane sent.
    pub messages: u64,
    /// Bytes of them.
    pub message_bytes: u64,
    /// Messages that were refused.
    pub refused: u64,
    /// Operations on LIB and RIB that were decided.
    pub operations: u64,
    /// When the last of them was, in nanoseconds.
    pub last_operation: u64,
    /// Frames of tenants that came up here.
    pub received: u64,
    /// When the last of them came, in nanoseconds.
    pub last_received: u64,
}

impl OverlayMember {
    /// A member that is told these tables.
    pub(super) fn new(application: Application, tables: &Tables) -> Self {
        let mut overlay = Overlay::default();
        let told = tables.operations(application).filter_map(|operation| overlay.apply(&operation).ok()?.1);
        let events = told.collect();
        let (decider, devices, frames) = (None, Vec::new(), Vec::new());
        let counters = OverlayCounters::default();
        Self { decider, application, overlay, events, devices, frames, counters }
    }

    /// Has it decide for itself from now on.
    pub(super) fn decide_by(
        &mut self,
        config: Config,
        now: Duration,
        draw: impl FnMut() -> u64 + Send + 'static,
        is_recorded: bool,
    ) {
        let member = Recorded::new(config, now, is_recorded, draw);
        let (plane, decides, recording) = (None, None, Vec::new());
        self.decider = Some(Decider { member, plane, decided: now, decides, recording });
        self.decide(now);
    }

    /// Gives it the devices of its data plane.
    pub(super) fn give(&mut self, own: NodeId, plane: &DataPlane) {
        let above = |(place, device): (usize, &DeviceConfig)| {
            let station = Station::new(plane.address(own, place), plane.config.carries.are_frames());
            Above { vni: device.vni, station }
        };
        self.devices = plane.devices.iter().enumerate().map(above).collect();
    }

    /// What control decides by; nothing where nobody decides.
    pub fn control(&self) -> Option<&Member> {
        self.decider.as_ref().map(|decider| decider.member.member())
    }

    /// What its member was told and did since it began; nothing unless its overlay is recorded.
    pub fn recording(&self) -> &[Entry] {
        self.decider.as_ref().map_or(&[], |decider| &decider.recording)
    }

    /// Its tables as they are in force.
    pub fn tables(&self) -> Tables {
        self.overlay.tables(self.application).cloned().unwrap_or_default()
    }

    /// What it counted.
    pub fn counters(&self) -> OverlayCounters {
        self.counters
    }

    /// Whether it has a device of a virtual network.
    pub fn has_device(&self, vni: u32) -> bool {
        self.devices.iter().any(|device| device.vni == vni)
    }

    /// Decides routes in another way from the next instant on; who does not decide goes on so.
    pub fn set_plane(&mut self, plane: Plane) {
        if let Some(decider) = &mut self.decider {
            decider.plane = Some(plane);
        }
    }

    /// A tenant's frame leaves its first device.
    pub fn send(&mut self, frame: Vec<u8>) {
        self.frames.push((0, frame));
    }

    /// The station above its device sends a flow of this number.
    pub(super) fn send_flow(&mut self, flow: u32, spec: &OverlayFlowSpec) {
        self.devices.iter_mut().filter(|of| of.vni == spec.vni).for_each(|of| of.station.send(flow, spec));
    }

    /// The station above its device counts a flow of this number.
    pub(super) fn receive_flow(&mut self, flow: u32, spec: &OverlayFlowSpec) {
        self.devices.iter_mut().filter(|of| of.vni == spec.vni).for_each(|of| of.station.receive(flow, spec));
    }

    /// How many datagrams of a flow were sent from here.
    pub(super) fn sent(&self, flow: u32) -> u64 {
        self.devices.iter().map(|of| of.station.sent(flow)).sum()
    }

    /// What came here of a flow.
    pub(super) fn received(&self, flow: u32) -> FlowCounters {
        self.devices.iter().find_map(|of| of.station.received(flow)).unwrap_or_default()
    }

    /// A message of the control plane comes.
    pub(super) fn handle_datagram(&mut self, now: Duration, datagram: &Datagram<'_>) {
        let Some(decider) = &mut self.decider else { return };
        if decider.member.handle_datagram(now, datagram.source.ip(), datagram.payload).is_err() {
            self.counters.refused += 1;
        }
    }

    /// Does what control has to do by now.
    pub(super) fn handle_timeout(&mut self, now: Duration) {
        let Some(Decider { member, plane, .. }) = &mut self.decider else { return };
        if let Some(plane) = plane.take() {
            member.set_plane(now, plane);
        }
        if now >= member.poll_timeout() {
            member.handle_timeout(now);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Duration> {
        let control = self.decider.iter().flat_map(|of| [Some(of.member.poll_timeout()), of.decides]);
        let stations = self.devices.iter().map(|of| of.station.poll_timeout());
        control.chain(stations).flatten().min()
    }

    /// Takes what control has to change and to send.
    pub(super) fn collect(&mut self, now: Duration, transmits: &mut VecDeque<Transmit>) {
        let Some(decider) = &mut self.decider else { return };
        let due = decider.decided + PAUSE * decider.member.member().routes().len() as u32;
        if now < due {
            decider.decides = Some(due);
        } else {
            self.decide(now);
        }
        let Some(Decider { member, recording, .. }) = &mut self.decider else { return };
        // Nobody asks anything here.
        while member.poll_inquiry().is_some() {}
        while let Some((to, payload)) = member.poll_transmit() {
            self.counters.messages += 1;
            self.counters.message_bytes += payload.len() as u64;
            let destination = SocketAddr::new(to, OVERLAY_CONTROL);
            transmits
                .push_back(Transmit { port: Some(OVERLAY_CONTROL), ..Transmit::to(destination, payload) });
        }
        recording.extend(std::iter::from_fn(|| member.poll_entry()));
    }

    /// Has LIB and RIB decided.
    fn decide(&mut self, now: Duration) {
        let Some(decider) = &mut self.decider else { return };
        (decider.decided, decider.decides) = (now, None);
        while let Some(operation) = decider.member.poll_operation() {
            self.counters.operations += 1;
            self.counters.last_operation = now.as_nanos() as u64;
            if let Ok((_, event)) = self.overlay.apply(&operation) {
                self.events.extend(event);
            }
        }
    }

    /// Has the data plane of its node follow what changed.
    pub(super) fn lead(&mut self, now: Duration, forwarding: &mut Forwarding) {
        if !self.events.is_empty() {
            forwarding.follow(self.application, &self.overlay, &self.events, now);
            self.events.clear();
        }
    }

    /// The frames that leave its devices now, by those' places.
    pub(super) fn frames(&mut self, now: Duration) -> Vec<(usize, Vec<u8>)> {
        let mut frames = std::mem::take(&mut self.frames);
        for (place, of) in self.devices.iter_mut().enumerate() {
            frames.extend(of.station.handle_timeout(now).into_iter().map(|frame| (place, frame)));
        }
        frames
    }

    /// A frame comes up by a device. The frames by which the host above answers.
    pub(super) fn handle_frame(&mut self, now: Duration, place: usize, frame: &[u8]) -> Vec<Vec<u8>> {
        self.counters.received += 1;
        self.counters.last_received = now.as_nanos() as u64;
        self.devices.get_mut(place).map(|of| of.station.handle_frame(now, frame)).unwrap_or_default()
    }
}
