//! Waits: looks at nodes, one round after the other, until a condition holds or the time is over.

mod look;
mod tables;
mod watch;

use super::{GRACE, Halt, Pause, Progress, Stage};
use crate::results::ResultsError;
use crate::section::Wait;
use crate::world::{Stop, WorldError};
use look::Look;
use plait_model_quantity::TimeSpan;
use std::time::Duration;
use watch::{Asked, Seen, Watch};

/// How often it is seen whether a look has ended.
const TICK: Duration = Duration::from_millis(5);
/// Choice: nodes that are looked at together, so that a wait for a thousand routers does not start a thousand programs
/// at once beside what is measured.
const TOGETHER: usize = 16;
/// Where looks write, in the results folder while it is made.
pub(super) const FOLDER: &str = "waiting";

/// How a wait ended.
pub(super) enum Waited {
    /// With what was waited for.
    Held,
    /// Without it, in words.
    Failed(String),
    /// The run is to end.
    Halted,
}

/// How a round of looks ended.
enum Round {
    Seen(Vec<Seen>),
    Late,
    Halted,
}

impl Stage<'_> {
    /// Waits at an instant of the run's clock, which stands still meanwhile.
    pub(super) fn wait(
        &mut self,
        wait: &Wait,
        at: TimeSpan,
        halt: &Halt<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Waited, ResultsError> {
        let began = self.world.now();
        self.waiting = Some(wait.condition.to_string());
        let waited = self.look_on(wait, began, halt, progress);
        self.waiting = None;
        self.pauses.push(Pause { at, length: self.world.now().saturating_sub(began) });
        waited
    }

    fn look_on(
        &mut self,
        wait: &Wait,
        began: Duration,
        halt: &Halt<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Waited, ResultsError> {
        let deadline = began.saturating_add(Duration::from(wait.timeout));
        let mut watch = Watch::new(&wait.condition);
        loop {
            let from = self.world.now();
            let mut seen = Vec::new();
            for looks in watch.looks().chunks(TOGETHER) {
                match self.round(looks, deadline, halt, progress)? {
                    Ok(Round::Seen(more)) => seen.extend(more),
                    Ok(Round::Late) => return Ok(Waited::Failed(in_vain(wait, &watch))),
                    Ok(Round::Halted) => return Ok(Waited::Halted),
                    Err(error) => {
                        return Ok(Waited::Failed(format!("cannot wait for {}: {error}", wait.condition)));
                    }
                }
            }
            let to = self.world.now();
            if watch.holds(from, to, &seen) {
                return Ok(Waited::Held);
            }
            if !self.pass_until(deadline.min(to + watch.pause()), halt, progress) {
                return Ok(Waited::Halted);
            }
            if self.world.now() >= deadline {
                return Ok(Waited::Failed(in_vain(wait, &watch)));
            }
        }
    }

    /// Looks at some nodes at once. The inner error is the world's.
    fn round(
        &mut self,
        looks: &[Asked<'_>],
        deadline: Duration,
        halt: &Halt<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Result<Round, WorldError>, ResultsError> {
        let mut running = Vec::new();
        for (number, look) in looks.iter().enumerate() {
            let timeout = deadline.saturating_sub(self.world.now());
            let folder = format!("{FOLDER}/{number}");
            match Look::start(self.world, self.staging, &folder, look, timeout)? {
                Ok(look) => running.push(look),
                Err(error) => return Ok(Err(error)),
            }
        }
        loop {
            match done(&mut running) {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) => return Ok(Err(error)),
            }
            let now = self.world.now();
            let halted = !self.pass_until(deadline.min(now + TICK), halt, progress);
            if halted || now >= deadline {
                self.end(running);
                return Ok(Ok(if halted { Round::Halted } else { Round::Late }));
            }
        }
        let seen: Result<_, ResultsError> = running.iter().map(Look::seen).collect();
        Ok(Ok(Round::Seen(seen?)))
    }

    /// Stops looks that take too long, and waits for them: what they wrote goes with the wait.
    fn end(&self, mut looks: Vec<Look>) {
        looks.iter_mut().for_each(Look::stop);
        // The user's wish to stop must not cut this short.
        let patient = Stop::default();
        let last = self.world.now() + GRACE;
        while matches!(done(&mut looks), Ok(false)) && self.world.now() < last {
            self.world.wait_until(self.world.now() + TICK, &patient);
        }
    }
}

/// Whether all looks have ended.
fn done(looks: &mut [Look]) -> Result<bool, WorldError> {
    for look in looks {
        if !look.is_done()? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn in_vain(wait: &Wait, watch: &Watch<'_>) -> String {
    let why = watch.why().map(|why| format!("; {why}")).unwrap_or_default();
    format!("waited {} s for {}{why}", wait.timeout.as_secs_f64(), wait.condition)
}
