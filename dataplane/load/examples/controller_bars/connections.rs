//! What a request costs by how many connections there are.

use super::Asked;
use super::running::Running;
use plait_dataplane_load::{Load, Offer, rates, run};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::error::Error;
use std::time::Duration;

/// Switches of the thesis's two maps, and stations of each: as many in all.
const SMALL: (usize, u16) = (79, 1000);
const LARGE: (usize, u16) = (1347, 58);

/// Processor time of a request of the larger map over that of the smaller one, at half of what the larger one takes; nothing if
/// the controller fails, which is said.
pub fn ratio(command: &str, asked: &Asked) -> Option<f64> {
    // A program usually has a thousand files; who refuses more will say so when it connects.
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, rustix::process::Rlimit { current: files.maximum, ..files });
    let measure = || {
        let (most, _) = load(command, asked, LARGE, vec![Offer::Flood; LARGE.0], asked.seconds)?;
        let rate = most / asked.seconds as f64 / 2.0;
        let [small, large] = [SMALL, LARGE].map(|map| nanoseconds(command, asked, map, rate));
        let (small, large) = (small?, large?);
        println!(
            "# at {rate:.0} requests/s: {small:.0} ns of processor a request with {} connections, {large:.0} ns with {}",
            SMALL.0, LARGE.0
        );
        Ok::<_, Box<dyn Error>>(large / small)
    };
    measure().map_err(|why| println!("# connections: {why}")).ok()
}

/// Nanoseconds of processor a request at an even load.
fn nanoseconds(command: &str, asked: &Asked, map: (usize, u16), rate: f64) -> Result<f64, Box<dyn Error>> {
    let of = |seconds| {
        let offers = rates::uniform(map.0, rate).into_iter().map(Offer::Open).collect();
        load(command, asked, map, offers, seconds)
    };
    // What came before the load, the handshakes most of all, is in both.
    let ((few, before), (many, after)) = (of(asked.seconds)?, of(2 * asked.seconds)?);
    Ok((after - before).as_nanos() as f64 / (many - few))
}

/// Answers of a load, and processor time that the controller used from its start on.
fn load(
    command: &str,
    asked: &Asked,
    (_, stations): (usize, u16),
    offers: Vec<Offer>,
    seconds: u64,
) -> Result<(f64, Duration), Box<dyn Error>> {
    let controller = Running::start(command)?;
    let measured = run(&Load {
        versions: vec![asked.version],
        duration: Duration::from_secs(seconds),
        stations,
        warm_up: Duration::from_secs(60),
        ..Load::new(controller.address, offers)
    })?;
    Ok((measured.report().answered * seconds as f64, controller.processor()))
}
