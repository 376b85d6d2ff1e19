//! Loads over TLS: what is said is said, and no connection ends for what its socket does not take at once.

#[path = "../../openflow/tests/support/papers.rs"]
mod papers;

use papers::Papers;
use plait_control_forwarding::{LearningSwitch, learning_switch};
use plait_control_openflow::Version;
use plait_control_runtime::Runtime;
use plait_dataplane_load::{Load, Offer, Security, run};
use plait_dataplane_openflow::{Config, Controller, Security as Shown};
use std::time::Duration;

/// A learning switch that speaks TLS.
fn controller(papers: &Papers) -> Controller {
    let [key, certificate, ours] =
        [papers.path("controller", "key"), papers.path("controller", "pem"), papers.path("ours", "pem")];
    let security = Some(Shown::load(&key, &certificate, &ours).unwrap());
    let mut runtime = Runtime::new(Default::default());
    let config = Config { security, workers: 2, pin: false, ..Config::default() };
    learning_switch(&LearningSwitch { instances: 2, ..LearningSwitch::default() })
        .add_to(&mut runtime, Duration::ZERO)
        .unwrap();
    Controller::start("127.0.0.1:0".parse().unwrap(), config, runtime).unwrap()
}

fn shown(papers: &Papers, name: &str) -> Option<Security> {
    let [key, certificate] = ["key", "pem"].map(|kind| papers.path(name, kind));
    Some(Security::load(&key, &certificate, &papers.path("ours", "pem")).unwrap())
}

#[test]
fn a_flood_over_tls_is_answered_and_no_connection_ends() {
    let papers = Papers::new();
    let controller = controller(&papers);
    let load = Load {
        duration: Duration::from_secs(2),
        linger: Duration::from_secs(20),
        stations: 100,
        versions: vec![Version::V10, Version::V13],
        security: shown(&papers, "switch"),
        ..Load::new(controller.address().unwrap(), vec![Offer::Flood; 48])
    };
    for _ in 0..2 {
        let measured = run(&load).unwrap();
        let ended: Vec<_> =
            measured.switches.iter().filter_map(|switch| switch.disconnected.clone()).collect();
        let report = measured.report();
        assert_eq!((ended, report.unanswered), (vec![], 0), "{} answered", report.answered);
        assert!(report.answered > 1000.0, "{}", report.answered);
    }
}

#[test]
fn a_controller_is_trusted_by_its_authority_and_not_by_its_name() {
    let papers = Papers::new();
    let controller = controller(&papers);
    let load = |security| Load {
        duration: Duration::from_millis(200),
        warm_up: Duration::from_secs(2),
        security,
        ..Load::new(controller.address().unwrap(), vec![Offer::Window(4); 3])
    };
    let report = run(&load(shown(&papers, "switch"))).unwrap().report();
    assert!(report.unanswered == 0 && report.answered > 0.0, "{report:?}");
    let of_theirs = Security::load(
        &papers.path("switch", "key"),
        &papers.path("switch", "pem"),
        &papers.path("theirs", "pem"),
    );
    let why = run(&load(Some(of_theirs.unwrap()))).unwrap_err().to_string();
    assert!(why.contains("invalid peer certificate"), "{why}");
    // One that the controller does not know is turned away.
    let why = run(&load(shown(&papers, "stranger"))).unwrap_err().to_string();
    assert!(why.contains("no switch was answered"), "{why}");
}
