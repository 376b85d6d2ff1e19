//! The agent: one on each node, which keeps the data plane's tables.
//!
//! [`Agent::start`] takes over what a former life left: it fills tables anew from its journal, then puts its programs in
//! the place of those that run, so that no packet is stopped by the death of an agent, nor by its successor.
//! [`Agent::serve`] then answers requests, follows the kernel's news, and drives the control planes, until it is killed;
//! [`remove`] leaves the host as it was found.

mod applications;
mod below;
mod devices;
mod entrances;
mod entries;
mod error;
mod feeds;
mod follow;
mod identifiers;
mod inherited;
mod journal;
mod learned;
mod members;
mod neighbours;
mod places;
mod recording;
mod refused;
mod report;
mod route_message;
mod routes;
mod segmenter;
mod serve;
mod sources;
mod start;
mod sweep;
mod tables;
mod tenants;
mod trace;
mod underlay;

pub(crate) use devices::makes_device;
pub use error::AgentError;
pub use places::{LAYOUT, Places};
pub(crate) use segmenter::makes_segmenter;
pub use start::{AgentOptions, RECORDING_LIMIT, remove};

use crate::compile::{Compiler, Slots};
use crate::protocol::{Change, Config, Reply, Request};
use entrances::Entrances;
use error::{at, doing};
use feeds::Feeds;
use identifiers::Identifiers;
use inherited::Inherited;
use journal::{Journal, Line};
use learned::Learned;
use members::Members;
use plait_dataplane_agent::now;
use plait_dataplane_bpf::{Attachment, Program};
use plait_dataplane_reference::tables::{Segmenter, WayOut};
use plait_model_overlay::{Answer, Event, Operation, Overlay};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::time::Duration;
use sweep::Sweep;
use tables::Tables;
use tenants::Live;
use trace::Tracing;
use underlay::Underlay;

/// A running agent.
pub struct Agent {
    places: Places,
    config: Config,
    overlay: Overlay,
    identifiers: Identifiers,
    /// What a former life learned, of devices that are not taken over yet.
    inherited: Inherited,
    compiler: Compiler,
    tables: Tables,
    underlay: Underlay,
    devices: BTreeMap<String, Live>,
    /// Where packets leave that nobody knows, and the slot in which that stands.
    way_out: Option<(u32, WayOut)>,
    ways_out: Slots,
    /// Who cuts superpackets.
    segmenter: Option<Segmenter>,
    /// How many entries had been written when somebody was told of them last.
    told_writes: u64,
    /// How many pairs of locators got no packets when that was last written down.
    told_left_out: usize,
    /// A device that is being made.
    starting: Option<String>,
    /// Programs on the underlay's devices.
    on_underlay: BTreeMap<(u32, Program), Attachment>,
    entrances: Entrances,
    /// Whether what passes is relayed by XDP, where drivers can.
    xdp: bool,
    /// Devices in whose drivers a relay was put, or was refused.
    tried: BTreeSet<u32>,
    members: Members,
    feeds: Feeds,
    journal: Journal,
    /// Whether all of what a former life knew is in the tables, so that programs of the underlay's devices may read
    /// them.
    is_whole: bool,
    /// When to compile once more, since no slot was free.
    again: Option<Duration>,
    /// When to ask the kernel once more for what it refused: writes, and neighbours to look for.
    retry: Option<Duration>,
    /// Whether the neighbours that the kernel keeps are noted as they are.
    are_neighbours_noted: bool,
    untold: Untold,
    /// Traces under way, and the number of the last question.
    traces: Vec<Tracing>,
    token: u64,
    /// What the data plane learned, as those who watch were told.
    learned: Learned,
    sweep: Sweep,
    namespace: u64,
    /// Held as long as the agent lives.
    _lock: File,
}

/// What changed and was not told yet, if anybody watches.
#[derive(Default)]
struct Untold {
    changes: Vec<Change>,
    is_watched: bool,
}

impl Untold {
    fn add(&mut self, changes: impl IntoIterator<Item = Change>) {
        if self.is_watched {
            self.changes.extend(changes);
        }
    }
}

/// A moment in the units of [`FibEntry::heard`].
fn heard_at(now: Duration) -> u32 {
    (now.as_nanos() >> 30) as u32
}

impl Agent {
    /// Does what is asked.
    ///
    /// # Errors
    /// Why it was not done. Nothing was changed then, unless a table or the disk is full.
    pub fn handle(&mut self, request: Request) -> Result<Reply, AgentError> {
        let change = if self.untold.is_watched { Change::by(&request) } else { None };
        let (before, served) = (self.tables.written(), self.compiler.pairs_left_out());
        let reply = self.perform(request);
        // Who asks is told by the reply.
        let written = self.tables.written() - before;
        self.told_writes += written;
        let mut reply = reply?;
        if let Reply::Done { changed, writes, left_out } = &mut reply {
            *writes = written as usize;
            *left_out = self.compiler.pairs_left_out().saturating_sub(served);
            self.untold.add(change.filter(|_| *changed));
        }
        Ok(reply)
    }

    /// Does it; how much was written for it is not said yet.
    fn perform(&mut self, request: Request) -> Result<Reply, AgentError> {
        let line = Line::Request(request.clone());
        let reply = match request {
            Request::Operation(operation) => return self.operate(&operation),
            Request::SetApplication { application, config } => {
                return self.set_application(application, config);
            }
            Request::SetDevice(config) => {
                let changed = self.devices.get(&config.name).is_none_or(|live| live.config != config);
                if changed {
                    self.set_device(&config)?;
                    self.config.devices.retain(|known| known.name != config.name);
                    self.config.devices.push(config);
                }
                Reply::done(changed)
            }
            Request::RemoveDevice { name } => self.remove_device(&name)?,
            Request::SetControl { application, control } => {
                let changed = self.config.controls.get(&application) != control.as_ref();
                if changed {
                    if let Some(control) = &control {
                        if self.config.evpn.contains_key(&application) && control.plane.plane().is_some() {
                            return Err(AgentError::Driven(application));
                        }
                        control.check()?;
                    }
                    self.drive(application, control.as_ref())?;
                    match control {
                        Some(control) => self.config.controls.insert(application, control),
                        None => self.config.controls.remove(&application),
                    };
                }
                Reply::done(changed)
            }
            Request::SetEvpn { application, evpn } => self.set_evpn(application, evpn)?,
            Request::SetUnderlay { devices } => self.set_underlay(devices)?,
            Request::FibAdd { device, identifier, node } => self.add_entry(device, identifier, node)?,
            Request::FibDel { device, identifier } => self.remove_entry(device, identifier)?,
            Request::FibGet { device } => return self.fib(device.as_deref()),
            Request::Config => return Ok(Reply::Config(self.config.clone())),
            Request::Evpn => return Ok(Reply::Evpn(self.feeds.report())),
            Request::Stats => return Ok(Reply::Stats(self.stats()?)),
            Request::Metrics => return Ok(Reply::Metrics(report::metrics(&self.stats()?))),
            // Without a loop that waits, what this node knows itself.
            Request::Trace(trace) => return Ok(self.start_trace(&trace, 0)?.so_far()),
            Request::Watch => Reply::done(false),
        };
        if matches!(reply, Reply::Done { changed: true, .. }) {
            self.note(&line)?;
        }
        Ok(reply)
    }

    /// Adds a line to the journal.
    ///
    /// # Errors
    /// The line is not there. All that it would say is in the journal that is written anew with the next one that finds room.
    fn note(&mut self, line: &Line) -> Result<(), AgentError> {
        self.journal.add(line).map_err(|error| AgentError::Journal(self.places.journal(), error))?;
        if self.journal.is_to_be_renewed()
            && let Err(error) = self.write_journal()
        {
            // The one that there is has the line.
            tracing::warn!(%error, "the journal is not written anew");
            self.journal.put_off();
        }
        Ok(())
    }

    /// Has the data plane follow what a control plane or a feed did, which knows it as done: so whether the journal has room for it
    /// or not.
    fn follow_control(&mut self, operation: Operation, event: Event) -> Result<(), AgentError> {
        let noted = self.note(&Line::Control(operation));
        self.follow(vec![event])?;
        noted
    }

    /// Writes the journal anew.
    fn write_journal(&mut self) -> Result<(), AgentError> {
        let Config { applications, devices, controls, evpn, underlay } = self.config.clone();
        let requests =
            applications
                .into_iter()
                .map(|(application, config)| Request::SetApplication { application, config })
                .chain(self.overlay.operations().map(Request::Operation))
                .chain(devices.into_iter().map(Request::SetDevice))
                .chain(self.identifiers.by_hand().map(|((device, identifier), node)| Request::FibAdd {
                    device: device.clone(),
                    identifier: *identifier,
                    node,
                }))
                .chain(controls.into_iter().map(|(application, control)| Request::SetControl {
                    application,
                    control: Some(control),
                }))
                .chain(
                    evpn.into_iter()
                        .map(|(application, evpn)| Request::SetEvpn { application, evpn: Some(evpn) }),
                )
                .chain(underlay.map(|devices| Request::SetUnderlay { devices: Some(devices) }));
        let path = self.places.journal();
        self.journal =
            Journal::write(&path, self.namespace, requests.map(Line::Request)).map_err(at(&path))?;
        Ok(())
    }

    /// Does one of ovstack's operations.
    fn operate(&mut self, operation: &Operation) -> Result<Reply, AgentError> {
        let application = operation.application();
        if let Operation::LocatorAdd { locator, .. } = operation
            && let Some(config) = self.config.applications.get(&application)
        {
            self.check_shared(application, config, [*locator])?;
        }
        let before = self.overlay.tables(application).and_then(|tables| tables.own);
        let (answer, event) = self.overlay.apply(operation)?;
        let Answer::Done { changed } = answer else { return Ok(Reply::Answer(answer)) };
        let Some(event) = event else { return Ok(Reply::done(changed)) };
        // LIB and RIB have it, whether the tables have room for it or not.
        let noted = self.note(&Line::Request(Request::Operation(operation.clone())));
        if let Event::Own { .. } = event
            && let Some(tables) = self.overlay.tables(application)
        {
            let (own, locators) = (tables.own, tables.locators.clone());
            self.members.locators(application, &locators);
            self.listen();
            self.move_vtep(application)?;
            if own != before
                && let Some(control) = self.config.controls.get(&application).cloned()
            {
                // To the others it is another node now.
                self.drive(application, None)?;
                self.drive(application, Some(&control))?;
            }
        }
        self.follow(vec![event])?;
        noted?;
        Ok(Reply::done(changed))
    }

    /// Opens sockets at all own locators.
    fn listen(&mut self) {
        let all = self.overlay.applications().flat_map(|(_, tables)| tables.locators.keys().copied());
        self.members.listen(all);
    }

    /// Drives the control planes, and forgets stations that were silent for long.
    fn tick(&mut self) -> Result<(), AgentError> {
        let (feeds, overlay) = (&self.feeds, &self.overlay);
        self.members.receive(now(), overlay, |application| trace::own_name(feeds, overlay, application));
        for operation in self.members.run(now()) {
            match self.overlay.apply(&operation) {
                Ok((_, Some(event))) => {
                    if let Err(error) = self.follow_control(operation, event) {
                        tracing::error!(%error, "not all of the agent follows a control plane");
                    }
                }
                Ok((_, None)) => {}
                Err(error) => tracing::debug!(%error, "a control plane takes away what is away"),
            }
        }
        self.members.transmit();
        self.feed()?;
        self.find_entrances_again();
        if self.again.is_some_and(|again| now() >= again) {
            self.again = None;
            self.compile_again()?;
        }
        if self.retry.is_some_and(|retry| now() >= retry) {
            self.retry = None;
            if let Err(error) = self.write(&[]) {
                tracing::debug!(%error, "the kernel still refuses");
            }
        }
        let written = self.tables.written();
        let entries = (written - std::mem::replace(&mut self.told_writes, written)) as usize;
        self.untold.add((entries > 0).then_some(Change::Written { entries }));
        self.sweep()
    }

    /// When [`tick`](Self::tick) has something to do at the latest.
    fn timeout(&self) -> Duration {
        let dues = [
            self.members.timeout(),
            self.feeds.timeout(),
            self.again,
            self.retry,
            self.trace_due(),
            self.entrances_due(),
        ];
        let dues = dues.into_iter().flatten();
        dues.fold(self.sweep_due(), Duration::min).saturating_sub(now())
    }
}
