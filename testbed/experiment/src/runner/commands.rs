//! The commands of a run: started, looked after, always stopped.

use super::{Command, Moment, Progress};
use crate::results::records::seconds;
use crate::results::{CommandRecord, ResultsError, Staging};
use crate::section::{DEFAULT_TIMEOUT, Expect};
use crate::world::{Ended, Launch, Outcome, Running, Stop, World, WorldError};
use std::time::Duration;

pub(super) struct Commands<'a> {
    world: &'a dyn World,
    staging: &'a Staging,
    start: Duration,
    all: Vec<Started>,
}

/// What ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All was done.
    Reached,
    /// The user.
    Interrupted,
    /// A wait that was in vain.
    Waited,
}

struct Started {
    command: Command,
    /// When it was to start, seconds from the start of the run.
    asked_s: f64,
    folder: String,
    /// None when it could not be started, or is gone.
    running: Option<Box<dyn Running>>,
    outcome: Option<Outcome>,
    /// Why it could not be started or looked after.
    error: Option<WorldError>,
}

impl<'a> Commands<'a> {
    pub fn new(world: &'a dyn World, staging: &'a Staging, start: Duration) -> Self {
        Self { world, staging, start, all: Vec::new() }
    }

    /// Starts a command that was to start at a second of the run, and returns the folder of its output. What the world
    /// refuses is that command's failure and the inner error.
    pub fn start(
        &mut self,
        command: &Command,
        asked_s: f64,
    ) -> Result<Result<String, WorldError>, ResultsError> {
        let folder = format!("commands/{:02}-{}", self.all.len() + 1, file_name(&command.name));
        let launch = Launch {
            node: &command.node,
            command: &command.exec,
            timeout: Duration::from(command.timeout.unwrap_or(DEFAULT_TIMEOUT)),
            stdout: &self.staging.path(&format!("{folder}/stdout"))?,
            stderr: &self.staging.path(&format!("{folder}/stderr"))?,
        };
        // A command in the background lasts as long as the run unless it says otherwise.
        let endless = command.background && command.timeout.is_none();
        let launch = if endless { Launch { timeout: Duration::MAX, ..launch } } else { launch };
        let (running, error) = match self.world.spawn(&launch) {
            Ok(running) => (Some(running), None),
            Err(error) => (None, Some(error)),
        };
        let started = error.clone().map_or(Ok(folder.clone()), Err);
        self.all.push(Started { command: command.clone(), asked_s, folder, running, outcome: None, error });
        Ok(started)
    }

    /// Takes note of the commands that are gone.
    pub fn look(&mut self, progress: &mut dyn Progress) {
        for started in &mut self.all {
            let Some(running) = &mut started.running else { continue };
            match running.outcome() {
                Ok(None) => continue,
                Ok(Some(outcome)) => started.outcome = Some(outcome),
                Err(error) => started.error = Some(error),
            }
            started.running = None;
            let at = seconds(self.world.now(), self.start);
            let Command { name, node, .. } = &started.command;
            progress.moment(at, Moment::Ended { name, node, passed: started.passed() });
        }
    }

    /// Whether any command runs.
    pub fn any_running(&self) -> bool {
        self.all.iter().any(|started| started.running.is_some())
    }

    /// Whether a command runs that the run waits for.
    pub fn awaited(&self) -> bool {
        self.all.iter().any(|started| started.running.is_some() && !started.command.background)
    }

    /// Stops every command, the last first, and waits for them, but not longer than `grace`.
    pub fn stop_all(&mut self, grace: Duration, progress: &mut dyn Progress) {
        self.look(progress);
        for started in self.all.iter_mut().rev() {
            if let Some(running) = &mut started.running
                && let Err(error) = running.stop()
            {
                started.error = Some(error);
            }
        }
        // The user's wish to stop must not cut this short.
        let patient = Stop::default();
        let deadline = self.world.now() + grace;
        self.look(progress);
        while self.any_running() && self.world.now() < deadline {
            self.world.wait_until(self.world.now() + Duration::from_millis(5), &patient);
            self.look(progress);
        }
        for started in self.all.iter_mut().filter(|started| started.running.is_some()) {
            started.error.get_or_insert_with(|| WorldError::new("it was told to stop and is still there"));
        }
    }

    /// Every command as the results tell it, and why any did not do what it had to, which for those that were stopped
    /// depends on what stopped the run.
    pub fn records(&self, end: End) -> (Vec<CommandRecord>, Vec<String>) {
        let at = |instant: Duration| seconds(instant, self.start);
        let records = self.all.iter().map(|started| CommandRecord {
            name: started.command.name.clone(),
            node: started.command.node.clone(),
            exec: started.command.exec.clone(),
            folder: started.folder.clone(),
            asked_s: started.asked_s,
            started_s: started.outcome.map(|outcome| at(outcome.started)),
            finished_s: started.outcome.map(|outcome| at(outcome.finished)),
            ended: started.outcome.map(|outcome| outcome.ended),
            expect: started.command.expect,
            background: started.command.background,
            passed: started.passed(),
        });
        let failures =
            self.all.iter().filter(|started| !started.passed()).map(|started| started.failure(end));
        (records.collect(), failures.collect())
    }
}

/// However a run ends, its commands end with it.
impl Drop for Commands<'_> {
    fn drop(&mut self) {
        for started in &mut self.all {
            if let Some(running) = &mut started.running {
                // Nobody is left to tell.
                let _ = running.stop();
            }
        }
    }
}

impl Started {
    /// Whether it did what it had to, as far as it is known.
    fn passed(&self) -> bool {
        let Some(outcome) = self.outcome else { return false };
        match (self.command.expect, outcome.ended) {
            (Expect::Any, _) => true,
            (Expect::Code(wanted), Ended::Exit(code)) => wanted == code,
            // A server does not end by itself; its timeout says how long it is wanted.
            (_, Ended::Stopped | Ended::TimedOut) => self.command.background,
            (_, Ended::Signal(_)) => false,
        }
    }

    fn failure(&self, end: End) -> String {
        let Command { name, node, expect, .. } = &self.command;
        let wanted = match expect {
            Expect::Code(code) => format!("exit code {code} was expected"),
            Expect::Any => "any end was expected".to_owned(),
        };
        let what = match (&self.error, self.outcome.map(|outcome| outcome.ended)) {
            (Some(error), _) => error.to_string(),
            (None, None) => "nothing is known of its end".to_owned(),
            (None, Some(Ended::Exit(code))) => format!("it exited with {code}, {wanted}"),
            (None, Some(Ended::Signal(signal))) => format!("signal {signal} ended it, {wanted}"),
            (None, Some(Ended::TimedOut)) => "it was not done within its timeout".to_owned(),
            (None, Some(Ended::Stopped)) => match end {
                End::Interrupted => "it still ran when the run was interrupted".to_owned(),
                End::Waited => "it still ran when a wait ended the run".to_owned(),
                End::Reached => {
                    "it still ran when the run ended: mark it `background: true` if it should".to_owned()
                }
            },
        };
        format!("{name} on {node}: {what}")
    }
}

/// A name as part of a path: letters, digits, `.`, `_` and `-`, at most 40.
pub(super) fn file_name(name: &str) -> String {
    let fine = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let text: String = name.chars().map(fine).take(40).collect();
    let text = text.trim_matches('.');
    if text.is_empty() { "command".to_owned() } else { text.to_owned() }
}
