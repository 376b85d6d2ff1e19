//! What workers make of requests from memory.

use super::tape::Tape;
use plait_control_forwarding::{Hosts, LearningSwitch, Routing, learning_switch, routing};
use plait_control_runtime::{Runtime, View};
use plait_dataplane_openflow::{Config, Controller, Statistics};
use std::time::{Duration, Instant};

/// Stations of all switches together, about, and the most that one has.
const STATIONS: (usize, usize) = (79_000, 1000);
/// How long all stations may take to become known.
const WARM_UP: Duration = Duration::from_secs(60);
/// How long what was known late may take to be worked off, and a learning switch to know all.
const SETTLE: Duration = Duration::from_millis(300);
/// As many requests in a batch as keep a worker's memory in its cache; fixed, so that a batch's cost is known.
pub const BATCH: usize = 400;

/// What was measured.
#[derive(Clone, Copy)]
pub struct Measured {
    /// Requests a second.
    pub rate: f64,
    /// What workers counted meanwhile.
    pub counted: Statistics,
}

impl Measured {
    /// Requests of a visit.
    pub fn a_visit(&self) -> usize {
        (self.counted.requests as usize).div_ceil(self.counted.reads.max(1) as usize)
    }
}

/// Has workers answer switches in memory for a while, after all stations are known.
pub fn measure(app: &str, switches: usize, seconds: f64, config: Config) -> Measured {
    let workers = config.workers;
    let mut runtime = Runtime::new(Default::default());
    let set = match app {
        "routing" => routing(&Routing { instances: workers, ..Routing::new([7; 32]) }),
        _ => learning_switch(&LearningSwitch { instances: workers, ..LearningSwitch::default() }),
    };
    set.add_to(&mut runtime, Duration::ZERO).expect("the applications are this project's own");
    let controller = Controller::start(([127, 0, 0, 1], 0).into(), config, runtime).expect("a port is free");
    let stations = (STATIONS.0 / switches.max(1)).min(STATIONS.1) & !1;
    for switch in 0..switches {
        let tape = Tape::new(switch as u16, stations as u16).expect("a packet-in is short");
        assert!(controller.admit(Box::new(tape), "memory"), "there is room");
    }
    let total = || {
        let mut total = Statistics::default();
        controller.statistics().into_iter().for_each(|worker| total += worker);
        total
    };
    // Until stations are known, which routing asks some rounds of probes for.
    let known = || {
        let state = controller.state();
        let hosts = state.content(&Hosts::id()).and_then(|content| content.read::<Hosts>().ok());
        hosts.map_or(0, |hosts| hosts.count())
    };
    let (began, all) = (Instant::now(), switches * stations);
    while app == "routing" && known() < all {
        assert!(began.elapsed() < WARM_UP, "{} of {all} stations are known after {WARM_UP:?}", known());
        std::thread::sleep(Duration::from_millis(100));
    }
    std::thread::sleep(SETTLE);
    let (began, before) = (Instant::now(), total());
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let (took, after) = (began.elapsed(), total());
    assert_eq!(controller.connections().0, switches, "a switch was let go: {after:?}");
    let counted = Statistics {
        requests: after.requests - before.requests,
        reads: after.reads - before.reads,
        batches: after.batches - before.batches,
        writes: after.writes - before.writes,
        messages: after.messages - before.messages,
        reading: after.reading - before.reading,
        writing: after.writing - before.writing,
        processing: after.processing - before.processing,
        ..after
    };
    Measured { rate: counted.requests as f64 / took.as_secs_f64(), counted }
}
