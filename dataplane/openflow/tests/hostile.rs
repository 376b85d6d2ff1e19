//! What a switch may say once it is known: nothing of it ends a worker, or holds another switch up.

mod support;

// A message of every type, as the parsers' own tests have them.
#[path = "../../../model/wire/tests/openflow/samples.rs"]
#[allow(dead_code, reason = "others use its parts")]
mod samples;

use plait_control_openflow::{Commands, SwitchEvent, SwitchEvents, Version};
use plait_control_runtime::{Dag, Manifest, Perhaps, View, native};
use plait_dataplane_openflow::{Config, Controller};
use plait_model_wire::openflow::{BufferId, Message, v10, v13};
use std::io::Write;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use support::{Client, frame, runtime, start_with, until};

const ECHO: u32 = 0x0ec0_0ec0;
const WORKERS: usize = 2;

/// A switch that says what it should not, and is there again whenever that ends its connection.
struct Hostile<'a> {
    controller: &'a Controller,
    version: Version,
    datapath: u64,
    client: Client,
    answered: u64,
    ended: u64,
}

impl<'a> Hostile<'a> {
    fn new(controller: &'a Controller, version: Version, datapath: u64) -> Self {
        let client = Client::connect(controller, version, datapath);
        Self { controller, version, datapath, client, answered: 0, ended: 0 }
    }

    /// Says it, and asks whether somebody is there: is answered, or its connection is ended.
    fn says(&mut self, bytes: &[u8]) {
        let echo = match self.version {
            Version::V10 => v10::Message { xid: ECHO, body: v10::Body::EchoRequest(vec![7]) }.emit(),
            Version::V13 => v13::Message { xid: ECHO, body: v13::Body::EchoRequest(vec![7]) }.emit(),
        };
        let said = [bytes, &echo.unwrap()].concat();
        if self.client.stream.write_all(&said).is_ok() {
            while let Some(message) = self.client.next() {
                match message {
                    Message::V10(v10::Message { xid: ECHO, body: v10::Body::EchoReply(_) })
                    | Message::V13(v13::Message { xid: ECHO, body: v13::Body::EchoReply(_) }) => {
                        self.answered += 1;
                        return;
                    }
                    _ => {}
                }
            }
        }
        self.is_back();
    }

    /// Says it, and nothing more for ever.
    fn ends_with(&mut self, bytes: &[u8]) {
        let _ = self.client.stream.write_all(bytes);
        let _ = self.client.stream.shutdown(Shutdown::Write);
        while self.client.next().is_some() {}
        self.is_back();
    }

    fn is_back(&mut self) {
        self.ended += 1;
        self.client = Client::connect(self.controller, self.version, self.datapath);
    }

    fn does_its_worst_with(&mut self, message: &[u8]) {
        let mut seed = 0u8;
        for at in 0..message.len() {
            let mut changed = message.to_vec();
            seed = seed.wrapping_mul(5).wrapping_add(73);
            for change in [0xff, 1, seed | 2] {
                changed[at] = message[at] ^ change;
                // A length that is another one takes from what follows, or leaves of it.
                if (2..4).contains(&at) { self.ends_with(&changed) } else { self.says(&changed) }
            }
            // Cut, in two ways: with the length of what there is, and before its end.
            if at >= 8 {
                let mut cut = message[..at].to_vec();
                cut[2..4].copy_from_slice(&(at as u16).to_be_bytes());
                self.says(&cut);
            }
            if at % 16 == 1 {
                self.ends_with(&message[..at]);
            }
        }
    }
}

#[test]
fn no_byte_of_a_known_switch_ends_a_worker_or_holds_another_switch_up() {
    // Why connections ended, as applications are told.
    let reasons: Arc<Mutex<Vec<String>>> = Arc::default();
    let mut runtime = runtime();
    let manifest = Manifest::new("reasons").reads("~switch-events@1").writes("~commands@1?");
    let told = reasons.clone();
    let application = native(move |(events,): (Arc<SwitchEvents>,)| {
        let gone = events.list.iter().filter_map(|(_, event)| match event {
            SwitchEvent::Gone(why) => Some(why.clone()),
            _ => None,
        });
        told.lock().unwrap().extend(gone);
        Ok((Perhaps::<Commands>(None),))
    });
    runtime.grant(&manifest.name, &Commands::id().name);
    runtime.add_application(manifest, application).unwrap();
    let dag = Dag::chain("reasons", &["reasons"]).on(&SwitchEvents::id().to_string());
    runtime.add_dag(std::time::Duration::ZERO, dag).unwrap();
    let controller = start_with(Config { workers: WORKERS, ..Config::default() }, runtime);

    let (stop, served) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut good = Client::connect(&controller, Version::V13, 0xa);
    until("it is known", || controller.switches().contains_key(&0xa));
    let [answered, ended] = std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                good.packet_in(BufferId(number), &frame(1));
                assert_eq!(good.packet_out().0, BufferId(number));
                served.fetch_add(1, Ordering::Relaxed);
            }
        });
        let hostile = Version::ALL.map(|version| {
            let controller = &controller;
            scope.spawn(move || {
                let mut hostile = Hostile::new(controller, version, 0xb + u64::from(version.number()));
                for message in samples::all() {
                    if matches!(message, Message::V10(_)) == (version == Version::V10) {
                        hostile.does_its_worst_with(&message.emit().unwrap());
                    }
                }
                [hostile.answered, hostile.ended]
            })
        });
        let counted = hostile.map(|hostile| hostile.join());
        let before = served.load(Ordering::Relaxed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until("the other switch is still answered", || served.load(Ordering::Relaxed) > before + 10);
        }));
        stop.store(true, Ordering::Relaxed);
        assert!(outcome.is_ok(), "the other switch is held up");
        let [[ten, ended10], [thirteen, ended13]] = counted.map(Result::unwrap);
        [ten + thirteen, ended10 + ended13]
    });
    println!("{answered} answered, {ended} ended, {} requests meanwhile", served.load(Ordering::Relaxed));
    assert!(answered > 5000 && ended > 500, "{answered} answered, {ended} ended");
    // Those that sleep look by themselves now and then, as long as they live.
    let rounds = || controller.statistics().iter().map(|worker| worker.rounds).collect::<Vec<_>>();
    let before = rounds();
    until("all workers live", || rounds().iter().zip(&before).all(|(now, before)| now > before));
    until("each reason is told", || !reasons.lock().unwrap().is_empty());
    let reasons = reasons.lock().unwrap();
    assert!(reasons.iter().any(|why| why.contains("length")), "{:?}", &reasons[..reasons.len().min(9)]);
}
