//! What a request costs by how many connections there are.

use super::Asked;
use super::running::Running;
use plait_dataplane_load::{Load, Offer, rates, run};
use rustix::process::{Resource, getrlimit, setrlimit};
use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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
        let controller = Running::start(command)?;
        let flood = vec![Offer::Flood; LARGE.0];
        let flood = of(asked, &controller, LARGE.1, flood, Duration::from_secs(asked.seconds));
        let rate = run(&flood)?.report().answered / 2.0;
        drop(controller);
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

/// From one look at a controller's processor time to the next.
const LOOK: Duration = Duration::from_millis(50);
/// The end of a load, which does not count: whoever ends it may have taken its answers by then.
const END: Duration = Duration::from_millis(500);

/// Nanoseconds of processor a request at an even load, of so many seconds before its end: what came before, the handshakes and what
/// is learned most of all, does not count.
fn nanoseconds(
    command: &str,
    asked: &Asked,
    (switches, stations): (usize, u16),
    rate: f64,
) -> Result<f64, Box<dyn Error>> {
    let controller = Running::start(command)?;
    let span = Duration::from_secs(asked.seconds);
    let offers = rates::uniform(switches, rate).into_iter().map(Offer::Open).collect();
    let asked = of(asked, &controller, stations, offers, 2 * span);
    let is_over = AtomicBool::new(false);
    let (answered, looks) = std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            let mut looks = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                looks.push((Instant::now(), controller.processor()));
                std::thread::sleep(LOOK);
            }
            looks
        });
        let measured = run(&asked);
        is_over.store(true, Ordering::Relaxed);
        let looks = looks.join().map_err(|_| "nobody looked at the controller")?;
        Ok::<_, Box<dyn Error>>((measured?.report().answered, looks))
    })?;
    let end = looks.last().ok_or("the load was over at once")?.0 - END;
    let at = |instant: Instant| looks.iter().rfind(|(at, _)| *at <= instant).ok_or("the load was too short");
    let (before, after) = (at(end - span)?, at(end)?);
    Ok((after.1 - before.1).as_nanos() as f64 / (answered * (after.0 - before.0).as_secs_f64()))
}

/// A load on a controller.
fn of(asked: &Asked, controller: &Running, stations: u16, offers: Vec<Offer>, duration: Duration) -> Load {
    Load {
        versions: vec![asked.version],
        duration,
        stations,
        warm_up: Duration::from_secs(60),
        ..Load::new(controller.address, offers)
    }
}
