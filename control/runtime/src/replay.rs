//! A recorded run, run again.

use crate::record::{Entry, Event};
use crate::{
    Action, Application, Content, Manifest, Memory, NotTaken, Refused, RunId, Runtime, Snapshot, Task, Value,
    ViewId,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Why a replay did not end as the recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Divergence {
    /// A recording begins with its beginning, once.
    #[error("entry {0} is not what a recording has there")]
    Form(usize),
    /// An application of the recording is not at hand.
    #[error("entry {place}: the application {application} is not at hand")]
    Missing {
        /// Which entry.
        place: usize,
        /// Which application.
        application: crate::Name,
    },
    /// What was added then is refused now.
    #[error("entry {place}: {refused}")]
    Refused {
        /// Which entry.
        place: usize,
        /// Why.
        refused: Refused,
    },
    /// What was taken then is not taken now.
    #[error("entry {place}: {not_taken}")]
    NotTaken {
        /// Which entry.
        place: usize,
        /// Why.
        not_taken: NotTaken,
    },
    /// What came of it is something else.
    #[error("entry {place}: {}", told(recorded.as_deref(), now.as_deref()))]
    Other {
        /// Which entry.
        place: usize,
        /// What the recording says.
        recorded: Option<Box<Event>>,
        /// What has happened now.
        now: Option<Box<Event>>,
    },
}

/// Runs a recording again: the same events at the same times, tasks finished in the recorded order, on the calling
/// thread. Fails at the first commit or failure that is not the recorded one; else gives the state at the end. What came of the
/// very last event may be missing.
///
/// `application` finds the code for a recorded manifest. Choice: a recording holds no code; whoever replays gives it,
/// the same to reproduce a fault, or another to see whether it is gone.
pub fn replay(
    recording: &[Entry],
    mut application: impl FnMut(&Manifest) -> Option<Arc<dyn Application>>,
) -> Result<Snapshot, Divergence> {
    let mut entries = recording.iter().enumerate();
    let mut runtime = match entries.next() {
        Some((_, Entry { event: Event::Begin(config), .. })) => {
            let config = crate::Config { record: true, ..config.clone() };
            Runtime::with_environment(config, Box::new(Memory::new(0)))
        }
        _ => return Err(Divergence::Form(0)),
    };
    let mut tasks: BTreeMap<(RunId, usize), Task> = BTreeMap::new();
    for (place, Entry { at, event }) in entries {
        let refused = |refused| Divergence::Refused { place, refused };
        let not_taken = |not_taken| Divergence::NotTaken { place, not_taken };
        match event {
            Event::Begin(_) => return Err(Divergence::Form(place)),
            Event::Grant { who, view } => runtime.grant(who, view),
            Event::Revoke { who, view } => runtime.revoke(who, view).map_err(refused)?,
            Event::Application(manifest) => {
                let missing = || Divergence::Missing { place, application: manifest.name.clone() };
                let code = application(manifest).ok_or_else(missing)?;
                runtime.add_application(manifest.clone(), code).map_err(refused)?;
            }
            Event::RemoveApplication(name) => runtime.remove_application(name).map_err(refused)?,
            Event::Driver { name, signature } => {
                runtime.add_driver(name, signature.clone()).map_err(refused)?;
            }
            Event::RemoveDriver(name) => runtime.remove_driver(name).map_err(refused)?,
            Event::Dag(dag) => runtime.add_dag(*at, dag.clone()).map_err(refused)?,
            Event::RemoveDag(name) => runtime.remove_dag(name).map_err(refused)?,
            Event::Trigger(name) => runtime.handle_trigger(*at, name).map_err(not_taken)?,
            Event::Time => runtime.handle_timeout(*at),
            Event::Observed { driver, changes } => {
                let content = |(view, value): &(_, crate::Value)| {
                    (crate::ViewId::clone(view), Content::plain(value.clone()))
                };
                let changes = changes.iter().map(content).collect();
                runtime.handle_views(*at, driver, changes).map_err(not_taken)?;
            }
            Event::Finished { run, node } => {
                let task = tasks.remove(&(*run, *node)).ok_or_else(|| Divergence::Other {
                    place,
                    recorded: Some(Box::new(event.clone())),
                    now: None,
                })?;
                runtime.handle_finished(*at, task.run());
            }
            Event::Committed { .. } | Event::Failed { .. } => {}
        }
        while let Some(action) = runtime.poll_action() {
            if let Action::Start(task) = action {
                tasks.insert(task.id(), task);
            }
        }
        consequences(&mut runtime, recording, place)?;
    }
    Ok(runtime.state())
}

/// Holds what has just followed from entry `place` against what the recording says did.
fn consequences(runtime: &mut Runtime, recording: &[Entry], place: usize) -> Result<(), Divergence> {
    if recording[place].event.follows() {
        return Ok(());
    }
    let mut recorded =
        recording[place + 1..].iter().map(|entry| &entry.event).take_while(|event| event.follows());
    let mut now = std::iter::from_fn(|| runtime.poll_entry()).map(|entry| entry.event).filter(Event::follows);
    let mut seen = 0;
    loop {
        match (recorded.next(), now.next()) {
            (None, None) => return Ok(()),
            // Whoever recorded was killed between the last event and what came of it.
            (None, Some(_)) if place + 1 + seen == recording.len() => return Ok(()),
            (recorded, now) if recorded == now.as_ref() => seen += 1,
            (recorded, now) => {
                let recorded = recorded.cloned().map(Box::new);
                return Err(Divergence::Other { place, recorded, now: now.map(Box::new) });
            }
        }
    }
}

/// What differs, in a line however much was written.
fn told(recorded: Option<&Event>, now: Option<&Event>) -> String {
    let both = match (recorded, now) {
        (
            Some(Event::Committed { run, dag, changes }),
            Some(Event::Committed { run: other, dag: same, changes: others }),
        ) if (run, dag) == (other, same) => Some((run, dag, changes, others)),
        _ => None,
    };
    let Some((run, dag, changes, others)) = both else {
        return format!("recorded was {}, and now it is {}", named(recorded), named(now));
    };
    let whole = |changes: &[(ViewId, Value)]| {
        let all = changes.iter().map(|(view, value)| {
            Value::Tuple([Value::String(view.to_string().into()), value.clone()].into())
        });
        Value::List(all.collect())
    };
    let (changes, others) = (whole(changes), whole(others));
    let (one, other, place) = difference(&changes, &others);
    format!("run {run} of {dag} wrote {} as recorded, and {} now, at {place}", short(one), short(other))
}

fn named(event: Option<&Event>) -> String {
    match event {
        None => "nothing".to_owned(),
        Some(Event::Committed { run, dag, changes }) => {
            let views: Vec<String> = changes.iter().map(|(view, _)| view.to_string()).collect();
            format!("run {run} of {dag} with {}", views.join(" and "))
        }
        Some(Event::Failed { run, dag, application, why }) => {
            format!("that {application} of run {run} of {dag} failed: {why}")
        }
        Some(other) => short(other),
    }
}

/// The innermost parts that differ, and where they are.
fn difference<'a>(one: &'a Value, other: &'a Value) -> (&'a Value, &'a Value, String) {
    let (mut one, mut other, mut place) = (one, other, String::new());
    loop {
        let inside = match (one, other) {
            (Value::List(own), Value::List(others))
            | (Value::Record(own), Value::Record(others))
            | (Value::Tuple(own), Value::Tuple(others))
                if own.len() == others.len() =>
            {
                own.iter().zip(others.iter()).enumerate().find(|(_, (own, other))| own != other)
            }
            (Value::Variant(own, Some(one)), Value::Variant(case, Some(other))) if own == case => {
                Some((*own as usize, (&**one, &**other)))
            }
            (Value::Option(Some(one)), Value::Option(Some(other))) => Some((0, (&**one, &**other))),
            _ => None,
        };
        let Some((step, (inner, its))) = inside else { return (one, other, place) };
        (one, other) = (inner, its);
        place += &format!("[{step}]");
    }
}

fn short(what: &impl std::fmt::Debug) -> String {
    let text = format!("{what:?}");
    match text.char_indices().nth(120) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
