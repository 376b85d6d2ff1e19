//! The keys of a network file that say what happens in a run.
//!
//! [`register`] adds them to the vocabulary: `run` (timed commands and link changes, and waits),
//! `traffic` (flows among hosts), `collect` (what is
//! measured and kept), `duration`, `warmup`, `metrics` and `assert` (the figures, and what they must be), `report`
//! (the question) and `experiment` (what varies between runs). [`Script::of`] reads what one run does from a checked
//! network, [`Experiment::of`] reads which runs there are from a document.

mod assertion;
mod collect;
mod event;
mod experiment;
mod metric;
mod names;
mod over;
mod question;
mod traffic;

pub use assertion::Assertion;
pub use collect::{Capture, Collect, FileRequest};
pub use event::{Action, Command, Condition, DEFAULT_TIMEOUT, DEFAULT_WAIT, Event, Expect, Protocol, Wait};
pub use experiment::{Experiment, Repeats};
pub use metric::{Metric, Source};
pub use over::Over;
pub use question::Question;
pub use traffic::Traffic;

use collect::CollectFile;
use event::EventFile;
use experiment::ExperimentFile;
use metric::MetricsFile;
use plait_model_quantity::TimeSpan;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::Spanned;
use plait_model_topology::vocabulary::Place;
use plait_model_topology::{Network, Vocabulary, section};
use plait_simulator_world::is_link_end;
use traffic::TrafficFile;

/// Everything one run does: the events in the order they fire, and what is kept of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// Events by instant; those of the same instant in the order of the file.
    pub events: Vec<Event>,
    /// Flows among hosts.
    pub traffic: Vec<Traffic>,
    /// What is measured and collected.
    pub collect: Collect,
    /// How long the run lasts, its waits not counted; without it, until the last event was fired and its commands have
    /// ended.
    pub duration: Option<TimeSpan>,
    /// How long samples are in no metric, waits not counted.
    pub warmup: TimeSpan,
    /// The figures of the run.
    pub metrics: Vec<Metric>,
    /// What they must be.
    pub assertions: Vec<Assertion>,
    /// What the run is about.
    pub question: Question,
}

/// Adds the keys of a run to a vocabulary.
pub fn register(vocabulary: &mut Vocabulary) {
    vocabulary
        .checked_key::<Vec<Spanned<EventFile>>>(Place::File, "run", |run, network| {
            event::resolve(run, network).err().unwrap_or_default()
        })
        .checked_key::<Vec<Spanned<TrafficFile>>>(Place::File, "traffic", |traffic, network| {
            // A duration that is at fault is told where it stands.
            let duration = section::<TimeSpan>(&network.sections, "duration").unwrap_or_default();
            traffic::resolve(traffic, duration, network).err().unwrap_or_default()
        })
        .checked_key::<CollectFile>(Place::File, "collect", |collect, network| {
            let unknown = not_one(collect.json.iter(), network);
            collect::resolve(collect, network).err().unwrap_or_default().into_iter().chain(unknown).collect()
        })
        .checked_key::<Spanned<TimeSpan>>(Place::File, "duration", check_duration)
        .checked_key::<MetricsFile>(Place::File, "metrics", |metrics, network| {
            let unknown = not_one(metrics.values().filter_map(|metric| metric.output.as_ref()), network);
            metric::resolve(metrics, network).err().unwrap_or_default().into_iter().chain(unknown).collect()
        })
        .checked_key::<Vec<Spanned<String>>>(Place::File, "assert", |asserted, network| {
            match metrics(network) {
                Ok(metrics) => assertion::resolve(asserted, &metrics).err().unwrap_or_default(),
                Err(_) => Vec::new(),
            }
        })
        .key::<TimeSpan>(Place::File, "warmup")
        .key::<Question>(Place::File, "report")
        .key::<ExperimentFile>(Place::File, "experiment");
}

impl Script {
    /// The script of a network file.
    ///
    /// # Errors
    /// The faults in it; there is none after the file was accepted with [`register`]ed keys.
    pub fn of(network: &Network) -> Result<Self, Vec<Diagnostic>> {
        let one = |fault| vec![fault];
        let run: Vec<Spanned<EventFile>> =
            section(&network.sections, "run").map_err(one)?.unwrap_or_default();
        let traffic: Vec<Spanned<TrafficFile>> =
            section(&network.sections, "traffic").map_err(one)?.unwrap_or_default();
        let collect: CollectFile = section(&network.sections, "collect").map_err(one)?.unwrap_or_default();
        let duration: Option<TimeSpan> = section(&network.sections, "duration").map_err(one)?;
        let warmup: Option<TimeSpan> = section(&network.sections, "warmup").map_err(one)?;
        let asserted: Vec<Spanned<String>> =
            section(&network.sections, "assert").map_err(one)?.unwrap_or_default();
        let question: Question = section(&network.sections, "report").map_err(one)?.unwrap_or_default();
        let metrics = metrics(network)?;
        Ok(Self {
            events: event::resolve(&run, network)?,
            traffic: traffic::resolve(&traffic, duration, network)?,
            collect: collect::resolve(&collect, network)?,
            duration,
            warmup: warmup.unwrap_or(TimeSpan::ZERO),
            assertions: assertion::resolve(&asserted, &metrics)?,
            metrics,
            question,
        })
    }

    /// Has the packets of an interface written down, too: `a:eth0`.
    ///
    /// # Errors
    /// There is no such interface, in words.
    pub fn add_capture(&mut self, port: &str, network: &Network) -> Result<(), String> {
        let capture = collect::capture(&Spanned::new(port.to_owned(), Default::default()), network);
        let capture = capture.map_err(|fault| match fault.help {
            Some(help) => format!("{}: {help}", fault.message),
            None => fault.message,
        })?;
        if !self.collect.captures.contains(&capture) {
            self.collect.captures.push(capture);
        }
        Ok(())
    }

    /// Leaves out what only a testbed can do: commands and waits, all samples but those of links, captures but those of
    /// links' ends, files, and the figures and assertions that rest on them.
    pub fn keep_portable(&mut self, network: &Network) {
        self.events.retain(|event| !matches!(event.action, Action::Start(_) | Action::Wait(_)));
        let stays = |capture: &Capture| is_link_end(network, &capture.node, &capture.interface);
        self.collect = Collect {
            tcp: None,
            links: self.collect.links,
            interfaces: None,
            files: Vec::new(),
            captures: std::mem::take(&mut self.collect.captures).into_iter().filter(stays).collect(),
            pings: Vec::new(),
            json: Vec::new(),
            control: self.collect.control,
        };
        self.metrics.retain(|metric| matches!(metric.source, Source::Link { .. }));
        let is_known =
            |assertion: &Assertion| self.metrics.iter().any(|metric| metric.name == assertion.metric);
        self.assertions.retain(is_known);
    }

    /// When the last event fires, if no wait takes time.
    pub fn last_event(&self) -> TimeSpan {
        self.events.last().map_or(TimeSpan::ZERO, |event| event.at)
    }
}

fn metrics(network: &Network) -> Result<Vec<Metric>, Vec<Diagnostic>> {
    let file: Option<MetricsFile> = section(&network.sections, "metrics").map_err(|fault| vec![fault])?;
    metric::resolve(&file.unwrap_or_default(), network)
}

/// Faults of names that are to be a command's each, and are none's or several's.
fn not_one<'a>(wanted: impl Iterator<Item = &'a Spanned<String>>, network: &Network) -> Vec<Diagnostic> {
    let Ok(Some(run)) = section::<Vec<Spanned<EventFile>>>(&network.sections, "run") else {
        return Vec::new();
    };
    let Ok(events) = event::resolve(&run, network) else { return Vec::new() };
    let names: Vec<&str> = events
        .iter()
        .filter_map(|event| match &event.action {
            Action::Start(command) => Some(command.name.as_str()),
            _ => None,
        })
        .collect();
    let fault = |output: &Spanned<String>| {
        let starts = names.iter().filter(|name| **name == output.value).count();
        match starts {
            1 => None,
            0 => Some(
                Diagnostic::new(output.span, format!("no command is called `{}`", output.value))
                    .help(suggest(output, names.iter().copied())),
            ),
            _ => Some(
                Diagnostic::new(output.span, format!("{starts} commands are called `{}`", output.value))
                    .help("give each a `name` of its own"),
            ),
        }
    };
    wanted.filter_map(fault).collect()
}

fn check_duration(duration: &Spanned<TimeSpan>, network: &Network) -> Vec<Diagnostic> {
    let Ok(Some(run)) = section::<Vec<Spanned<EventFile>>>(&network.sections, "run") else {
        return Vec::new();
    };
    // A wait that says no instant has that of an event before it.
    let late = run.iter().filter_map(|event| event.at.as_ref()).find(|at| at.value > duration.value);
    let fault = late.map(|at| {
        Diagnostic::new(at.span, format!("this event comes after the run's end at {}", duration.value))
            .note(duration.span, "the run ends here")
            .help("lengthen `duration`, or move the event before its end")
    });
    fault.into_iter().collect()
}
