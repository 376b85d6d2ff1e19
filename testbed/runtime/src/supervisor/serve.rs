//! Answering requests, each on a thread of its own.

use super::live::End;
use super::names::unknown;
use super::{Supervisor, log};
use crate::control::{Envelope, Line, PROTOCOL_VERSION, Reply, Request};
use crate::kernel::namespace::{self, Kind};
use crate::kernel::socket::peer_user;
use crate::kernel::{files::Doing, packet};
use serde_json::Value;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;

/// Begins to answer. Returns what tells of the end.
pub fn listen(supervisor: &Arc<Supervisor>, listener: UnixListener) -> io::Result<End> {
    let end = End::new();
    let supervisor = supervisor.clone();
    let told = end.clone();
    std::thread::Builder::new().name("plait-control".into()).spawn(move || {
        for socket in listener.incoming().flatten() {
            let (supervisor, end) = (supervisor.clone(), told.clone());
            let answer = move || {
                if let Err(error) = supervisor.connection(socket, &end) {
                    tracing::debug!(%error, "a connection ended early");
                }
            };
            if let Err(error) = std::thread::Builder::new().name("plait-request".into()).spawn(answer) {
                tracing::error!(%error, "cannot answer a request");
            }
        }
    })?;
    Ok(end)
}

impl Supervisor {
    fn connection(&self, socket: UnixStream, end: &End) -> io::Result<()> {
        // The socket's mode keeps others out; this keeps them out if somebody changes it.
        let user = peer_user(&socket)?;
        if user != rustix::process::geteuid().as_raw() && user != 0 {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "another user"));
        }
        let mut line = Line::new(socket);
        let Some(first) = line.next_bytes()? else { return Ok(()) };
        if first.starts_with(b"GET ") {
            return self.http(&mut line, &first);
        }
        let envelope: Envelope = match serde_json::from_slice::<Value>(&first) {
            Ok(value) if value["plait"].as_u64() != Some(PROTOCOL_VERSION.into()) => {
                let reason = format!(
                    "testbed `{}` was started by plait {} (protocol {PROTOCOL_VERSION}), which does not understand protocol {}: \
                     use that version, or kill process {}",
                    self.options.name, self.options.version, value["plait"], self.birth_pid
                );
                return line.send(&Reply::Failed(reason), &[]);
            }
            Ok(value) => match serde_json::from_value(value) {
                Ok(envelope) => envelope,
                Err(error) => return line.send(&Reply::Failed(format!("not a request: {error}")), &[]),
            },
            Err(error) => return line.send(&Reply::Failed(format!("not a request: {error}")), &[]),
        };
        match self.answer(&mut line, envelope.request) {
            Ok(Answer::Value(value)) => line.send(&Reply::Done(value), &[]),
            Ok(Answer::Descriptor(descriptor)) => line.send(&Reply::Done(Value::Null), &[descriptor.as_fd()]),
            Ok(Answer::Ending) => {
                end.ask(Some(line));
                Ok(())
            }
            Ok(Answer::Given) => Ok(()),
            Err(error) => line.send(&Reply::Failed(error.to_string()), &[]),
        }
    }

    fn answer(&self, line: &mut Line, request: Request) -> io::Result<Answer> {
        Ok(match request {
            Request::Apply { desired } => Answer::Value(self.apply(line, &desired)?),
            Request::Capture { node, interface } => {
                let network = self.node(&node)?;
                let socket = namespace::in_network(&*network, || packet::open(&interface))
                    .doing(|| format!("capture on {node}:{interface}"))?;
                Answer::Descriptor(socket)
            }
            Request::Check { link, thorough } => Answer::Value(self.check(&link, thorough)?),
            Request::Down => Answer::Ending,
            Request::Exec(request) => {
                self.exec(line, *request)?;
                Answer::Given
            }
            Request::Fail { link, direction } => Answer::Value(self.fail_link(&link, direction, true)?),
            Request::FailNode { node } => Answer::Value(self.fail_node(&node, true)?),
            Request::Inspect => Answer::Value(serde_json::to_value(self.report())?),
            Request::KeepAwake => {
                self.keep_awake(line)?;
                Answer::Given
            }
            Request::Log => Answer::Value(log::read().into()),
            Request::Metrics => Answer::Value(self.metrics().into()),
            Request::Open { node, path } => Answer::Descriptor(self.open(&node, &path)?),
            Request::Recover { link, direction } => Answer::Value(self.fail_link(&link, direction, false)?),
            Request::RecoverNode { node } => Answer::Value(self.fail_node(&node, false)?),
            Request::Reset => {
                self.reset()?;
                Answer::Value(Value::Null)
            }
            Request::Sample(request) => {
                self.sample(line, request)?;
                Answer::Given
            }
            Request::Set { link, direction, spec, traces } => {
                Answer::Value(self.set(&link, direction, &spec, &traces)?)
            }
            Request::State => Answer::Value(serde_json::to_value(&self.builder().state)?),
            Request::TcpSockets => {
                self.tcp_sockets(line)?;
                Answer::Given
            }
            Request::Verdict => Answer::Value(match self.builder().engine_since() {
                Some((engine, since)) => {
                    let mut report = serde_json::to_value(engine.report()?)?;
                    report["engine_started_ns"] = since.into();
                    report
                }
                None => Value::Null,
            }),
        })
    }

    /// The one page of HTTP: `/metrics`.
    fn http(&self, line: &mut Line, first: &[u8]) -> io::Result<()> {
        // Headers end with an empty line; none of them matters here.
        while line.next_bytes()?.is_some_and(|header| header != b"\r" && !header.is_empty()) {}
        let path = String::from_utf8_lossy(first);
        let (status, body) = match path.split(' ').nth(1) {
            Some("/metrics") => ("200 OK", self.metrics()),
            _ => ("404 Not Found", "only /metrics is served here\n".to_owned()),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let mut socket = &line.socket;
        socket.write_all(head.as_bytes())?;
        socket.write_all(body.as_bytes())
    }

    fn node(&self, name: &str) -> io::Result<Arc<OwnedFd>> {
        let builder = self.builder();
        match builder.node(name) {
            Some(node) => Ok(node.network.clone()),
            None => Err(unknown("node", name, builder.state.nodes.keys())),
        }
    }

    /// A file or folder as a node sees it.
    fn open(&self, node: &str, path: &str) -> io::Result<OwnedFd> {
        let view = self.builder().place(node, &[])?.mount.expect("a place has a view");
        namespace::on_thread(|| {
            namespace::own_files()?;
            namespace::enter(&*view, Kind::Mount)?;
            let flags =
                rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC | rustix::fs::OFlags::NONBLOCK;
            Ok(rustix::fs::open(path, flags, rustix::fs::Mode::empty())?)
        })
        .doing(|| format!("open {path} on {node}"))
    }
}

enum Answer {
    Value(Value),
    Descriptor(OwnedFd),
    /// The testbed ends, and the line hears of it.
    Ending,
    /// The answer was given on the way.
    Given,
}
