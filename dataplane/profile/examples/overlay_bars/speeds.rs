//! The two speeds that a virtual machine has, by where its host runs its two processors: what one hands to the other, as a stream's
//! bytes, takes a few tens of nanoseconds a cache line while they share a cache, and a few hundreds while they do not.
//!
//! A host that moves them does so from one second to the next. So it is asked before and after each cycle of turns, in which
//! all ways have one, and cycles of one speed are not put together with those of the other.

use crate::measure::TURNS;
use crate::ratio::{Rounds, median};
use plait_dataplane_processors::{NEAR, handover};
use plait_dataplane_profile::lab::Way;
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a measurement waits for processors to be near, at rest. Choice: a host that moves them apart while both have work has
/// them together again within a second or two in which neither has any.
const PATIENCE: Duration = Duration::from_secs(4);
/// How often it asks meanwhile.
const LOOK: Duration = Duration::from_millis(50);
/// Cycles of a measurement at most, of those that are wanted.
const MOST: usize = 4;

/// The machine that is measured.
#[derive(Clone, Copy)]
pub struct Machine {
    /// Whether it is worth to wait until processors are near.
    pub is_patient: bool,
}

/// What came of cycles of turns, a figure for each way: medians.
pub struct Figures {
    /// Of cycles with both processors near, if there were enough.
    near: Option<Vec<f64>>,
    /// Of cycles with them apart before or after, if there were some.
    apart: Option<Vec<f64>>,
    /// Of all.
    anywhere: Vec<f64>,
}

impl Machine {
    /// Measures cycle by cycle until there are [`TURNS`] with both processors near before and after; fewer if they are not for long.
    /// A cycle is told its number, with which the first way changes. Between cycles nobody may have anything to do.
    ///
    /// # Errors
    /// Whatever a cycle comes to.
    pub fn cycles(self, mut cycle: impl FnMut(usize) -> io::Result<Vec<f64>>) -> io::Result<Figures> {
        let (mut near, mut apart) = (Vec::new(), Vec::new());
        let mut patience = if self.is_patient { PATIENCE } else { Duration::ZERO };
        let most = if self.is_patient { MOST * TURNS } else { TURNS };
        // What is cold at first counts for nothing.
        cycle(0)?;
        let mut is_near = are_near();
        while near.len() < TURNS && near.len() + apart.len() < most {
            if !is_near && !patience.is_zero() {
                wait_until_near(&mut patience);
                cycle(0)?;
                is_near = are_near();
            }
            let figures = cycle(near.len() + apart.len())?;
            let was_near = std::mem::replace(&mut is_near, are_near());
            if was_near && is_near { &mut near } else { &mut apart }.push(figures);
        }
        Ok(Figures {
            near: (near.len() >= TURNS).then(|| medians(&near)),
            apart: (apart.len() >= TURNS / 2).then(|| medians(&apart)),
            anywhere: medians(&[near, apart].concat()),
        })
    }

    /// Rounds of which so many are wanted with both processors near: twice as many at most.
    pub fn rounds(self, wanted: usize) -> std::ops::Range<usize> {
        0..if self.is_patient { 2 * wanted } else { wanted }
    }
}

impl Figures {
    /// The medians of several.
    pub fn of_several(several: &[Self]) -> Self {
        let of = |figures: fn(&Self) -> Option<&Vec<f64>>| {
            several.iter().filter_map(figures).cloned().collect::<Vec<_>>()
        };
        let (near, apart) = (of(|one| one.near.as_ref()), of(|one| one.apart.as_ref()));
        Self {
            near: (near.len() == several.len()).then(|| medians(&near)),
            apart: (!apart.is_empty()).then(|| medians(&apart)),
            anywhere: medians(&of(|one| Some(&one.anywhere))),
        }
    }

    /// Notes a quantity of all ways in a round by that name if processors were near for it; and by others what it was while they
    /// were apart, and wherever they were.
    pub fn note<'a>(&self, rounds: &mut Rounds, what: &str, ways: impl Iterator<Item = &'a Way> + Clone) {
        let mut note = |what: &str, figures: &[f64]| {
            ways.clone().zip(figures).for_each(|(way, figure)| rounds.note(what, &way.name, *figure));
        };
        match &self.near {
            Some(near) => note(what, near),
            None => note(&format!("{what}{ANYWHERE}"), &self.anywhere),
        }
        if let Some(apart) = &self.apart {
            note(&format!("{what}{APART}"), apart);
        }
    }
}

const ANYWHERE: &str = " anywhere";
const APART: &str = " apart";

/// The name of what was noted of a quantity and counts: of rounds in which processors were near, if there are as many as others.
pub fn counted(rounds: &Rounds, what: &str) -> String {
    let anywhere = format!("{what}{ANYWHERE}");
    if rounds.count(what) >= rounds.count(&anywhere) { what.to_owned() } else { anywhere }
}

/// Says so where fewer rounds than are wanted had processors near for a quantity: its bars are of those, or of all.
pub fn tell_few(rounds: &Rounds, what: &str, wanted: usize) {
    let near = rounds.count(what);
    if near < wanted {
        println!("# {what}: {near} of {wanted} rounds had both processors near each other");
    }
}

/// Tables of all that was noted of a quantity.
pub fn tables(rounds: &Rounds, what: &str, unit: &str) {
    let all = ["", ANYWHERE, APART].map(|where_| format!("{what}{where_}"));
    all.iter().filter(|what| rounds.count(what) > 0).for_each(|what| rounds.table(what, unit));
}

fn medians(cycles: &[Vec<f64>]) -> Vec<f64> {
    let ways = cycles.first().map_or(0, Vec::len);
    let of = |way: usize| median(&cycles.iter().map(|figures| figures[way]).collect::<Vec<_>>());
    (0..ways).map(of).collect()
}

fn are_near() -> bool {
    handover(0, 1).is_ok_and(|taken| taken <= NEAR)
}

/// Waits until processors are near or there is no patience left, of which what it took is gone then. Choice: who keeps them from
/// halting (`plait awake`) is stopped meanwhile, since with work for both a host leaves them where they are.
fn wait_until_near(patience: &mut Duration) {
    let began = Instant::now();
    let wakers = wakers();
    signal(&wakers, Signal::STOP);
    while !are_near() && began.elapsed() < *patience {
        sleep(LOOK);
    }
    signal(&wakers, Signal::CONT);
    *patience = patience.saturating_sub(began.elapsed());
}

/// The processes that keep processors from halting.
fn wakers() -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_one = |process: &std::fs::DirEntry| {
        std::fs::read_to_string(process.path().join("comm")).is_ok_and(|name| name.trim() == "plait-waker")
    };
    let ids = processes.filter(is_one).filter_map(|process| process.file_name().to_str()?.parse().ok());
    ids.filter_map(Pid::from_raw).collect()
}

fn signal(processes: &[Pid], signal: Signal) {
    for process in processes {
        // It may have ended.
        let _ = kill_process(*process, signal);
    }
}
