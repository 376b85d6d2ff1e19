//! TLS: who is a switch and who is not.

#[path = "support/papers.rs"]
mod papers;
mod support;

use papers::Papers;
use plait_control_openflow::{Command as Told, Commands, Fields, Flow, PacketIns, connection};
use plait_control_runtime::Runtime;
use plait_dataplane_openflow::{Config, Controller, Security};
use plait_model_wire::openflow::{BufferId, Message, chop, v13};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use support::until;

fn certificates(path: &Path) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(path).unwrap().map(Result::unwrap).collect()
}

/// A switch, as far as it is one.
struct Switch {
    stream: StreamOwned<ClientConnection, TcpStream>,
    bytes: Vec<u8>,
    /// How often it was told to delete flows.
    deletions: usize,
}

impl Switch {
    /// Says hello, if that is possible.
    fn connect(controller: &Controller, papers: &Papers, name: Option<&str>) -> Option<Self> {
        let mut roots = RootCertStore::empty();
        certificates(&papers.path("ours", "pem")).into_iter().for_each(|root| roots.add(root).unwrap());
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match name {
            None => config.with_no_client_auth(),
            Some(name) => {
                let key = PrivateKeyDer::from_pem_file(papers.path(name, "key")).unwrap();
                config.with_client_auth_cert(certificates(&papers.path(name, "pem")), key).unwrap()
            }
        };
        let connection =
            ClientConnection::new(Arc::new(config), ServerName::try_from("controller").unwrap()).unwrap();
        let socket = TcpStream::connect(controller.address().unwrap()).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut switch =
            Self { stream: StreamOwned::new(connection, socket), bytes: Vec::new(), deletions: 0 };
        switch.says(1, v13::Body::Hello(Default::default())).ok()?;
        Some(switch)
    }

    fn says(&mut self, xid: u32, body: v13::Body) -> std::io::Result<()> {
        self.stream.write_all(&v13::Message { xid, body }.emit().unwrap())
    }

    /// The next message other than a hello that it hears.
    fn hears(&mut self) -> Option<Message> {
        let mut room = [0; 2048];
        loop {
            while let Some((frame, rest)) = chop(&self.bytes).unwrap() {
                let (kind, left) = (frame.kind(), rest.len());
                let message = (kind != 0).then(|| Message::of(&frame).unwrap());
                self.bytes.drain(..self.bytes.len() - left);
                if message.is_some() {
                    return message;
                }
            }
            match self.stream.read(&mut room) {
                Ok(0) | Err(_) => return None,
                Ok(count) => self.bytes.extend_from_slice(&room[..count]),
            }
        }
    }

    /// Says what it is, until the connection ends or it is asked whether it lives.
    fn is_there(&mut self, datapath: u64) -> bool {
        use v13::multipart::{Answered, Asked, MultipartFlags, MultipartReply};
        while let Some(heard) = self.hears() {
            let Message::V13(v13::Message { xid, body }) = heard else { panic!("{heard:?}") };
            let answer = match body {
                v13::Body::FeaturesRequest => v13::Body::Features(v13::Features {
                    datapath,
                    buffers: 0,
                    tables: 1,
                    auxiliary: 0,
                    capabilities: v13::switch::Capabilities(0),
                    reserved: 0,
                }),
                v13::Body::MultipartRequest(asked) if asked.body == Asked::PortDescriptions => {
                    let body = Answered::PortDescriptions(Vec::new());
                    v13::Body::MultipartReply(MultipartReply { flags: MultipartFlags(0), body })
                }
                v13::Body::FlowMod(flow) if flow.command == v13::flow_mod::FlowModCommand::DELETE => {
                    self.deletions += 1;
                    continue;
                }
                v13::Body::EchoRequest(data) => {
                    self.says(xid, v13::Body::EchoReply(data)).unwrap();
                    return true;
                }
                _ => continue,
            };
            self.says(xid, answer).unwrap();
        }
        false
    }
}

/// Says hello as a switch, and gives the first message other than a hello that it hears.
fn heard(controller: &Controller, papers: &Papers, name: Option<&str>) -> Option<Message> {
    Switch::connect(controller, papers, name)?.hears()
}

fn start(papers: &Papers, connection: connection::Config) -> Controller {
    start_with(papers, Config { connection, ..Config::default() }, Runtime::new(Default::default()))
}

fn start_with(papers: &Papers, config: Config, runtime: Runtime) -> Controller {
    let (key, certificate) = (papers.path("controller", "key"), papers.path("controller", "pem"));
    let security = Security::load(&key, &certificate, &papers.path("ours", "pem")).unwrap();
    let config = Config { security: Some(security), most_connections: 64, pin: false, ..config };
    Controller::start(SocketAddr::from(([127, 0, 0, 1], 0)), config, runtime).unwrap()
}

#[test]
fn only_a_switch_with_a_certificate_of_the_authorities_is_one() {
    let papers = Papers::new();
    let controller = start(&papers, Default::default());
    let asked = heard(&controller, &papers, Some("switch"));
    let is_features = |message: &Message| {
        matches!(message, Message::V13(v13::Message { body: v13::Body::FeaturesRequest, .. }))
    };
    assert!(asked.as_ref().is_some_and(is_features), "{asked:?}");
    assert_eq!(heard(&controller, &papers, Some("stranger")), None);
    assert_eq!(heard(&controller, &papers, None), None);
    // Nor one that speaks no TLS.
    let mut plain = TcpStream::connect(controller.address().unwrap()).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    plain.write_all(&[4, 0, 0, 8, 0, 0, 0, 1]).unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(&[4]), "{answer:?}");

    let (key, certificate) = (papers.path("controller", "key"), papers.path("controller", "pem"));
    let wrong = Security::load(&certificate, &certificate, &key).unwrap_err().to_string();
    assert!(wrong.contains("controller.pem"), "{wrong}");
}

#[test]
fn a_datapath_goes_to_a_newer_connection_with_the_same_certificate_and_to_none_with_another() {
    let papers = Papers::new();
    // Each is asked soon whether it lives, and has long to answer.
    let (quiet, patience) = (Duration::from_millis(200), Duration::from_secs(60));
    let controller = start(&papers, connection::Config { quiet, patience, ..Default::default() });
    let connect = |name| Switch::connect(&controller, &papers, Some(name)).unwrap();
    let mut first = connect("switch");
    assert!(first.is_there(7));
    // The switch has started again, and what it had before is not ended yet.
    let mut second = connect("switch");
    assert!(second.is_there(7));
    let ends = |switch: &mut Switch| (0..100).any(|_| !switch.is_there(7));
    assert!(ends(&mut first), "it made way");
    assert_eq!(controller.claims(), 0);
    let mut other = connect("other");
    assert!(ends(&mut other), "it has a certificate of the authorities, but not that one");
    assert_eq!(controller.claims(), 1);
    assert!(second.is_there(7) && controller.switches()[&7].connected);
}

/// A controller that has switch 7 delete all flows whenever another switch has a packet, and keeps datapaths for so long. Each switch is
/// asked soon whether it lives, and has long to answer.
fn keeping(papers: &Papers, keep_datapath: Duration) -> Controller {
    let runtime = support::runtime_of(|(packets,): (Arc<PacketIns>,)| {
        let mut commands = Commands::default();
        packets.iter().for_each(|_| commands.push(7, Told::Flow(Flow::delete(Fields::ANY))));
        Ok((commands,))
    });
    let (quiet, patience) = (Duration::from_millis(200), Duration::from_secs(60));
    let connection = connection::Config { quiet, patience, ..Default::default() };
    start_with(papers, Config { connection, keep_datapath, ..Config::default() }, runtime)
}

#[test]
fn a_datapath_that_is_away_is_kept_for_its_certificate_with_what_it_is_owed_until_it_is_released() {
    let papers = Papers::new();
    let controller = keeping(&papers, Duration::from_secs(3600));
    let connect = |name| Switch::connect(&controller, &papers, Some(name)).unwrap();
    let is_connected = || controller.switches().get(&7).is_some_and(|switch| switch.connected);
    let ends = |switch: &mut Switch| (0..100).any(|_| !switch.is_there(7));
    let go = |switch: Switch| {
        drop(switch);
        until("it is gone", || !is_connected());
    };
    let mut asks = connect("other");
    assert!(asks.is_there(1));
    let mut own = connect("switch");
    assert!(own.is_there(7));
    go(own);
    // Something is to be deleted meanwhile.
    let packet = v13::PacketIn {
        buffer: BufferId::NO_BUFFER,
        total_length: 60,
        reason: v13::packet_in::PacketInReason::NO_MATCH,
        table: v13::TableId(0),
        cookie: 0,
        flow_match: v13::Match::ANY,
        data: vec![0; 60],
    };
    asks.says(9, v13::Body::PacketIn(packet)).unwrap();
    let owed = || controller.statistics().iter().map(|worker| worker.owed).sum::<u64>();
    until("it is owed", || owed() == 1);
    let mut impostor = connect("other");
    assert!(ends(&mut impostor), "it has a certificate of the authorities, but not that one");
    assert_eq!((impostor.deletions, controller.claims(), is_connected()), (0, 1, false));
    let mut own = connect("switch");
    assert!(own.is_there(7) && own.deletions == 1, "what it is owed is there for it");
    assert!(!controller.release(7), "it is there");
    go(own);
    assert!(controller.release(7) && !controller.release(7));
    let mut other = connect("other");
    assert!(other.is_there(7) && is_connected());
    go(other);
    let mut own = connect("switch");
    assert!(ends(&mut own), "now it is the other's");
    assert_eq!(controller.claims(), 2);
}

#[test]
fn a_datapath_that_is_away_for_long_enough_is_kept_for_nobody() {
    let papers = Papers::new();
    let controller = keeping(&papers, Duration::from_millis(300));
    let mut own = Switch::connect(&controller, &papers, Some("switch")).unwrap();
    assert!(own.is_there(7));
    drop(own);
    // As a switch does, it tries again.
    let mut other = None;
    until("it is taken", || {
        let mut next = Switch::connect(&controller, &papers, Some("other")).unwrap();
        let is_taken = next.is_there(7);
        other = is_taken.then_some(next);
        is_taken
    });
    assert!(controller.switches()[&7].connected && !controller.release(7));
}
