//! What a controller keeps of what comes and goes, in a process of its own: all that it has in memory is the controller's.

#[path = "../examples/controller_bars/churn.rs"]
mod churn;
#[path = "../examples/controller_scaling/tape.rs"]
mod tape;

use churn::App;
use std::time::Duration;

#[test]
fn flows_and_switches_that_come_and_go_leave_nothing_behind() {
    // Switches of routing live longer, so that fewer of them come.
    for (app, requests) in [(App::LearningSwitch, 300_000), (App::Routing, 2_400_000)] {
        let churn = churn::run(app, requests, Duration::from_secs(120)).unwrap();
        assert!(churn.requests >= requests && churn.switches > 4, "{app:?} {churn:?}");
        // A flow and the packet are two; routing lets packets go until it knows where hosts are.
        assert!(app == App::LearningSwitch || churn.messages > churn.requests, "{app:?} {churn:?}");
        println!("{app:?} {:?}", churn.took);
        let [_, early, _, late] = churn.resident;
        // Some tapes are made in the place of others now and then, 4 MB each; and of routing a thousand batches of sightings may
        // wait, 2048 of 48 bytes in each.
        let waits = if app == App::Routing { 1024 * 2048 * 48 } else { 0 };
        assert!(late < early + early / 4 + (32 << 20) + waits, "{app:?} {churn:?}");
    }
}
