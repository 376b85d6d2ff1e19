//! Ten thousand connections, of which half are dead or worse.

use plait_control_openflow::connection;
use plait_control_runtime::Runtime;
use plait_dataplane_agent::open_many_files;
use plait_dataplane_openflow::{Config, Controller};
use plait_model_wire::openflow::{Header, Hello, Message, chop, v10};
use rustix::process::{Resource, getrlimit};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);
const ALIVE: u64 = 5000;
const DEAD: u64 = 5000;

/// Whether a process may have so many files, besides its own.
fn may_have(files: u64) -> bool {
    open_many_files();
    getrlimit(Resource::Nofile).current.is_none_or(|current| current >= files + 500)
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "{what} did not come true");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn says(stream: &mut TcpStream, xid: u32, body: v10::Body) {
    stream.write_all(&v10::Message { xid, body }.emit().unwrap()).unwrap();
}

/// Reads until a message is there that is what is wanted, and gives its transaction.
fn hears(stream: &mut TcpStream, wanted: impl Fn(&v10::Body) -> bool) -> u32 {
    let (mut read, mut bytes) = (Vec::new(), [0; 2048]);
    loop {
        let count = stream.read(&mut bytes).unwrap();
        assert_ne!(count, 0, "the controller ended the connection");
        read.extend_from_slice(&bytes[..count]);
        let mut rest = &read[..];
        while let Some((frame, after)) = chop(rest).unwrap() {
            if frame.version() == v10::VERSION
                && let Ok(Message::V10(message)) = Message::of(&frame)
                && wanted(&message.body)
            {
                return message.xid;
            }
            rest = after;
        }
        let left = rest.len();
        read.drain(..read.len() - left);
    }
}

/// A switch that is known, and will say no more unless it is asked.
fn switch(address: SocketAddr, datapath: u64) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    says(&mut stream, 1, v10::Body::Hello(Hello::default()));
    let xid = hears(&mut stream, |body| *body == v10::Body::FeaturesRequest);
    let features = v10::Features {
        datapath,
        buffers: 0,
        tables: 1,
        capabilities: v10::switch::Capabilities(0),
        actions: v10::switch::ActionTypes(1),
        ports: Vec::new(),
    };
    says(&mut stream, xid, v10::Body::Features(features));
    stream
}

/// Somebody who connects and is of no use: silent, cut in the midst of a header, or of a message.
fn dead(address: SocketAddr, number: u64) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let hello = v10::Message { xid: 1, body: v10::Body::Hello(Hello::default()) }.emit().unwrap();
    let cut = [0, 5, Header::LENGTH][number as usize % 3];
    stream.write_all(&hello[..cut.min(hello.len())]).unwrap();
    stream
}

/// The other process, since one has not as many files: connects all of them, asks some, says so, and keeps them until its
/// input ends.
#[test]
#[ignore = "a part of the test below"]
fn connects_ten_thousand() {
    let Ok(address) = std::env::var("CONTROLLER") else { return };
    let address: SocketAddr = address.parse().unwrap();
    let _corpses: Vec<TcpStream> = (0..DEAD).map(|number| dead(address, number)).collect();
    let mut switches: Vec<TcpStream> = (1..=ALIVE).map(|datapath| switch(address, datapath)).collect();
    // Every hundredth is still answered, whoever else is there.
    for stream in switches.iter_mut().step_by(100) {
        says(stream, 77, v10::Body::EchoRequest(vec![1, 2, 3]));
        assert_eq!(hears(stream, |body| *body == v10::Body::EchoReply(vec![1, 2, 3])), 77);
    }
    println!("all are there");
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}

#[test]
fn ten_thousand_connections_half_of_them_dead_hold_nobody_up() {
    if !may_have(ALIVE + DEAD) {
        return println!("skipped: ten thousand connections, since this user may not have as many files");
    }
    // Who is quiet is not asked while the test lasts; who has not said what it is has a few seconds.
    let handshake = Duration::from_secs(4);
    let connection = connection::Config { handshake, quiet: 10 * PATIENCE, ..connection::Config::default() };
    let config = Config { connection, workers: 2, pin: false, ..Config::default() };
    let runtime = Runtime::new(Default::default());
    let controller = Controller::start(([127, 0, 0, 1], 0).into(), config, runtime).unwrap();
    let mut others = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture", "connects_ten_thousand"])
        .env("CONTROLLER", controller.address().unwrap().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(others.stdout.take().unwrap()).lines();
    assert!(
        said.by_ref().map_while(Result::ok).any(|line| line.contains("all are there")),
        "a connection failed"
    );
    let connected = || controller.switches().values().filter(|switch| switch.connected).count();
    // Applications hear of it a moment after the switch, or the connection, does.
    until("the living are known", || connected() == ALIVE as usize);
    until("the dead are let go", || controller.connections() == (ALIVE as usize, 0));
    drop(others.stdin.take());
    assert!(others.wait().unwrap().success());
    until("all are gone", || controller.connections() == (0, 0));
    until("all are known to be gone", || connected() == 0);
    assert_eq!(controller.switches().len(), ALIVE as usize, "who was known is remembered");
}
