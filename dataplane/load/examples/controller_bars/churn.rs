//! Hours of packets and switches that come and go, as fast as they can be had: what a controller keeps of it.
//!
//! Each switch has more stations than a learning switch knows at once, or routing behind its ports, so that each packet's
//! sender is new to it; of a learning switch three packets in five set up a flow, the others are for stations that it has
//! forgotten. A switch stays for so many packets, and another one comes in its place.

use crate::tape::Tape;
use plait_control_forwarding::{Discovery, LearningSwitch, Routing, learning_switch, routing};
use plait_control_runtime::Runtime;
use plait_dataplane_openflow::{Config, Controller, End};
use std::io;
use std::time::{Duration, Instant};

/// Switches at once, and how many there are in all that come and go.
const SWITCHES: usize = 4;
const ALL: u16 = 64;
/// Stations of each: more than a learning switch knows.
const STATIONS: u16 = 20_000;

/// What is decided with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum App {
    LearningSwitch,
    Routing,
}

impl App {
    /// Packets of a switch before it goes. Choice: more of routing, since it is not before some rounds of probes that routing
    /// knows which ports have hosts.
    fn life(self) -> u64 {
        match self {
            Self::LearningSwitch => 60_000,
            Self::Routing => 400_000,
        }
    }
}

/// What was seen.
#[derive(Debug, Clone, Copy)]
pub struct Churn {
    /// Packets that were decided about, at least.
    pub requests: u64,
    /// How many messages switches were told.
    pub messages: u64,
    /// How many switches came.
    pub switches: u64,
    /// How long it took.
    pub took: Duration,
    /// Resident bytes of this process in each quarter: the median of what was seen. Choice: what it has at an instant differs
    /// by a tenth, by what is under way.
    pub resident: [u64; 4],
}

/// A switch that goes after some bytes.
#[derive(Debug)]
struct Brief {
    tape: Tape,
    left: u64,
}

impl End for Brief {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Ok(0);
        }
        let count = self.tape.read(into)?;
        self.left = self.left.saturating_sub(count as u64);
        Ok(count)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.tape.write(bytes)
    }
}

/// Has so many packets decided about, and says when each quarter of them has been.
pub fn run(app: App, requests: u64, patience: Duration) -> Result<Churn, Box<dyn std::error::Error>> {
    let mut runtime = Runtime::new(Default::default());
    let set = match app {
        App::LearningSwitch => learning_switch(&LearningSwitch::default()),
        App::Routing => {
            // Rounds as much faster as packets are.
            let discovery = Discovery { interval: Duration::from_millis(20), ..Discovery::new([7; 32]) };
            routing(&Routing { discovery, ..Routing::new([7; 32]) })
        }
    };
    set.add_to(&mut runtime, Duration::ZERO)?;
    let config = Config { workers: 2, most_connections: 2 * SWITCHES, ..Config::default() };
    let controller = Controller::start(([127, 0, 0, 1], 0).into(), config, runtime)?;
    let (began, mut switches) = (Instant::now(), 0);
    let mut quarters: [Vec<u64>; 4] = Default::default();
    loop {
        let workers = controller.statistics();
        let done = workers.iter().map(|worker| worker.requests).sum::<u64>();
        let quarter = (done * 4 / requests).min(3) as usize;
        if quarters[quarter].is_empty() && quarter > 0 {
            println!("# churn: {quarter} of 4 parts done in {:.0} s", began.elapsed().as_secs_f64());
        }
        quarters[quarter].push(resident());
        if done >= requests {
            let resident = quarters.map(median);
            let messages = workers.iter().map(|worker| worker.messages).sum();
            return Ok(Churn { requests: done, messages, switches, took: began.elapsed(), resident });
        }
        if began.elapsed() > patience {
            return Err(format!("{done} of {requests} packets in {patience:?}").into());
        }
        while controller.connections().0 < SWITCHES {
            let tape = Tape::new((switches % u64::from(ALL)) as u16, STATIONS)?;
            let left = app.life() * tape.request() as u64;
            if !controller.admit(Box::new(Brief { tape, left }), "memory") {
                break;
            }
            switches += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn median(mut seen: Vec<u64>) -> u64 {
    seen.sort_unstable();
    seen.get(seen.len() / 2).copied().unwrap_or_default()
}

/// Bytes of this process in memory (proc(5), in kilobytes of 1024).
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or_default() << 10
}
