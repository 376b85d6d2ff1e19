//! Answering requests, each on a thread of its own.

use super::live::End;
use super::{Supervisor, log};
use crate::build::BuildError;
use crate::control::{
    Envelope, Line, LinkReport, NodeReport, PROTOCOL_VERSION, Reply, Report, Request, Traces,
};
use crate::kernel::namespace::{self, Kind};
use crate::kernel::socket::peer_user;
use crate::kernel::{files::Doing, packet};
use crate::plan::{NodeState, Realisation, STATE_VERSION, State, Step, auxiliary, plan};
use plait_model_link::ConditionsSpec;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, PoisonError};

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
        match self.answer(&mut line, envelope.request, end) {
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

    fn answer(&self, line: &mut Line, request: Request, end: &End) -> io::Result<Answer> {
        let _ = end;
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
            Request::Fail { link } => Answer::Value(self.fail(&link, true)?),
            Request::Inspect => Answer::Value(serde_json::to_value(self.report())?),
            Request::Log => Answer::Value(log::read().into()),
            Request::Metrics => Answer::Value(self.metrics().into()),
            Request::Open { node, path } => Answer::Descriptor(self.open(&node, &path)?),
            Request::Recover { link } => Answer::Value(self.fail(&link, false)?),
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

    fn apply(&self, line: &Line, desired: &State) -> io::Result<Value> {
        let mut builder = self.builder();
        out_of_reach(desired, builder.has_uplink())?;
        let steps = plan(desired, &builder.state);
        let fixed = builder.fixed_files(&steps);
        if !fixed.is_empty() {
            let what = format!(
                "files outside /run, /tmp, /var and the home come with a node's first program, and one has run: {}",
                fixed.join(", ")
            );
            return Err(only_anew(&what));
        }
        builder
            .execute(&steps, &mut |done, total| {
                let _ = line.send(&Reply::Progress(done, total), &[]);
            })
            .map_err(|error: BuildError| {
                io::Error::other(format!("{error}; correct the cause and apply again"))
            })?;
        // A link that was made anew is whole.
        let mut failed = self.failed_links.lock().unwrap_or_else(PoisonError::into_inner);
        for step in &steps {
            if let Step::RemoveLink { name, .. } = step {
                failed.remove(name);
            }
        }
        tracing::info!(steps = steps.len(), "applied");
        Ok(json!({ "steps": steps }))
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

    /// Lays a change over what a link's conditions are.
    fn set(
        &self,
        name: &str,
        direction: Option<usize>,
        change: &ConditionsSpec,
        traces: &Traces,
    ) -> io::Result<Value> {
        let mut builder = self.builder();
        let (name, flipped) = resolve(&builder.state, name)?;
        let mut link = builder.state.links[&name].clone();
        if !matches!(link.realisation, Realisation::Engine(_)) {
            return Err(io::Error::other(format!(
                "{name} is {} and its conditions cannot change while it is up: give it `dynamic: true` in the file (and no `via: kernel`), or \
                 use `plait up --live`",
                match link.realisation {
                    Realisation::Kernel => "shaped by the kernel",
                    _ => "a bare veth pair",
                }
            )));
        }
        for at in 0..2 {
            if direction.is_none_or(|wanted| (wanted ^ usize::from(flipped)) == at) {
                let read =
                    |path: &str| traces.get(path).cloned().ok_or_else(|| "its text is missing".to_owned());
                (link.specs[at], link.conditions[at]) = change
                    .build_over(&link.specs[at], &link.conditions[at], &read)
                    .map_err(|error| io::Error::other(error.to_string()))?;
            }
        }
        let step = crate::plan::Step::Condition { name: name.clone(), link: Box::new(link) };
        builder.execute(&[step], &mut |_, _| {}).map_err(io::Error::other)?;
        let link = &builder.state.links[&name];
        tracing::info!(link = name, forward = %link.conditions[0], reverse = %link.conditions[1], "conditions changed");
        Ok(
            json!({ "link": name, "conditions": [link.conditions[0].to_string(), link.conditions[1].to_string()] }),
        )
    }

    /// Cuts a link, or heals it. A link outside the engine is cut by taking one of its devices down.
    fn fail(&self, name: &str, failed: bool) -> io::Result<Value> {
        let mut builder = self.builder();
        let mut halves = halves(&builder.state, name);
        if halves.is_empty() {
            halves.push(resolve(&builder.state, name)?.0);
        }
        for (done, half) in halves.iter().enumerate() {
            if let Err(error) = builder.cut(half, failed) {
                // Half a link that is cut is neither.
                halves[..done].iter().for_each(|half| drop(builder.cut(half, !failed)));
                return Err(error);
            }
        }
        let mut known = self.failed_links.lock().unwrap_or_else(PoisonError::into_inner);
        for half in halves {
            if failed {
                known.insert(half);
            } else {
                known.remove(&half);
            }
        }
        tracing::info!(link = name, failed, "link cut or healed");
        Ok(json!({ "link": name, "failed": failed }))
    }

    fn reset(&self) -> io::Result<()> {
        let builder = self.builder();
        let Some(engine) = builder.engine() else { return Ok(()) };
        builder
            .state
            .links
            .keys()
            .filter_map(|name| builder.engine_link(name))
            .try_for_each(|id| engine.reset(id))
    }

    fn report(&self) -> Report {
        // A build may take long, and whoever asks meanwhile hears what it will be.
        let builder = match self.status() {
            "starting" => self.builder.try_lock().ok(),
            _ => Some(self.builder()),
        };
        let state = builder.as_ref().map_or(&self.options.desired, |builder| &builder.state);
        let failed = self.failed_links.lock().unwrap_or_else(PoisonError::into_inner);
        let nodes = state.nodes.iter().filter(|(_, node)| !node.hidden).map(|(name, node)| NodeReport {
            name: name.clone(),
            kind: node.kind.clone(),
            interfaces: node
                .interfaces
                .iter()
                .map(|(name, interface)| (name.clone(), interface.addresses.clone()))
                .collect(),
            routes: node.routes.len(),
            daemons: node.frr.as_ref().map(|frr| frr.daemons.clone()).unwrap_or_default(),
            limits: node.limits,
        });
        let links = state.links.iter().map(|(name, link)| LinkReport::new(name, link, failed.contains(name)));
        Report {
            name: self.options.name.clone(),
            file: self.options.file.clone(),
            pid: self.birth_pid,
            status: self.status().to_owned(),
            uptime_s: self.started.elapsed().as_secs_f64(),
            version: self.options.version.clone(),
            live: self.options.live,
            accuracy_class: builder
                .as_ref()
                .and_then(|builder| builder.engine())
                .and_then(|engine| Some(format!("{:?}", engine.report().ok()?.class))),
            nodes: nodes.collect(),
            links: links.collect(),
        }
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

/// Why a state can be had by a new testbed only. Said before anything is changed.
fn out_of_reach(desired: &State, has_uplink: bool) -> io::Result<()> {
    let again = |what: String| Err(only_anew(&what));
    let wants = |what: fn(&NodeState) -> bool| desired.nodes.values().any(what);
    if desired.version != STATE_VERSION {
        let theirs = desired.version;
        return again(format!("this testbed knows states of version {STATE_VERSION}, not {theirs}"));
    }
    if !has_uplink && wants(|node| node.uplink) {
        return again("a running testbed cannot get its first uplink".to_owned());
    }
    // A user who asks for daemons is called root inside from the start.
    if !rustix::process::geteuid().is_root() && wants(|node| node.frr.is_some()) {
        return again("a user's running testbed cannot get its first routing daemons".to_owned());
    }
    Ok(())
}

fn only_anew(what: &str) -> io::Error {
    io::Error::other(format!("{what}: take the testbed down and up again"))
}

/// A link by its name or by its name the other way round, and whether it was the latter.
pub(super) fn resolve(state: &State, name: &str) -> io::Result<(String, bool)> {
    if state.links.contains_key(name) {
        return Ok((name.to_owned(), false));
    }
    let turned = state.links.iter().find(|(_, link)| {
        let [a, b] = &link.ends;
        name.strip_prefix(b.0.as_str()).and_then(|rest| rest.strip_prefix('-')) == Some(&a.0)
    });
    if let Some((name, _)) = turned {
        return Ok((name.clone(), true));
    }
    match &halves(state, name)[..] {
        [a, b] => Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!(
                "the kernel shapes {name} in two halves with an auxiliary node between: ask for {a} or {b}"
            ),
        )),
        _ => Err(unknown("link", name, state.links.keys())),
    }
}

/// The halves of a link that was split, by its name either way round; none of any other.
fn halves(state: &State, name: &str) -> Vec<String> {
    let links = state.nodes.keys().filter_map(|node| node.strip_prefix(auxiliary("").as_str()));
    let mut found = links.filter_map(|link| {
        let own = auxiliary(link);
        let halves: Vec<_> = state.links.iter().filter(|(_, half)| half.ends[1].0 == own).collect();
        let [a, b] = &halves[..] else { return None };
        let turned = format!("{}-{}", b.1.ends[0].0, a.1.ends[0].0);
        (name == link || name == turned).then(|| vec![a.0.clone(), b.0.clone()])
    });
    found.next().unwrap_or_default()
}

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a String> + Clone) -> io::Error {
    let help = plait_model_topology::diagnostic::suggest(name, known.map(String::as_str));
    io::Error::new(io::ErrorKind::NotFound, format!("there is no {what} `{name}`: {help}"))
}
