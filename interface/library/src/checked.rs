//! A network without a fault: what it means, and the state that realises it.

use crate::error::Error;
use crate::fault::{Faults, Origin, Twice};
use crate::named::Named;
use crate::network::Draft;
use crate::starter::Starter;
use crate::text::text;
use crate::vocabulary::vocabulary;
use plait_model_topology::address::{Assignment, assign};
use plait_model_topology::diagnostic::{Diagnostic, Report};
use plait_model_topology::document::{Source, Value, parse};
use plait_model_topology::{Network, resolve_network};
use plait_testbed_experiment::runner::Input;
use plait_testbed_experiment::section::{Action, Experiment, Script};
use plait_testbed_runtime::control::Traces;
use plait_testbed_runtime::obstacle::{obstacles, prohibitions};
use plait_testbed_runtime::openflow::controller_applications;
use plait_testbed_runtime::plan::{Deciding, State, Wishes, desired};
use plait_testbed_runtime::routing::decided;
use std::path::PathBuf;

/// A network without a fault.
#[derive(Debug, Clone)]
pub struct Checked {
    network: Network,
    experiment: Option<Experiment>,
    source: Source,
    document: Value,
    /// The document with the levels of its cell in place.
    filled: Value,
    named: Named,
    /// Where its parts were written, if not in the source.
    origin: Option<Origin>,
}

impl Checked {
    pub(crate) fn of_text(source: Source, folder: PathBuf) -> Result<Self, Error> {
        Self::of(source, folder, None)
    }

    pub(crate) fn of_draft(draft: &Draft, folder: PathBuf) -> Result<Self, Error> {
        if let Some(report) = &draft.unreadable {
            return Err(Error::Faulty(report.clone().into()));
        }
        if !draft.twice.is_empty() {
            return Err(Error::Faulty(Twice::faults(&draft.twice)));
        }
        let name = draft.written.value()["name"].as_str().unwrap_or("network").to_owned();
        let source = Source::new(format!("{name}.yaml"), text(draft.written.value()));
        Self::of(source, folder, Some(Origin::of(&draft.written)))
    }

    fn of(source: Source, folder: PathBuf, origin: Option<Origin>) -> Result<Self, Error> {
        let named = Named::beside(folder);
        let document = parse(&source).map_err(|report| Error::Faulty(report.into()))?;
        let tell = |faults: Vec<Diagnostic>| faulty(&source, &document, origin.as_ref(), faults);
        let experiment = Experiment::of(&document).map_err(tell)?;
        let filled = match &experiment {
            Some(experiment) => experiment.document(&document, &experiment.cells[0]),
            None => document.clone(),
        };
        let network = resolve_network(&source, &filled, &vocabulary(), &|name| named.read(name))
            .map_err(|report| tell(report.diagnostics))?;
        Ok(Self { network, experiment, source, document, filled, named, origin })
    }

    /// What it means, with every default applied and every name resolved. With factors it is the network of
    /// the first cell.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// What varies between runs, if anything does.
    pub fn experiment(&self) -> Option<&Experiment> {
        self.experiment.as_ref()
    }

    /// The file's name as faults call it.
    pub fn file(&self) -> &str {
        &self.source.name
    }

    /// What happens in a run.
    ///
    /// # Errors
    /// None, of a network that was checked; the faults of a cell's otherwise.
    pub fn script(&self) -> Result<Script, Error> {
        Script::of(&self.network).map_err(|faults| self.faulty(faults))
    }

    /// The network of a cell and repeat of its experiment, both counted from 1.
    ///
    /// # Errors
    /// A cell that is not there, or what is wrong when its levels stand in the file.
    pub fn in_cell(&self, cell: usize, repeat: usize) -> Result<Self, Error> {
        let Some(experiment) = &self.experiment else {
            return Err(Error::Misused(format!(
                "{} has no `experiment:`, so there are no cells",
                self.file()
            )));
        };
        let cells = experiment.cells.len();
        let Some(levels) = cell.checked_sub(1).and_then(|at| experiment.cells.get(at)) else {
            return Err(Error::Misused(format!("there is no cell {cell}: this experiment has 1 to {cells}")));
        };
        let filled = experiment.document(&self.document, levels);
        let named = self.named.anew();
        let network = resolve_network(&self.source, &filled, &vocabulary(), &|name| named.read(name));
        let mut network = network.map_err(|report| match self.faulty(report.diagnostics) {
            Error::Faulty(faults) => Error::Faulty(faults.within(&circumstances(experiment, cell))),
            other => other,
        })?;
        // Choice: all cells of a repeat share its seed, so that they meet the same losses (common random
        // numbers).
        network.seed = network.seed.wrapping_add(repeat.max(1) as u64 - 1);
        Ok(Self { network, filled, named, ..self.clone() })
    }

    /// Looks at all cells of its experiment, if it has one.
    ///
    /// # Errors
    /// What is wrong with the first that has a fault.
    pub fn every_cell(&self) -> Result<(), Error> {
        let cells = self.experiment.as_ref().map_or(0, |experiment| experiment.cells.len());
        (2..=cells).try_for_each(|cell| self.in_cell(cell, 1).map(drop))
    }

    /// The state that realises the network. With the addresses of a running testbed, those that can stay
    /// stay.
    ///
    /// # Errors
    /// What no machine can make of it.
    pub fn desired(&self, wishes: &Wishes, previous: Option<&Assignment>) -> Result<State, Error> {
        let assignment = assign(&self.network, previous).map_err(|faults| self.faulty(faults))?;
        let mut wishes = wishes.clone();
        wishes.dynamic.extend(self.changing()?);
        wishes.control = self.deciding()?;
        let added = controller_applications(&self.network, &|name| self.named.bytes(name));
        wishes.applications = added.map_err(|faults| self.faulty(faults))?;
        desired(&self.network, &assignment, &wishes, &|name| self.named.read(name))
            .map_err(|faults| self.faulty(faults))
    }

    /// The same, where this user may have it.
    ///
    /// # Errors
    /// The same, and what the kernel keeps from this user.
    pub fn permitted(&self, wishes: &Wishes, previous: Option<&Assignment>) -> Result<State, Error> {
        let state = self.desired(wishes, previous)?;
        let found = prohibitions(&self.network, &state);
        if found.is_empty() { Ok(state) } else { Err(self.faulty(found)) }
    }

    /// The same, where it can be built on this machine by this starter.
    ///
    /// # Errors
    /// The same, and what this machine lacks.
    pub fn buildable(
        &self,
        wishes: &Wishes,
        previous: Option<&Assignment>,
        starter: &Starter,
    ) -> Result<State, Error> {
        let state = self.desired(wishes, previous)?;
        let obstacles = obstacles(&self.network, &state, &|| starter.netem());
        if obstacles.is_empty() { Ok(state) } else { Err(self.faulty(obstacles)) }
    }

    /// The control applications that decide its routes.
    pub(crate) fn deciding(&self) -> Result<Vec<Deciding>, Error> {
        decided(&self.network, &|name| self.named.bytes(name)).map_err(|faults| self.faulty(faults))
    }

    /// The links that events change, which must be made so that they can.
    fn changing(&self) -> Result<Vec<String>, Error> {
        let changed = self.script()?.events.into_iter().filter_map(|event| match event.action {
            Action::Set { link, .. } | Action::Link { link, .. } => Some(link),
            Action::Start(_) | Action::Node { .. } | Action::Wait(_) => None,
        });
        Ok(changed.collect())
    }

    /// The traces that events of a script name.
    ///
    /// # Errors
    /// A trace that cannot be read.
    pub fn traces(&self, script: &Script) -> Result<Traces, Error> {
        let mut traces = Traces::new();
        for event in &script.events {
            let Action::Set { change, .. } = &event.action else { continue };
            for path in change.traces() {
                let text = self.named.read(path).map_err(|reason| Error::Unreadable {
                    path: self.file().into(),
                    reason: format!("an event's trace: {reason}"),
                })?;
                traces.insert(path.to_owned(), text);
            }
        }
        Ok(traces)
    }

    /// The files it names, with their bytes.
    pub fn named(&self) -> Vec<(String, Vec<u8>)> {
        self.named.files()
    }

    /// What a run keeps of the file, beside the files it names.
    pub fn input<'a>(&'a self, named: &'a [(String, Vec<u8>)]) -> Input<'a> {
        Input { network: &self.network, file: self.file(), text: self.source.text.as_bytes(), named }
    }

    pub(crate) fn filled(&self) -> &Value {
        &self.filled
    }

    pub(crate) fn faulty(&self, faults: Vec<Diagnostic>) -> Error {
        faulty(&self.source, &self.document, self.origin.as_ref(), faults)
    }
}

/// Faults that point at who wrote them: the lines of a program, or of a file.
/// Which cell a fault is of.
pub(crate) fn circumstances(experiment: &Experiment, cell: usize) -> String {
    let levels = cell.checked_sub(1).and_then(|at| experiment.cells.get(at));
    format!("in cell {cell}: {}", levels.map(|levels| experiment.describe(levels)).unwrap_or_default())
}

fn faulty(source: &Source, document: &Value, origin: Option<&Origin>, faults: Vec<Diagnostic>) -> Error {
    Error::Faulty(match origin {
        Some(origin) => origin.faults(source, document, faults),
        None => Faults::from(Report::new(source.clone(), faults)),
    })
}
