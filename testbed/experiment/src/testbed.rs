//! A running testbed as a [`World`].

mod awake;
mod judgement;
mod loggers;
mod traffic;

use crate::section::Traffic;
use crate::world::{
    AccuracyClass, Deliver, Description, Direction, Ended, Fates, FlowLogger, Launch, Logger, Outcome, Ping,
    Running, Sampling, Stop, Verdict, Verification, World, WorldError,
};
pub use awake::KeepAwake;
pub use judgement::verified;
pub use loggers::CaptureLogger;
use loggers::Samplers;
use plait_model_link::ConditionsSpec;
use plait_testbed_runtime::collect::copy_tree;
use plait_testbed_runtime::control::{
    Awake, ExecRequest, Exited, PingRequest, SampleRequest, Testbed, Traces,
};
use plait_testbed_runtime::kernel::time::monotonic_nanos;
use plait_testbed_runtime::overlay::RECORDING;
use plait_testbed_runtime::plan::NodeState;
use plait_testbed_runtime::sandbox::NODE_FOLDER;
use serde_json::Value;
use std::fs::{self, File, Permissions};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use traffic::Flows;

/// A testbed that is up, with what its links were measured to do.
pub struct RunningTestbed {
    testbed: Testbed,
    traces: Traces,
    verification: Vec<Verification>,
    /// While processors are kept from halting.
    awake: Option<Awake>,
    /// Whether it ended while it was sampled.
    gone: Arc<AtomicBool>,
}

impl RunningTestbed {
    /// A testbed that is up, and the traces that events name. Links that ask for it are measured now; `measuring` hears
    /// of each, unless `stop` was asked for.
    ///
    /// # Errors
    /// When the testbed is gone, processors are to be kept awake and cannot, a link cannot be measured, or the user wants it
    /// no more.
    pub fn new(
        testbed: Testbed,
        traces: Traces,
        awake: KeepAwake,
        stop: &Stop,
        measuring: &mut dyn FnMut(&str),
    ) -> std::io::Result<Self> {
        let state = testbed.state()?;
        let awake = awake.begin(&testbed)?;
        let mut verification = Vec::new();
        for (name, _) in state.links.iter().filter(|(_, link)| link.verify) {
            if stop.is_asked() {
                let text = "ended while links were being measured, before the run began";
                return Err(std::io::Error::new(std::io::ErrorKind::Interrupted, text));
            }
            measuring(name);
            verification.extend(judgement::verified(name, &testbed.check_link(name, false)?));
        }
        Ok(Self { testbed, traces, verification, awake, gone: Arc::default() })
    }

    /// Lays conditions over those of one direction.
    fn lay(&self, link: &str, side: usize, change: ConditionsSpec) -> Result<(), WorldError> {
        let named = change.traces();
        let mut traces = self.traces.clone();
        traces.retain(|path, _| named.contains(&&path[..]));
        self.testbed.set_link(link, Some(side), change, traces).map(drop).map_err(error)
    }

    /// The testbed again, to take it down.
    pub fn into_testbed(self) -> Testbed {
        self.testbed
    }
}

fn asked(Ping { from, to, every }: Ping) -> PingRequest {
    PingRequest { from, to, every_ms: millis(every) }
}

fn millis(every: Duration) -> f64 {
    every.as_secs_f64() * 1e3
}

fn error(error: impl std::fmt::Display) -> WorldError {
    WorldError { message: error.to_string() }
}

impl World for RunningTestbed {
    fn describe(&self) -> Description {
        let state = self.testbed.state().unwrap_or_default();
        let accuracy = self.testbed.verdict().ok().and_then(|report| match report["class"].as_str()? {
            "A" => Some(AccuracyClass::A),
            "B" => Some(AccuracyClass::B),
            _ => Some(AccuracyClass::C),
        });
        let addresses = state.nodes.iter().filter(|(_, node)| !node.hidden).flat_map(|(name, node)| {
            let devices = node.overlays.values().flat_map(|overlay| &overlay.devices);
            node.interfaces
                .values()
                .flat_map(|interface| &interface.addresses)
                .chain(devices.flat_map(|device| &device.addresses))
                .map(|net| (net.addr(), name.clone()))
        });
        Description {
            kind: "testbed".to_owned(),
            accuracy,
            kept_awake: self.awake.is_some(),
            addresses: addresses.collect(),
            left_out: Vec::new(),
        }
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(monotonic_nanos())
    }

    fn wait_until(&self, instant: Duration, stop: &Stop) {
        while !stop.is_asked() {
            let rest = instant.saturating_sub(self.now());
            if rest.is_zero() {
                return;
            }
            std::thread::sleep(rest.min(Duration::from_millis(50)));
        }
    }

    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    fn spawn(&self, launch: &Launch<'_>) -> Result<Box<dyn Running>, WorldError> {
        let null = File::open("/dev/null").map_err(error)?;
        let stdout = File::create(launch.stdout).map_err(error)?;
        let stderr = File::create(launch.stderr).map_err(error)?;
        let request = ExecRequest {
            node: launch.node.to_owned(),
            command: ["/bin/sh", "-c", launch.command].map(str::to_owned).to_vec(),
            timeout_ms: u64::try_from(launch.timeout.as_millis()).ok(),
            ..ExecRequest::default()
        };
        let started = self.now();
        let mut running =
            self.testbed.exec(request, [null.as_fd(), stdout.as_fd(), stderr.as_fd()]).map_err(error)?;
        let socket = running.socket().map_err(error)?;
        let outcome = Arc::new(Mutex::new(None));
        let stopped = Arc::new(AtomicBool::new(false));
        let (told, was_stopped) = (outcome.clone(), stopped.clone());
        std::thread::Builder::new()
            .name("plait-command".into())
            .spawn(move || {
                let ended = match running.wait() {
                    // However it took the wish to end.
                    Ok(_) if was_stopped.load(Ordering::Acquire) => Ended::Stopped,
                    Ok(Exited::Code(code)) => Ended::Exit(code),
                    Ok(Exited::Signal(signal)) => Ended::Signal(signal),
                    Ok(Exited::TimedOut) => Ended::TimedOut,
                    // The testbed is gone.
                    Err(_) => Ended::Stopped,
                };
                let finished = Duration::from_nanos(monotonic_nanos());
                *told.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Outcome { ended, started, finished });
            })
            .map_err(error)?;
        Ok(Box::new(Command { outcome, socket, stopped }))
    }

    fn traffic(
        &self,
        traffic: &[Traffic],
        stop: &Stop,
    ) -> Result<(Box<dyn FlowLogger>, Duration), WorldError> {
        let state = self.testbed.state().map_err(error)?;
        // The first address of the first interface that has one: that which the node's name resolves to.
        let addresses = state.nodes.iter().filter_map(|(name, node)| {
            let mut all = node.interfaces.values().flat_map(|interface| &interface.addresses);
            Some((name.clone(), all.next()?.addr()))
        });
        let (flows, begin) = Flows::start(&self.testbed, traffic, &addresses.collect(), stop)?;
        Ok((Box::new(flows), begin))
    }

    fn set_link(&self, link: &str, direction: Direction, change: &ConditionsSpec) -> Result<(), WorldError> {
        for side in (0..2).filter(|side| direction.includes(*side)) {
            self.lay(link, side, change.clone())?;
        }
        Ok(())
    }

    fn set_link_up(&self, link: &str, direction: Direction, up: bool) -> Result<(), WorldError> {
        let side = match direction {
            Direction::Both => None,
            Direction::Forward => Some(0),
            Direction::Reverse => Some(1),
        };
        self.testbed.fail_link(link, side, !up).map_err(error)
    }

    fn set_node_up(&self, node: &str, up: bool) -> Result<(), WorldError> {
        self.testbed.fail_node(node, !up).map_err(error)
    }

    fn sample(&self, request: Sampling, deliver: Deliver) -> Result<Box<dyn Logger>, WorldError> {
        let rows = SampleRequest {
            tcp_ms: None,
            interfaces_ms: request.interfaces.map(millis),
            links_ms: request.links.map(millis),
            pings: request.pings.into_iter().map(asked).collect(),
        };
        Samplers::start(&self.testbed, rows, request.tcp, deliver, &self.gone)
            .map(|samplers| Box::new(samplers) as _)
            .map_err(error)
    }

    fn capture(&self, node: &str, interface: &str, into: &Path) -> Result<Box<dyn Logger>, WorldError> {
        let socket = self.testbed.capture(node, interface).map_err(error)?;
        let title = format!("{node}:{interface}");
        CaptureLogger::start(socket, &title, into).map(|logger| Box::new(logger) as _).map_err(error)
    }

    fn collect(&self, node: &str, paths: &[String], into: &Path) -> Result<(), WorldError> {
        let one = |path: &str, into: &Path| {
            let opened = self.testbed.open(node, path).map_err(|error| error.to_string())?;
            copy_tree(opened, into).map_err(|error| error.to_string())
        };
        // One that is not there keeps none of the others.
        let own = one(NODE_FOLDER, into);
        let asked = paths.iter().map(|path| one(path, &into.join(path.trim_start_matches('/'))));
        let failed: Vec<String> = std::iter::once(own).chain(asked).filter_map(Result::err).collect();
        if failed.is_empty() { Ok(()) } else { Err(error(failed.join("; "))) }
    }

    fn recordings(&self, into: &Path) -> Result<(), WorldError> {
        let state = self.testbed.state().map_err(error)?;
        let is_driven = |node: &NodeState| node.overlays.values().any(|overlay| overlay.control.is_some());
        let mut failed = Vec::new();
        for (node, _) in state.nodes.iter().filter(|(_, state)| is_driven(state)) {
            let place = into.join(format!("{node}.jsonl"));
            let copied =
                self.testbed.open(node, RECORDING).map_err(|error| error.to_string()).and_then(|opened| {
                    copy_tree(opened, &place).map_err(|error| error.to_string())?;
                    // As it was in the node.
                    fs::set_permissions(&place, Permissions::from_mode(0o600))
                        .map_err(|error| error.to_string())
                });
            failed.extend(copied.err().map(|why| format!("{node}: {why}")));
        }
        if failed.is_empty() { Ok(()) } else { Err(error(failed.join("; "))) }
    }

    fn verification(&self) -> Vec<Verification> {
        self.verification.clone()
    }

    fn verdict(&self, since: Duration) -> Verdict {
        judgement::verdict(self.testbed.verdict().ok().as_ref(), since)
    }

    fn plan(&self) -> Value {
        let plan = self.testbed.state().map(serde_json::to_value);
        plan.ok().and_then(Result::ok).unwrap_or_default()
    }

    fn fates(&self) -> Vec<Fates> {
        judgement::fates(&self.testbed.verdict().unwrap_or_default())
    }

    fn link_report(&self) -> Value {
        // What chance decided has a place of its own in the results.
        let mut engine = self.testbed.verdict().ok();
        let links = engine.as_mut().and_then(|engine| engine["links"].as_array_mut());
        for link in links.into_iter().flatten().filter_map(Value::as_object_mut) {
            link.remove("fates");
        }
        let links = self.testbed.inspect().ok().and_then(|report| serde_json::to_value(report.links).ok());
        serde_json::json!({ "links": links, "engine": engine })
    }
}

struct Command {
    outcome: Arc<Mutex<Option<Outcome>>>,
    socket: UnixStream,
    /// Whether it was told to end.
    stopped: Arc<AtomicBool>,
}

impl Running for Command {
    fn outcome(&mut self) -> Result<Option<Outcome>, WorldError> {
        Ok(*self.outcome.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stop(&mut self) -> Result<(), WorldError> {
        if !self.stopped.swap(true, Ordering::AcqRel) {
            // The supervisor takes the end of what we say for the end of the wish: SIGTERM, then SIGKILL. What it says
            // of the command's end still comes, so that all it wrote on SIGTERM is there when the run goes on.
            let _ = self.socket.shutdown(Shutdown::Write);
        }
        Ok(())
    }
}
