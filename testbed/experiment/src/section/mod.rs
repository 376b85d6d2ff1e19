//! The keys of a network file that say what happens in a run.
//!
//! [`register`] adds them to the vocabulary: `run` (timed commands and link changes), `collect` (what is measured and
//! kept), `duration`, `report` (the question) and `experiment` (what varies between runs). [`Script::of`] reads what one
//! run does from a checked network, [`Experiment::of`] reads which runs there are from a document.

mod collect;
mod event;
mod experiment;
mod names;
mod question;

pub use collect::{Capture, Collect, FileRequest};
pub use event::{Action, Command, DEFAULT_TIMEOUT, Event, Expect};
pub use experiment::{Experiment, Repeats};
pub use question::Question;

use collect::CollectFile;
use event::EventFile;
use experiment::ExperimentFile;
use plait_model_quantity::TimeSpan;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::Spanned;
use plait_model_topology::vocabulary::Place;
use plait_model_topology::{Network, Vocabulary, section};

/// Everything one run does: the events in the order they fire, and what is kept of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// Events by instant; those of the same instant in the order of the file.
    pub events: Vec<Event>,
    /// What is measured and collected.
    pub collect: Collect,
    /// How long the run lasts; without it, until the last event was fired and its commands have ended.
    pub duration: Option<TimeSpan>,
    /// What the run is about.
    pub question: Question,
}

/// Adds the keys of a run to a vocabulary.
pub fn register(vocabulary: &mut Vocabulary) {
    vocabulary
        .checked_key::<Vec<Spanned<EventFile>>>(Place::File, "run", |run, network| {
            event::resolve(run, network).err().unwrap_or_default()
        })
        .checked_key::<CollectFile>(Place::File, "collect", |collect, network| {
            collect::resolve(collect, network).err().unwrap_or_default()
        })
        .checked_key::<Spanned<TimeSpan>>(Place::File, "duration", check_duration)
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
        let collect: CollectFile = section(&network.sections, "collect").map_err(one)?.unwrap_or_default();
        let duration: Option<TimeSpan> = section(&network.sections, "duration").map_err(one)?;
        let question: Question = section(&network.sections, "report").map_err(one)?.unwrap_or_default();
        Ok(Self {
            events: event::resolve(&run, network)?,
            collect: collect::resolve(&collect, network)?,
            duration,
            question,
        })
    }

    /// When the last event fires.
    pub fn last_event(&self) -> TimeSpan {
        self.events.last().map_or(TimeSpan::ZERO, |event| event.at)
    }
}

fn check_duration(duration: &Spanned<TimeSpan>, network: &Network) -> Vec<Diagnostic> {
    let Ok(Some(run)) = section::<Vec<Spanned<EventFile>>>(&network.sections, "run") else {
        return Vec::new();
    };
    let late = run.iter().find(|event| *event.at > duration.value);
    let fault = late.map(|event| {
        Diagnostic::new(event.at.span, format!("this event comes after the run's end at {}", duration.value))
            .note(duration.span, "the run ends here")
            .help("lengthen `duration`, or move the event before its end")
    });
    fault.into_iter().collect()
}
