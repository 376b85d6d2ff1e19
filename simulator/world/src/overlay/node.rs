//! A member on a simulated node.

use super::flows::OverlayFlowSpec;
use super::forwarding::{Forwarding, Step};
use super::station::Station;
use plait_control_overlay::record::{Entry, Recorded};
use plait_control_overlay::{Config, Member, Plane};
use plait_dataplane_reference::Counts;
use plait_model_overlay::{Application, Event, Overlay, Tables};
use plait_model_wire::number::port::OVERLAY_CONTROL;
use plait_simulator_engine::{Datagram, FlowCounters, Host, StackIndex, Transmit};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

/// From one decision to the next, for each member that is known. Choice: who hears of a thousand members one by one decides once
/// for many of them, as an agent does that is busy; where they are few, nobody notices.
const PAUSE: Duration = Duration::from_micros(500);

/// A member of an overlay: what the agent is on a real node. It feeds `control/overlay` and does what it decides.
#[derive(Debug)]
pub struct OverlayNode {
    member: Recorded,
    application: Application,
    overlay: Overlay,
    forwarding: Option<Forwarding>,
    /// Frames that tenants sent and that nobody took yet.
    frames: Vec<Vec<u8>>,
    /// The host above the device.
    station: Station,
    plane: Option<Plane>,
    transmits: VecDeque<Transmit>,
    /// When LIB and RIB were decided last, and when they are to be if something happened since.
    decided: Duration,
    decides: Option<Duration>,
    counters: OverlayCounters,
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
    /// Operations on LIB and RIB.
    pub operations: u64,
    /// When the last of them was, in nanoseconds.
    pub last_operation: u64,
    /// Frames of tenants that came up here.
    pub received: u64,
    /// When the last of them came, in nanoseconds.
    pub last_received: u64,
    /// Packets of the overlay that were sent or passed on from here.
    pub forwarded: u64,
}

impl OverlayNode {
    pub(super) fn new(
        config: Config,
        now: Duration,
        draw: impl FnMut() -> u64 + Send + 'static,
        forwarding: Option<Forwarding>,
        is_recorded: bool,
    ) -> Self {
        let application = config.application;
        let mut overlay = Overlay::default();
        let (own, locators) = (config.own, config.locators.clone());
        let station = Station::new(own);
        let member = Recorded::new(config, now, is_recorded, draw);
        let mut node = Self {
            member,
            application,
            overlay: Overlay::default(),
            forwarding,
            frames: Vec::new(),
            station,
            plane: None,
            transmits: VecDeque::new(),
            decided: now,
            decides: None,
            counters: OverlayCounters::default(),
            recording: Vec::new(),
        };
        let mut events = Vec::new();
        let identity = plait_model_overlay::Operation::NodeIdSet { application, node: own };
        let own = locators.into_iter().map(|(locator, weight)| plait_model_overlay::Operation::LocatorAdd {
            application,
            locator,
            weight,
        });
        for operation in [identity].into_iter().chain(own) {
            let done = overlay.apply(&operation).expect("an identity and locators of its own");
            events.extend(done.1);
        }
        node.overlay = overlay;
        node.compile(now, &events);
        node.decide(now);
        node.collect(now);
        node
    }

    /// What control decides by.
    pub fn control(&self) -> &Member {
        self.member.member()
    }

    /// What its member was told and did since it began; nothing unless its overlay is recorded.
    pub fn recording(&self) -> &[Entry] {
        &self.recording
    }

    /// Its tables as they are in force.
    pub fn tables(&self) -> Tables {
        self.overlay.tables(self.application).cloned().unwrap_or_default()
    }

    /// What it counted.
    pub fn counters(&self) -> OverlayCounters {
        self.counters
    }

    /// What its data plane counted.
    pub fn counts(&self) -> Option<&Counts> {
        self.forwarding.as_ref().map(|forwarding| forwarding.counts())
    }

    /// Decides routes in another way from the next instant on.
    pub fn set_plane(&mut self, plane: Plane) {
        self.plane = Some(plane);
    }

    /// A tenant's frame leaves its device.
    pub fn send(&mut self, frame: Vec<u8>) {
        self.frames.push(frame);
    }

    /// The station above its device sends a flow of this number.
    pub(super) fn send_flow(&mut self, flow: u32, spec: &OverlayFlowSpec) {
        self.station.send(flow, spec);
    }

    /// The station above its device counts a flow of this number.
    pub(super) fn receive_flow(&mut self, flow: u32, spec: &OverlayFlowSpec) {
        self.station.receive(flow, spec);
    }

    /// How many datagrams of a flow were sent from here.
    pub(super) fn sent(&self, flow: u32) -> u64 {
        self.station.sent(flow)
    }

    /// What came here of a flow.
    pub(super) fn received(&self, flow: u32) -> FlowCounters {
        self.station.received(flow)
    }

    /// Has LIB and RIB decided, now or soon.
    fn decide_soon(&mut self, now: Duration) {
        let due = self.decided + PAUSE * self.control().routes().len() as u32;
        if now >= due {
            self.decide(now);
        } else {
            self.decides = Some(due);
        }
    }

    /// Takes what the member has to change.
    fn decide(&mut self, now: Duration) {
        (self.decided, self.decides) = (now, None);
        let mut events: Vec<Event> = Vec::new();
        while let Some(operation) = self.member.poll_operation() {
            self.counters.operations += 1;
            self.counters.last_operation = now.as_nanos() as u64;
            if let Ok((_, event)) = self.overlay.apply(&operation) {
                events.extend(event);
            }
        }
        self.compile(now, &events);
    }

    /// Takes what the member has to send.
    fn collect(&mut self, now: Duration) {
        self.decide_soon(now);
        // Nobody asks anything here.
        while self.member.poll_inquiry().is_some() {}
        while let Some((to, payload)) = self.member.poll_transmit() {
            self.counters.messages += 1;
            self.counters.message_bytes += payload.len() as u64;
            let destination = SocketAddr::new(to, OVERLAY_CONTROL);
            self.transmits.push_back(Transmit {
                source: None,
                port: Some(OVERLAY_CONTROL),
                destination,
                payload,
                relays: StackIndex::NONE,
            });
        }
        self.recording.extend(std::iter::from_fn(|| self.member.poll_entry()));
    }

    fn compile(&mut self, now: Duration, events: &[Event]) {
        if let Some(forwarding) = &mut self.forwarding
            && !events.is_empty()
        {
            forwarding.follow(&self.overlay, events, now);
        }
    }

    /// Takes what the data plane sends and what comes up, and what the station above answers to that.
    fn forward(&mut self, now: Duration, first: impl FnOnce(&mut Forwarding, u32) -> Vec<Step>) {
        let Some(forwarding) = &mut self.forwarding else { return };
        let second = now.as_secs() as u32;
        let mut steps = VecDeque::from(first(forwarding, second));
        while let Some(step) = steps.pop_front() {
            match step {
                Step::Below(transmit) => {
                    self.counters.forwarded += 1;
                    self.transmits.push_back(transmit);
                }
                Step::Up(frame) => {
                    self.counters.received += 1;
                    self.counters.last_received = now.as_nanos() as u64;
                    for frame in self.station.handle_frame(now, &frame) {
                        steps.extend(forwarding.transmit(&frame, second));
                    }
                }
            }
        }
    }
}

impl Host for OverlayNode {
    fn handle_datagram(&mut self, now: Duration, datagram: &Datagram<'_>) {
        if datagram.destination.port() == OVERLAY_CONTROL {
            if self.member.handle_datagram(now, datagram.source.ip(), datagram.payload).is_err() {
                self.counters.refused += 1;
            }
            self.collect(now);
        } else {
            self.forward(now, |forwarding, second| forwarding.receive(datagram, second));
        }
    }

    fn handle_timeout(&mut self, now: Duration) {
        if let Some(plane) = self.plane.take() {
            self.member.set_plane(now, plane);
        }
        if now >= self.member.poll_timeout() {
            self.member.handle_timeout(now);
        }
        self.collect(now);
        let mut frames = std::mem::take(&mut self.frames);
        frames.extend(self.station.handle_timeout(now));
        for frame in frames {
            self.forward(now, |forwarding, second| forwarding.transmit(&frame, second));
        }
    }

    fn poll_transmit(&mut self) -> Option<Transmit> {
        self.transmits.pop_front()
    }

    fn poll_timeout(&self) -> Option<Duration> {
        let others = [self.decides, self.station.poll_timeout()].into_iter().flatten();
        Some(others.fold(self.member.poll_timeout(), Duration::min))
    }
}
