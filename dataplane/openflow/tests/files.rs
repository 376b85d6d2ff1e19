//! A controller that has no file descriptor left: who is connected does not notice, and who connects waits until there is one.

mod support;

use plait_control_openflow::Version;
use plait_dataplane_openflow::Config;
use plait_model_wire::openflow::BufferId;
use rustix::process::{Resource, Rlimit, setrlimit};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use support::{Client, PATIENCE, frame, start};

const FILES: u64 = 64;
const QUESTIONS: u32 = 300;

/// The other process: a controller that may have few files, and uses all of them up or gives them back as it is told.
#[test]
#[ignore = "a part of the test below"]
fn runs_a_controller_with_few_files() {
    setrlimit(Resource::Nofile, Rlimit { current: Some(FILES), maximum: Some(FILES) }).unwrap();
    let controller = start(Config { workers: 2, ..Config::default() });
    println!("controller {}", controller.address().unwrap());
    let mut held = Vec::new();
    for word in std::io::stdin().lines() {
        match word.unwrap().as_str() {
            "fill" => held.extend(std::iter::from_fn(|| File::open("/dev/null").ok())),
            _ => held.clear(),
        }
        println!("done");
    }
}

struct Few {
    process: Child,
    input: Option<ChildStdin>,
    output: std::io::Lines<BufReader<ChildStdout>>,
    address: SocketAddr,
}

impl Few {
    fn start() -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "runs_a_controller_with_few_files"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap()).lines();
        let address = output
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("controller ").and_then(|(_, address)| address.parse().ok()));
        let input = process.stdin.take();
        Self { process, input, output, address: address.expect("the controller starts") }
    }

    fn does(&mut self, word: &str) {
        writeln!(self.input.as_mut().unwrap(), "{word}").unwrap();
        assert!(self.output.by_ref().map_while(Result::ok).any(|line| line.contains("done")), "{word}");
    }

    /// A switch that has connected, as far as its kernel knows, and has said nothing yet.
    fn knock(&self, datapath: u64) -> Client {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { stream, version: Version::V10, read: Vec::new(), datapath }
    }
}

impl Drop for Few {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}

/// How long a switch waits for answers to one question after the other.
fn takes(client: &mut Client) -> Duration {
    let began = Instant::now();
    for number in 0..QUESTIONS {
        client.packet_in(BufferId(number), &frame(1));
        assert_eq!(client.packet_out().0, BufferId(number));
    }
    began.elapsed()
}

/// Whether nobody answers it.
fn is_left_waiting(client: &Client) -> bool {
    client.stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let heard = client.stream.peek(&mut [0]);
    client.stream.set_read_timeout(Some(PATIENCE)).unwrap();
    heard.is_err()
}

#[test]
fn a_controller_without_files_answers_whom_it_has_and_takes_others_in_when_there_is_room() {
    let mut few = Few::start();
    let mut first = Client::at(few.address, Version::V10, 1);
    let alone = takes(&mut first);
    few.does("fill");
    let mut second = few.knock(2);
    assert!(is_left_waiting(&second));
    // Somebody waits at the door all the time: each look at it took a hundredth of a second once.
    let crowded = takes(&mut first);
    assert!(crowded < 20 * alone + Duration::from_secs(1), "{crowded:?} in place of {alone:?}");
    few.does("give back");
    second.hello();
    takes(&mut second);
    // A connection that ends is room, too.
    few.does("fill");
    let mut third = few.knock(3);
    assert!(is_left_waiting(&third));
    drop(second);
    third.hello();
    takes(&mut third);
    takes(&mut first);
}
