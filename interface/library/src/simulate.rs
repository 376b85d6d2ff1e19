//! A network in virtual time.

use crate::checked::{Checked, circumstances};
use crate::error::Error;
use crate::fault::Faults;
use crate::run::Course;
use plait_simulator_world::unportable;
use plait_testbed_experiment::runner::{Progress, RunOutcome, run};
use plait_testbed_experiment::simulated::SimulatedNetwork;
use plait_testbed_runtime::routing::loaded;

/// # In virtual time
impl Checked {
    /// What of it cannot run in virtual time, each with its place, in the order of the file; none of a file that is
    /// portable. With factors it is that of its cell, the first one's if none was chosen.
    pub fn unportable(&self) -> Option<Faults> {
        let found = unportable(self.network(), self.filled());
        match (found.is_empty(), self.faulty(found)) {
            (false, Error::Faulty(faults)) => Some(faults),
            _ => None,
        }
    }

    /// The same of the first cell of its experiment in which something cannot; of the whole, if it has none.
    ///
    /// # Errors
    /// What is wrong with a cell.
    pub fn unportable_in_any_cell(&self) -> Result<Option<Faults>, Error> {
        let Some(experiment) = self.experiment() else { return Ok(self.unportable()) };
        for cell in 1..=experiment.cells.len() {
            if let Some(faults) = self.in_cell(cell, 1)?.unportable() {
                return Ok(Some(faults.within(&circumstances(experiment, cell))));
            }
        }
        Ok(None)
    }

    /// Runs a script in virtual time. What cannot run there is left out, and the results list it. So many threads work on it,
    /// on which no result depends.
    ///
    /// # Errors
    /// Addresses that clash or run out, results that cannot be written.
    pub fn simulate(
        &self,
        course: Course<'_>,
        threads: usize,
        progress: &mut dyn Progress,
    ) -> Result<RunOutcome, Error> {
        let Course { mut script, traces, place, stop, awake: _ } = course;
        let left_out = self.unportable().map(|faults| {
            let told = faults.iter().map(|fault| format!("{}: {}", fault.place, fault.message));
            told.collect::<Vec<_>>()
        });
        script.keep_portable(self.network());
        let control: Result<_, String> = self.deciding()?.iter().map(loaded).collect();
        let control = control.map_err(Error::Misused)?;
        let left_out = left_out.unwrap_or_default();
        let world = SimulatedNetwork::build(self.network(), control, traces, threads, left_out)
            .map_err(|faults| self.faulty(faults))?;
        let named = self.named();
        Ok(run(&world, &self.input(&named), &script, place, stop, progress)?)
    }
}
