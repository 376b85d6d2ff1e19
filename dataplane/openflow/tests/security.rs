//! TLS: who is a switch and who is not.

use plait_control_runtime::Runtime;
use plait_dataplane_openflow::{Config, Controller, Security};
use plait_model_wire::openflow::{Message, chop, v13};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// A folder of keys and certificates: `ours` and `theirs` are authorities, the others signed by them.
struct Papers(tempfile::TempDir);

impl Papers {
    fn new() -> Self {
        let papers = Self(tempfile::tempdir().unwrap());
        for authority in ["ours", "theirs"] {
            papers.openssl(
                &["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"],
                authority,
            );
        }
        for (name, authority) in [("controller", "ours"), ("switch", "ours"), ("stranger", "theirs")] {
            let (root, key) = (papers.path(authority, "pem"), papers.path(authority, "key"));
            let [root, key] = [&root, &key].map(|path| path.to_str().unwrap());
            let words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
            papers.openssl(
                &[&words[..], &["-CA", root, "-CAkey", key, "-addext", "basicConstraints=CA:FALSE"]].concat(),
                name,
            );
        }
        papers
    }

    fn openssl(&self, words: &[&str], name: &str) {
        let mut openssl = Command::new("openssl");
        openssl.args(words).args(["-days", "30", "-subj", &format!("/CN={name}")]);
        openssl.args(["-addext", &format!("subjectAltName=DNS:{name}")]);
        openssl.arg("-keyout").arg(self.path(name, "key")).arg("-out").arg(self.path(name, "pem"));
        let done = openssl.output().expect("openssl is among the packages of the tests");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn path(&self, name: &str, kind: &str) -> PathBuf {
        self.0.path().join(format!("{name}.{kind}"))
    }
}

fn certificates(path: &Path) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_file_iter(path).unwrap().map(Result::unwrap).collect()
}

/// Says hello as a switch, and gives the first message other than a hello that it hears.
fn heard(controller: &Controller, papers: &Papers, name: Option<&str>) -> Option<Message> {
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
    let mut stream = StreamOwned::new(connection, socket);
    let hello = v13::Message { xid: 1, body: v13::Body::Hello(Default::default()) };
    stream.write_all(&hello.emit().unwrap()).ok()?;
    let (mut bytes, mut room) = (Vec::new(), [0; 2048]);
    loop {
        while let Some((frame, rest)) = chop(&bytes).unwrap() {
            if frame.kind() != 0 {
                return Some(Message::of(&frame).unwrap());
            }
            let left = rest.len();
            bytes.drain(..bytes.len() - left);
        }
        match stream.read(&mut room) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&room[..count]),
        }
    }
}

#[test]
fn only_a_switch_with_a_certificate_of_the_authorities_is_one() {
    let papers = Papers::new();
    let (key, certificate) = (papers.path("controller", "key"), papers.path("controller", "pem"));
    let security = Security::load(&key, &certificate, &papers.path("ours", "pem")).unwrap();
    let config = Config { security: Some(security), most_connections: 64, pin: false, ..Config::default() };
    let address = SocketAddr::from(([127, 0, 0, 1], 0));
    let controller = Controller::start(address, config, Runtime::new(Default::default())).unwrap();
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

    let wrong = Security::load(&certificate, &certificate, &key).unwrap_err().to_string();
    assert!(wrong.contains("controller.pem"), "{wrong}");
}
