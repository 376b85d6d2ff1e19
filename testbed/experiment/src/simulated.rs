//! A network in virtual time as a [`World`].
//!
//! The run's thread is the only one that moves time on: [`World::wait_until`] lets everything happen that is due before
//! an instant, stopping where samples are taken. Nothing waits for real time, so an hour may take a second.

mod captures;
mod flows;
mod overlays;
mod samples;

use crate::section::{Script, Traffic};
use crate::world::{
    Deliver, Description, Direction, Fates, FlowLogger, Launch, Logger, Running, Sampling, Stop, Verdict,
    Verification, World, WorldError,
};
use captures::Capturing;
use flows::Flows;
use overlays::SimulatedOverlay;
use plait_control_paths::Method;
use plait_control_routing::Applications;
use plait_model_link::ConditionsSpec;
use plait_model_topology::address::assign;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::network::{FrrRouting, Routing};
use plait_model_topology::{Network, section};
use plait_simulator_world::{
    Detection, KnownRoutes, LearningSpec, Options, PathsSpec, Side, World as Simulated,
};
use plait_testbed_runtime::control::Traces;
use plait_testbed_runtime::paths;
use plait_testbed_runtime::section::{MethodWord, Paths};
use samples::{Sampler, Samplers};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A network that is up in virtual time.
pub struct SimulatedNetwork {
    state: Arc<Mutex<State>>,
    traces: Traces,
    left_out: Vec<String>,
}

/// What the run and its loggers share.
struct State {
    world: Simulated,
    overlays: Vec<SimulatedOverlay>,
    sampler: Option<Sampler>,
}

/// How long members may take to find each other before a run begins. Choice: as long as in a testbed; those that never will are
/// no fault of the file.
const MEETING: Duration = Duration::from_secs(10);

impl SimulatedNetwork {
    /// Builds a network, its overlays and the paths that its hosts choose, has `control` decide its routes if that is any,
    /// and takes the traces that events name. So many `threads` work on it, on which nothing depends. `left_out` is what of
    /// the file cannot run here, in words: the results keep it.
    ///
    /// # Errors
    /// Addresses that clash or run out, overlays that cannot be, applications that the control runtime refuses.
    pub fn build(
        network: &Network,
        control: Applications,
        traces: Traces,
        threads: usize,
        left_out: Vec<String>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let detection = match &network.routing {
            Routing::Frr(FrrRouting { hello, dead, .. }) => {
                Some(Detection::of_ospf((*hello).into(), (*dead).into()))
            }
            Routing::None | Routing::Static => None,
        };
        let options = Options { threads, multipath: is_multipath(network), detection };
        let mut world = match paths_of(network)? {
            Some(paths) => Simulated::build_with_paths(network, &paths, options)?,
            None => Simulated::build(network, options)?,
        };
        let is_recorded = Script::of(network)?.collect.control;
        let overlays = overlays::add(&mut world, network, is_recorded)?;
        if !control.is_empty() {
            let span = network.sections.get("control").map(|value| value.span()).unwrap_or_default();
            world.decide_by(control).map_err(|error| vec![Diagnostic::new(span, error.to_string())])?;
        }
        world.meet(MEETING);
        let state = Arc::new(Mutex::new(State { world, overlays, sampler: None }));
        Ok(Self { state, traces, left_out })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

/// Choice: a thread that died while it held the state ends the run by its own panic; what is there is still told.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Daemons give routers all ways that are equally short.
fn is_multipath(network: &Network) -> bool {
    matches!(network.routing, Routing::Frr(_))
}

/// Paths that hosts choose; none where the file has no such section. What they would learn from daemons, iplbd learns of links, as
/// late as the daemons' intervals.
///
/// # Errors
/// What is wrong with them, and addresses that clash or run out.
pub fn paths_of(network: &Network) -> Result<Option<PathsSpec>, Vec<Diagnostic>> {
    let written: Option<Paths> = section(&network.sections, "paths").map_err(|fault| vec![fault])?;
    let Some(written) = written else { return Ok(None) };
    let mut paths = paths::resolve(&written, network)?;
    let assignment = assign(network, None)?;
    let knows_routes = paths.method == MethodWord::Known;
    let learning = (paths.learn == paths::Learn::Ospf).then(|| LearningSpec {
        hosts: paths.hosts.iter().copied().collect(),
        settings: paths.settings.clone(),
        knows_routes,
        encapsulation: paths.encapsulation,
        policy: paths.policy,
        policies: paths::policies(&paths),
    });
    let mut spec = PathsSpec {
        source: paths.source,
        spread: paths.spread,
        idle: paths.idle,
        relays: paths.relays.clone(),
        hosts: BTreeMap::new(),
        learning,
        borders: std::mem::take(&mut paths.borders),
    };
    if knows_routes {
        let multipath = is_multipath(network);
        let routes = KnownRoutes::of(network, &assignment, &spec, paths.encapsulation, multipath);
        paths.settings.method = Method::Known(Arc::new(routes));
    }
    spec.hosts = paths::statics(&paths, network, &assignment)?;
    Ok(Some(spec))
}

fn error(error: impl std::fmt::Display) -> WorldError {
    WorldError::new(error.to_string())
}

fn side(direction: Direction) -> Side {
    match direction {
        Direction::Forward => Side::Forward,
        Direction::Reverse => Side::Reverse,
        Direction::Both => Side::Both,
    }
}

impl World for SimulatedNetwork {
    fn describe(&self) -> Description {
        let state = self.state();
        let (network, assignment) = (state.world.network(), state.world.assignment());
        let addresses = network.nodes.iter().enumerate().flat_map(|(at, node)| {
            assignment.all(at).map(|net| (net.addr(), node.name.clone())).collect::<Vec<(IpAddr, String)>>()
        });
        Description {
            kind: "simulator".to_owned(),
            accuracy: None,
            kept_awake: false,
            addresses: addresses.collect(),
            left_out: self.left_out.clone(),
        }
    }

    fn now(&self) -> Duration {
        self.state().world.now()
    }

    fn wait_until(&self, instant: Duration, stop: &Stop) {
        if !stop.is_asked() {
            self.state().go_on_until(instant);
        }
    }

    fn spawn(&self, launch: &Launch<'_>) -> Result<Box<dyn Running>, WorldError> {
        let node = launch.node;
        Err(error(format!("{node} has no programs in the simulator: use `traffic:` for load")))
    }

    fn traffic(&self, traffic: &[Traffic], _: &Stop) -> Result<(Box<dyn FlowLogger>, Duration), WorldError> {
        let begin = self.now();
        let flows = Flows::start(&mut self.state(), traffic, begin)?;
        Ok((Box::new(flows.of(Arc::clone(&self.state))), begin))
    }

    fn set_link(&self, link: &str, direction: Direction, change: &ConditionsSpec) -> Result<(), WorldError> {
        let read = |path: &str| {
            let text = self.traces.get(path).cloned();
            text.ok_or_else(|| format!("the trace {path} was not read"))
        };
        self.state().world.set_link(link, side(direction), change, &read).map_err(error)
    }

    fn set_link_up(&self, link: &str, direction: Direction, up: bool) -> Result<(), WorldError> {
        self.state().world.set_link_up(link, side(direction), up).map_err(error)
    }

    fn set_node_up(&self, node: &str, up: bool) -> Result<(), WorldError> {
        self.state().world.set_node_up(node, up).map_err(error)
    }

    fn sample(&self, request: Sampling, deliver: Deliver) -> Result<Box<dyn Logger>, WorldError> {
        let mut state = self.state();
        let now = state.world.now();
        state.sampler = request.links.map(|every| Sampler::new(every, now, deliver));
        Ok(Box::new(Samplers(Arc::clone(&self.state))))
    }

    fn capture(&self, node: &str, interface: &str, into: &Path) -> Result<Box<dyn Logger>, WorldError> {
        let capture = self.state().world.add_capture(node, interface).map_err(error)?;
        Ok(Box::new(Capturing::new(Arc::clone(&self.state), capture, format!("{node}:{interface}"), into)))
    }

    fn collect(&self, node: &str, paths: &[String], _: &Path) -> Result<(), WorldError> {
        match paths {
            [] => Ok(()),
            _ => Err(error(format!("{node} has no files in the simulator: {}", paths.join(", ")))),
        }
    }

    fn recordings(&self, into: &Path) -> Result<(), WorldError> {
        for recording in self.state().world.recordings() {
            let place = into.join(format!("{}.jsonl", recording.name));
            // Its owner's alone, as a node's.
            let file = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&place);
            let written = file.and_then(|mut file| file.write_all(recording.text().as_bytes()));
            written.map_err(|why| error(format!("{}: {why}", place.display())))?;
        }
        Ok(())
    }

    fn verification(&self) -> Vec<Verification> {
        // Virtual time is never late, so there is nothing to measure.
        Vec::new()
    }

    fn verdict(&self, _: Duration) -> Verdict {
        Verdict::default()
    }

    fn plan(&self) -> Value {
        let state = self.state();
        let (network, assignment) = (state.world.network(), state.world.assignment());
        let nodes: BTreeMap<&str, Vec<String>> = (network.nodes.iter().enumerate())
            .map(|(at, node)| (node.name.as_str(), assignment.all(at).map(|net| net.to_string()).collect()))
            .collect();
        let links: BTreeMap<&str, Value> = (network.links.iter())
            .map(|link| (link.name.as_str(), json!({ "conditions": link.specs, "mtu": link.mtu })))
            .collect();
        json!({ "world": "simulator", "seed": network.seed, "nodes": nodes, "links": links })
    }

    fn fates(&self) -> Vec<Fates> {
        Vec::new()
    }

    fn link_report(&self) -> Value {
        let mut state = self.state();
        let mut report = serde_json::to_value(state.world.totals()).unwrap_or_default();
        if let Value::Object(report) = &mut report {
            let mut add = |name: &str, of: Option<Value>| {
                report.extend(of.map(|of| (name.to_owned(), of)));
            };
            add("drops", serde_json::to_value(state.world.drops()).ok());
            add("control", state.world.control_report().and_then(|of| serde_json::to_value(of).ok()));
            add("routes", state.world.follow_report().and_then(|of| serde_json::to_value(of).ok()));
        }
        report
    }
}

impl State {
    fn go_on_until(&mut self, instant: Duration) {
        let Self { world, sampler, .. } = self;
        if let Some(sampler) = sampler {
            sampler.pass(world, instant);
        }
        world.run_until(instant);
    }
}
