//! A running testbed as a [`World`].

mod judgement;
mod loggers;

use crate::world::{
    AccuracyClass, Deliver, Description, Direction, Ended, Launch, Logger, Outcome, Running, Sampling, Stop,
    Verdict, Verification, World, WorldError,
};
use loggers::{CaptureLogger, Sampler};
use plait_model_link::{ConditionsSpec, LossSpec};
use plait_model_quantity::Probability;
use plait_testbed_runtime::collect::copy_tree;
use plait_testbed_runtime::control::{ExecRequest, Exited, SampleRequest, Testbed, Traces};
use plait_testbed_runtime::kernel::time::monotonic_nanos;
use plait_testbed_runtime::sandbox::NODE_FOLDER;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::File;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A testbed that is up, with what its links were measured to do.
pub struct RunningTestbed {
    testbed: Testbed,
    traces: Traces,
    verification: Vec<Verification>,
    /// The loss that directions which failed alone had, and will have again.
    failed: Mutex<HashMap<(String, usize), Option<LossSpec>>>,
}

impl RunningTestbed {
    /// A testbed that is up, and the traces that events name. Links that ask for it are measured now; `measuring` hears
    /// of each.
    ///
    /// # Errors
    /// When the testbed is gone, or a link cannot be measured.
    pub fn new(testbed: Testbed, traces: Traces, measuring: &mut dyn FnMut(&str)) -> std::io::Result<Self> {
        let state = testbed.state()?;
        let mut verification = Vec::new();
        for (name, _) in state.links.iter().filter(|(_, link)| link.verify) {
            measuring(name);
            verification.extend(judgement::verified(name, &testbed.check_link(name, false)?));
        }
        Ok(Self { testbed, traces, verification, failed: Mutex::default() })
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
            node.interfaces
                .values()
                .flat_map(|interface| &interface.addresses)
                .map(|net| (net.addr(), name.clone()))
        });
        Description { kind: "testbed".to_owned(), accuracy, addresses: addresses.collect() }
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
        let told = outcome.clone();
        std::thread::Builder::new()
            .name("plait-command".into())
            .spawn(move || {
                let ended = match running.wait() {
                    Ok(Exited::Code(code)) => Ended::Exit(code),
                    Ok(Exited::Signal(signal)) => Ended::Signal(signal),
                    Ok(Exited::TimedOut) => Ended::TimedOut,
                    // The line was closed: by `stop`, or because the testbed is gone.
                    Err(_) => Ended::Stopped,
                };
                let finished = Duration::from_nanos(monotonic_nanos());
                *told.lock().unwrap_or_else(PoisonError::into_inner) =
                    Some(Outcome { ended, started, finished });
            })
            .map_err(error)?;
        Ok(Box::new(Command { outcome, socket, stopped: false }))
    }

    fn set_link(&self, link: &str, direction: Direction, change: &ConditionsSpec) -> Result<(), WorldError> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        for side in (0..2).filter(|side| direction.includes(*side)) {
            let mut change = change.clone();
            // What failed stays failed; its loss is for when it recovers.
            if let (Some(kept), true) = (failed.get_mut(&(link.to_owned(), side)), change.loss.is_some()) {
                *kept = change.loss.take();
            }
            self.lay(link, side, change)?;
        }
        Ok(())
    }

    fn set_link_up(&self, link: &str, direction: Direction, up: bool) -> Result<(), WorldError> {
        if direction == Direction::Both {
            return self.testbed.fail_link(link, !up).map_err(error);
        }
        // One direction alone fails by losing everything: the device at its end stays as it is.
        let side = usize::from(direction == Direction::Reverse);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (link.to_owned(), side);
        let loss = match (up, failed.get(&key)) {
            (true, None) | (false, Some(_)) => return Ok(()),
            (true, Some(kept)) => kept.clone().unwrap_or(LossSpec::Independent(Probability::ZERO)),
            (false, None) => {
                let state = self.testbed.state().map_err(error)?;
                let kept = state.links.get(link).and_then(|link| link.specs[side].loss.clone());
                failed.insert(key.clone(), kept);
                LossSpec::Independent(Probability::ONE)
            }
        };
        if up {
            failed.remove(&key);
        }
        self.lay(link, side, ConditionsSpec { loss: Some(loss), ..ConditionsSpec::default() })
    }

    fn set_node_up(&self, node: &str, up: bool) -> Result<(), WorldError> {
        let state = self.testbed.state().map_err(error)?;
        let mut attached =
            state.links.iter().filter(|(_, link)| link.ends.iter().any(|(end, _)| end == node));
        attached.try_for_each(|(name, _)| self.testbed.fail_link(name, !up).map_err(error))
    }

    fn sample(&self, request: Sampling, deliver: Deliver) -> Result<Box<dyn Logger>, WorldError> {
        let millis = |every: Option<Duration>| every.map(|every| every.as_millis() as u64);
        let samples = self
            .testbed
            .sample(SampleRequest {
                tcp_ms: millis(request.tcp),
                interfaces_ms: millis(request.interfaces),
                links_ms: millis(request.links),
            })
            .map_err(error)?;
        Sampler::start(samples, deliver).map(|sampler| Box::new(sampler) as _).map_err(error)
    }

    fn capture(&self, node: &str, interface: &str, into: &Path) -> Result<Box<dyn Logger>, WorldError> {
        let socket = self.testbed.capture(node, interface).map_err(error)?;
        let title = format!("{node}:{interface}");
        CaptureLogger::start(socket, &title, into).map(|logger| Box::new(logger) as _).map_err(error)
    }

    fn collect(&self, node: &str, paths: &[String], into: &Path) -> Result<(), WorldError> {
        let own = self.testbed.open(node, NODE_FOLDER).map_err(error)?;
        copy_tree(own, into).map_err(error)?;
        for path in paths {
            let opened = self.testbed.open(node, path).map_err(error)?;
            copy_tree(opened, &into.join(path.trim_start_matches('/'))).map_err(error)?;
        }
        Ok(())
    }

    fn verification(&self) -> Vec<Verification> {
        self.verification.clone()
    }

    fn verdict(&self, since: Duration) -> Verdict {
        judgement::verdict(self.testbed.verdict().ok().as_ref(), since)
    }

    fn link_report(&self) -> Value {
        let links = self.testbed.inspect().ok().and_then(|report| serde_json::to_value(report.links).ok());
        serde_json::json!({ "links": links, "engine": self.testbed.verdict().ok() })
    }
}

struct Command {
    outcome: Arc<Mutex<Option<Outcome>>>,
    socket: UnixStream,
    stopped: bool,
}

impl Running for Command {
    fn outcome(&mut self) -> Result<Option<Outcome>, WorldError> {
        Ok(*self.outcome.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn stop(&mut self) -> Result<(), WorldError> {
        if !self.stopped {
            self.stopped = true;
            // The supervisor takes the end of the line for the end of the wish: SIGTERM, then SIGKILL.
            let _ = self.socket.shutdown(Shutdown::Both);
        }
        Ok(())
    }
}
