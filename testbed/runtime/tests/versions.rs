//! What goes over the control socket keeps its form as long as its version. Written anew by `PLAIT_UPDATE_GOLDEN=1`,
//! for additions that an older reader can ignore; anything else is a new version.

use plait_model_link::ConditionsSpec;
use plait_model_topology::address::assign;
use plait_model_topology::document::Source;
use plait_model_topology::{Vocabulary, parse_network};
use plait_testbed_runtime::control::{
    Envelope, ExecRequest, Exited, PROTOCOL_VERSION, PingRequest, Reply, Request, SampleRequest, Traces,
};
use plait_testbed_runtime::plan::{STATE_VERSION, State, Wishes, desired};
use plait_testbed_runtime::section::register;
use serde_json::Value;
use std::path::PathBuf;

/// A network with something of nearly everything a state holds; limits are asked of the machine that reads them.
const NETWORK: &str = "\
plait: 1
seed: 5
routing: frr
nodes:
  a: {kind: host, sysctls: {net.ipv4.tcp_ecn: 1}, files: {/etc/motto: on}, commands: ['true']}
  r: {kind: router, uplink: true}
  s: switch
  b: {kind: host, processors: [0]}
links:
  - {endpoints: [a, r], rate: 10Mbit, delay: 20ms, jitter: 2ms, loss: 1%, queue: 64KiB, mtu: 1400B, reverse: {delay: 30ms}}
  - {endpoints: [r, s], rate: 1Gbit, delay: 1ms, via: kernel}
  - s-b
lans: {office: [a, b]}
overlays:
  ov0: {members: [a, b], network: 10.99.0.0/24, neighbours: 1}
  ip0: {members: [a, r], network: 10.98.0.0/24, carries: ip, control: static, mtu: 1400B}
";

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The sample of a name, after it was written anew if asked for.
fn sample(name: &str, now: &str) -> String {
    if std::env::var_os("PLAIT_UPDATE_GOLDEN").is_some() {
        std::fs::write(golden(name), now).unwrap();
    }
    std::fs::read_to_string(golden(name)).unwrap()
}

fn state() -> State {
    let mut vocabulary = Vocabulary::core();
    register(&mut vocabulary);
    let source = Source::new("net.yaml", NETWORK.to_owned());
    let network = parse_network(&source, &vocabulary, &|_| Err("no files here".to_owned())).unwrap();
    let assignment = assign(&network, None).unwrap();
    desired(&network, &assignment, &Wishes::default(), &|_| Err("no files here".to_owned())).unwrap()
}

#[test]
fn a_state_of_version_1_is_read_and_written_as_it_was() {
    assert_eq!(STATE_VERSION, 1);
    let now = state();
    let text = sample("state-1.json", &format!("{}\n", serde_json::to_string_pretty(&now).unwrap()));
    assert_eq!(serde_json::from_str::<State>(&text).unwrap(), now);
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), serde_json::to_value(&now).unwrap());
}

#[test]
fn a_conversation_of_version_1_is_read_and_written_as_it_was() {
    assert_eq!(PROTOCOL_VERSION, 1);
    let name = |text: &str| text.to_owned();
    let spec: ConditionsSpec = ConditionsSpec::from_settings(&[("delay", "50ms"), ("loss", "1%")]).unwrap();
    let requests = vec![
        Request::Apply { desired: Box::new(State { version: STATE_VERSION, ..State::default() }) },
        Request::Capture { node: name("a"), interface: name("eth0") },
        Request::Check { link: name("a-b"), thorough: true },
        Request::Down,
        Request::Exec(Box::new(ExecRequest {
            node: name("a"),
            command: vec![name("ping"), name("b")],
            environment: vec![(name("LANG"), name("C"))],
            timeout_ms: Some(500),
            terminal: Some((24, 80)),
            folder: Some(name("/tmp")),
        })),
        Request::Fail { link: name("a-b"), direction: None },
        Request::Fail { link: name("a-b"), direction: Some(1) },
        Request::FailNode { node: name("a") },
        Request::Inspect,
        Request::Log,
        Request::Metrics,
        Request::Open { node: name("a"), path: name("/run/node") },
        Request::Recover { link: name("a-b"), direction: None },
        Request::RecoverNode { node: name("a") },
        Request::Reset,
        Request::Sample(SampleRequest {
            tcp_ms: Some(100.0),
            links_ms: Some(2.5),
            ..SampleRequest::default()
        }),
        Request::Sample(SampleRequest {
            pings: vec![PingRequest { from: "a".into(), to: "b".into(), every_ms: 100.0 }],
            ..SampleRequest::default()
        }),
        Request::Set {
            link: name("a-b"),
            direction: Some(1),
            spec: Box::new(spec),
            traces: Traces::from([(name("slow.trace"), name("0s 2Mbit\n"))]),
        },
        Request::State,
        Request::TcpSockets,
        Request::Verdict,
    ];
    let replies = vec![
        Reply::Done(Value::Null),
        Reply::Done(serde_json::to_value(Exited::Code(3)).unwrap()),
        Reply::Failed(name("there is no node `x`")),
        Reply::Progress(3, 8),
        Reply::Row(serde_json::json!({ "at_ns": 5 })),
    ];
    let mut now = String::new();
    for request in requests {
        let envelope = Envelope { plait: PROTOCOL_VERSION, request };
        now.push_str(&format!("{}\n", serde_json::to_string(&envelope).unwrap()));
    }
    for reply in &replies {
        now.push_str(&format!("{}\n", serde_json::to_string(reply).unwrap()));
    }
    let text = sample("conversation-1.jsonl", &now);
    assert_eq!(text, now);
    for line in text.lines() {
        let again = match serde_json::from_str::<Envelope>(line) {
            Ok(envelope) => serde_json::to_string(&envelope).unwrap(),
            Err(_) => serde_json::to_string(&serde_json::from_str::<Reply>(line).unwrap()).unwrap(),
        };
        assert_eq!(again, line);
    }
}
