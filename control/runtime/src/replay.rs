//! A recorded run, run again.

use crate::record::{Entry, Event};
use crate::{
    Action, Application, Content, Manifest, Memory, NotTaken, Refused, RunId, Runtime, Snapshot, Task,
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
    #[error("entry {place}: recorded was {recorded:?}, and now it is {now:?}")]
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
/// thread. Fails at the first commit or failure that is not the recorded one; else gives the state at the end.
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
    loop {
        match (recorded.next(), now.next()) {
            (None, None) => return Ok(()),
            (recorded, now) if recorded == now.as_ref() => {}
            (recorded, now) => {
                let recorded = recorded.cloned().map(Box::new);
                return Err(Divergence::Other { place, recorded, now: now.map(Box::new) });
            }
        }
    }
}
