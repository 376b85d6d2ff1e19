//! How long a program that was started may take until it answers.

use crate::kernel::process::processor_time;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, io};

/// A program that lives and used no processor for so long does not get on. Choice: what it did counts and no clock alone,
/// since a start takes seconds on a machine at work, and a minute on an emulated one.
const STANDSTILL: Duration = Duration::from_secs(20);
/// How long one that gets on may take.
const LONGEST: Duration = Duration::from_secs(300);
/// From one look to the next: so much at first, and later this part of the time that has passed, since looks cost
/// processor time that the program needs.
const PAUSE: Duration = Duration::from_millis(5);
const PART: u32 = 32;

/// Patience with one program.
pub(crate) struct Patience {
    pid: i32,
    standstill: Duration,
    began: Instant,
    used: Option<u64>,
    got_on: Instant,
}

impl Patience {
    /// With a process, from now on.
    pub fn with(pid: i32) -> Self {
        Self::of(pid, STANDSTILL)
    }

    fn of(pid: i32, standstill: Duration) -> Self {
        let now = Instant::now();
        Self { pid, standstill, began: now, used: processor_time(pid), got_on: now }
    }

    /// Waits a little, unless the process is gone or there is no hope any more; whether it is worth another look.
    pub fn lasts(&mut self) -> bool {
        let Some(used) = processor_time(self.pid) else { return false };
        if self.used.replace(used) != Some(used) {
            self.got_on = Instant::now();
        }
        let waited = self.began.elapsed();
        let lasts = self.got_on.elapsed() < self.standstill && waited < LONGEST;
        if lasts {
            std::thread::sleep((waited / PART).max(PAUSE));
        }
        lasts
    }

    /// Why it ended, with the last line of what the program said into a file, or why it did not answer.
    pub fn end(&self, said: &Path, refused: &io::Error) -> String {
        let said = fs::read_to_string(said).unwrap_or_default();
        let last = said.lines().last().map_or(refused.to_string(), str::to_owned);
        let (idle, all) = (self.got_on.elapsed(), self.began.elapsed().as_secs());
        match processor_time(self.pid) {
            None => last,
            Some(_) if idle < self.standstill => {
                format!("it works, but does not answer after {all} s: {last}")
            }
            Some(_) => format!("it has used no processor for {} s: {last}", idle.as_secs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// Whether a program is worth looking at again after so long without use of a processor and three times that.
    fn lasts(words: &[&str], standstill: Duration) -> (Child, bool) {
        let program = Command::new(words[0]).args(&words[1..]).spawn().unwrap();
        let mut patience = Patience::of(program.id() as i32, standstill);
        let began = Instant::now();
        while began.elapsed() < standstill * 3 {
            if !patience.lasts() {
                return (program, false);
            }
        }
        (program, true)
    }

    #[test]
    fn a_program_at_work_is_waited_for_and_one_that_stands_still_or_ended_is_not() {
        let standstill = Duration::from_secs(1);
        for (words, expected) in
            [(&["sh", "-c", "while :; do :; done"][..], true), (&["sleep", "600"], false), (&["true"], false)]
        {
            let (mut program, lasts) = lasts(words, standstill);
            let _ = program.kill();
            program.wait().unwrap();
            assert_eq!(lasts, expected, "{words:?}");
        }
    }

    #[test]
    fn who_is_given_up_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let said = folder.path().join("said");
        let mut program = Command::new("sleep").arg("600").spawn().unwrap();
        let refused = io::Error::other("nobody listens");
        let end = |standstill| Patience::of(program.id() as i32, standstill).end(&said, &refused);
        let ends = [Duration::from_secs(600), Duration::ZERO].map(end);
        let patience = Patience::of(program.id() as i32, Duration::ZERO);
        program.kill().unwrap();
        program.wait().unwrap();
        assert!(ends[0].starts_with("it works, but does not answer"), "{ends:?}");
        assert!(
            ends[1].starts_with("it has used no processor") && ends[1].ends_with("s: nobody listens"),
            "{ends:?}"
        );
        for (text, told) in [("", "nobody listens"), ("a\nno such file\n", "no such file")] {
            fs::write(&said, text).unwrap();
            assert_eq!(patience.end(&said, &refused), told);
        }
    }
}
