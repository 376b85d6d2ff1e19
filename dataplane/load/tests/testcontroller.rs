//! A load against a controller of another make: Open vSwitch's learning switch, in a namespace of its own.

#[path = "support/listens.rs"]
mod listens;

use listens::listens;
use plait_control_openflow::Version;
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_load::{Load, Offer, run};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const CONTROLLER: &str = "/usr/bin/ovs-testcontroller";
const PORT: u16 = 6653;

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn with_controller(test: &str, act: impl FnOnce(std::net::SocketAddr) + Send) {
    if !Path::new(CONTROLLER).exists() {
        println!("skipped: {test}: openvswitch-testcontroller is not installed");
        return;
    }
    let namespace = match Namespace::new() {
        Ok(namespace) => namespace,
        Err(why) => {
            println!("skipped: {test}: no namespace: {why}");
            return;
        }
    };
    let inside = move || {
        let folder = tempfile::tempdir().unwrap();
        let child = Command::new(CONTROLLER)
            .env("OVS_RUNDIR", folder.path())
            .arg(format!("ptcp:{PORT}:127.0.0.1"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let _running = Running(child);
        let address = ([127, 0, 0, 1], PORT).into();
        let until = Instant::now() + Duration::from_secs(60);
        while !listens(PORT) {
            assert!(Instant::now() < until, "the controller does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        act(address);
    };
    namespace.run(inside).unwrap();
}

#[test]
fn a_learning_switch_of_another_make_answers_every_request_it_is_asked_slowly() {
    with_controller("a_learning_switch_of_another_make_answers", |controller| {
        let load = Load {
            versions: vec![Version::V10, Version::V13],
            duration: Duration::from_secs(1),
            stations: 20,
            ..Load::new(controller, vec![Offer::Open(200.0); 4])
        };
        let measured = run(&load).unwrap();
        let report = measured.report();
        assert_eq!((report.untold, report.unanswered, report.errors, report.disconnects), (0, 0, 0, 0));
        assert_eq!(measured.latency.count(), 800);
        assert_eq!(measured.switches.iter().map(|switch| switch.version).collect::<Vec<_>>(), [1, 4, 1, 4]);
    });
}

#[test]
fn packets_that_no_switch_keeps_come_back_and_are_known_by_what_they_carry() {
    with_controller("packets_that_no_switch_keeps_come_back", |controller| {
        let load = Load {
            versions: vec![Version::V10, Version::V13],
            duration: Duration::from_millis(500),
            stations: 20,
            buffered: false,
            ..Load::new(controller, vec![Offer::Window(1); 2])
        };
        let report = run(&load).unwrap().report();
        assert_eq!((report.unanswered, report.disconnects), (0, 0));
        assert!(report.answered > 100.0, "{report:?}");
    });
}
