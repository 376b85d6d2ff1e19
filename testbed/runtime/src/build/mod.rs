//! Carrying out a plan: the only place that changes the kernel.
//!
//! A [`Builder`] holds what a testbed owns (namespaces as descriptors, the link engine) and the [`State`] it has
//! reached. Steps of one kind that follow each other are done together: namespaces on two threads, devices in batches
//! of netlink messages, and all that belongs inside a node in one send from inside it.

mod configure;
mod engine_links;
mod links;
pub(crate) mod messages;
mod nodes;
mod orphans;
mod programs;
mod stop;

use crate::children::Children;
use crate::kernel::netlink::Netlink;
use crate::plan::{State, Step};
use crate::uplink::Gate;
use configure::Pending;
use plait_dataplane_links::Engine;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nodes::FORWARDING;
pub use nodes::Node;
pub use programs::environment;
pub use stop::kill_all;

/// A step that failed, and what is left.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("{step}: {reason}")]
pub struct StepError {
    /// The step as `plait plan` prints it.
    pub step: String,
    /// Why the kernel refused it.
    pub reason: String,
}

/// Why a plan was not carried out to its end. What was done stands in the state, so that the same file applied again
/// goes on from there.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("{} of {total} steps were done; {}", self.done, self.failed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct BuildError {
    /// Steps that were done.
    pub done: usize,
    /// Steps of the plan.
    pub total: usize,
    /// Steps that failed; those after them were not tried.
    pub failed: Vec<StepError>,
}

/// Who hears how far a build is: steps done and steps in all.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize);

/// A testbed being built, running, or being taken down.
pub struct Builder {
    /// What has been reached.
    pub state: State,
    pub(crate) nodes: HashMap<String, Node>,
    netlink: Netlink,
    engine: Option<EngineRoom>,
    /// The host's user is root: real-time scheduling and larger buffers may be asked for.
    root: bool,
    home: std::path::PathBuf,
    pub(crate) name: String,
    /// Whether new network namespaces forward from birth: they inherit it from the host's.
    forwarding: bool,
    groups: crate::limits::Groups,
    pub(crate) children: Children,
    gate: Option<Gate>,
    /// Interfaces that the plan at hand gives IPv6 addresses, until they speak IPv6.
    ipv6: HashSet<(String, String)>,
    pub(crate) overlays: crate::overlay::Means,
    /// Which ways links are cut, by their names.
    pub(crate) cuts: HashMap<String, [bool; 2]>,
    /// Who decides routes while the testbed is up.
    pub(crate) rerouting: Option<crate::routing::Rerouting>,
    /// Held while routes that were decided are written, which is begun with the builder and ended without it.
    pub(crate) writing: Arc<Mutex<()>>,
}

/// The link engine and the network namespace that holds its ends of the links.
pub(crate) struct EngineRoom {
    pub namespace: Arc<OwnedFd>,
    pub engine: Arc<Engine>,
    /// When it started, in nanoseconds of the monotonic clock.
    pub started: u64,
    /// Engine's number of each link, and the namespace's device numbers of its ends.
    pub links: HashMap<String, engine_links::EngineLink>,
    pub next_index: u32,
    pub next_id: u64,
}

/// What a testbed is built with.
pub struct Means {
    /// Whether the host's user is root.
    pub root: bool,
    /// The user's home.
    pub home: std::path::PathBuf,
    /// The testbed's name.
    pub name: String,
    /// Where limits are kept.
    pub groups: crate::limits::Groups,
    /// Who starts and reaps programs.
    pub children: Children,
    /// The way to the host's network, where a node asked for it at start.
    pub gate: Option<Gate>,
    /// The program that this process runs, where it can be found.
    pub program: Option<OwnedFd>,
    /// Whether control planes of overlays write down what they are told and do.
    pub record: bool,
}

impl Builder {
    /// An empty testbed. Call it in the sandbox, inside a network namespace that belongs to nobody else.
    ///
    /// # Errors
    /// When no netlink socket can be had.
    pub fn new(means: Means) -> io::Result<Self> {
        let Means { root, home, name, groups, children, gate, program, record } = means;
        let state = State { version: crate::plan::STATE_VERSION, ..State::default() };
        nodes::prepare();
        Ok(Self {
            state,
            nodes: HashMap::new(),
            netlink: Netlink::open()?,
            engine: None,
            root,
            home,
            name,
            forwarding: std::fs::read_to_string(format!("/proc/sys/{FORWARDING}"))
                .is_ok_and(|value| value.trim() == "1"),
            groups,
            children,
            gate,
            ipv6: HashSet::new(),
            overlays: crate::overlay::Means::new(program, record),
            cuts: HashMap::new(),
            rerouting: None,
            writing: Arc::default(),
        })
    }

    /// Carries out steps in order, of any kind but commands: they run without the builder, after
    /// [`start_command`](Self::start_command).
    ///
    /// # Errors
    /// The steps that failed. The state says what is there; nothing is half-recorded.
    pub fn execute(&mut self, steps: &[Step], progress: Progress<'_>) -> Result<(), BuildError> {
        let mut pending = Pending::default();
        self.ipv6 = steps
            .iter()
            .filter_map(|step| match step {
                Step::Addresses { node, interface, add, .. }
                    if add.iter().any(|net| net.addr().is_ipv6()) =>
                {
                    Some((node.clone(), interface.clone()))
                }
                _ => None,
            })
            .collect();
        let mut done = 0;
        let mut at = 0;
        let mut phases = Phases::default();
        while at < steps.len() {
            let kind = std::mem::discriminant(&steps[at]);
            let mut end = at + 1;
            // Long runs are cut so that progress shows.
            while end < steps.len() && end - at < 256 && std::mem::discriminant(&steps[end]) == kind {
                end += 1;
            }
            let group = &steps[at..end];
            let begun = Instant::now();
            let mut failed = self.group(group, &mut pending);
            phases.add(group[0].kind(), begun);
            let in_order = matches!(
                steps.get(end),
                None | Some(
                    Step::Daemons { .. }
                        | Step::OpenFlow { .. }
                        | Step::Overlays { .. }
                        | Step::Paths { .. }
                        | Step::Control(..)
                        | Step::Commands { .. }
                )
            );
            let goes_on = matches!(
                group[0],
                Step::AddNode { .. } | Step::AddLink { .. } | Step::Addresses { .. } | Step::Routes { .. }
            );
            if failed.is_empty() && (in_order || !goes_on) {
                let begun = Instant::now();
                failed = self.flush(&mut pending);
                phases.add("configure", begun);
            }
            if !failed.is_empty() {
                return Err(BuildError { done, total: steps.len(), failed });
            }
            done += group.len();
            progress(done, steps.len());
            at = end;
        }
        let failed = self.flush(&mut pending);
        phases.log(steps.len());
        if failed.is_empty() { Ok(()) } else { Err(BuildError { done, total: steps.len(), failed }) }
    }

    /// Steps of one kind.
    fn group(&mut self, steps: &[Step], pending: &mut Pending) -> Vec<StepError> {
        match &steps[0] {
            Step::AddNode { .. } => self.add_nodes(steps),
            Step::AddLink { .. } => self.add_links(steps, pending),
            Step::Addresses { .. } | Step::Routes { .. } => self.queue(steps, pending),
            Step::Daemons { .. } => self.daemon_steps(steps),
            Step::OpenFlow { .. } => self.openflow_steps(steps),
            Step::Overlays { .. } => self.overlay_steps(steps),
            Step::Paths { .. } => self.path_steps(steps),
            _ => {
                for step in steps {
                    let result = match step {
                        Step::RemoveNode { name } => self.remove_node(name),
                        Step::RemoveLink { name } => self.remove_link(name),
                        Step::Condition { name, link } => self.condition(name, link),
                        Step::Sysctls { node, set } => self.set_sysctls(node, set),
                        Step::Files { node, files } => self.change_files(node, files),
                        Step::Control(control) => self.control(control.as_deref()),
                        Step::Hosts(hosts, _) => crate::sandbox::write_hosts(hosts),
                        Step::Commands { .. } => unreachable!("run without the builder"),
                        Step::AddNode { .. }
                        | Step::AddLink { .. }
                        | Step::Addresses { .. }
                        | Step::Daemons { .. }
                        | Step::OpenFlow { .. }
                        | Step::Overlays { .. }
                        | Step::Paths { .. }
                        | Step::Routes { .. } => unreachable!("done in groups"),
                    };
                    match result {
                        Ok(()) => step.effect(&mut self.state),
                        Err(error) => return vec![failure(step, &error)],
                    }
                }
                Vec::new()
            }
        }
    }

    /// The steps of one kind, done together; of a failure it is said what was being done.
    fn together<'s, T>(
        &mut self,
        steps: &'s [Step],
        what: &str,
        of: impl Fn(&'s Step) -> Option<(&'s str, T)>,
        work: impl FnOnce(&mut Self, &[(&'s str, T)]) -> io::Result<()>,
    ) -> Vec<StepError> {
        let all: Vec<_> = steps.iter().filter_map(of).collect();
        match work(self, &all) {
            Ok(()) => {
                steps.iter().for_each(|step| step.effect(&mut self.state));
                Vec::new()
            }
            Err(error) => vec![StepError { step: what.to_owned(), reason: error.to_string() }],
        }
    }

    fn daemon_steps(&mut self, steps: &[Step]) -> Vec<StepError> {
        self.together(
            steps,
            "start routing daemons",
            |step| match step {
                Step::Daemons { node, frr } => Some((node.as_str(), frr.as_ref())),
                _ => None,
            },
            |builder, all| builder.daemons(all),
        )
    }

    fn openflow_steps(&mut self, steps: &[Step]) -> Vec<StepError> {
        self.together(
            steps,
            "start OpenFlow nodes",
            |step| match step {
                Step::OpenFlow { node, openflow } => Some((node.as_str(), openflow.as_ref())),
                _ => None,
            },
            |builder, all| builder.openflow(all),
        )
    }

    fn overlay_steps(&mut self, steps: &[Step]) -> Vec<StepError> {
        self.together(
            steps,
            "lead overlays",
            |step| match step {
                Step::Overlays { node, overlays } => Some((node.as_str(), overlays)),
                _ => None,
            },
            |builder, all| builder.overlays(all),
        )
    }

    fn path_steps(&mut self, steps: &[Step]) -> Vec<StepError> {
        self.together(
            steps,
            "lead paths",
            |step| match step {
                Step::Paths { node, paths } => Some((node.as_str(), paths.as_ref())),
                _ => None,
            },
            |builder, all| builder.paths(all),
        )
    }

    /// Whether nodes may have an uplink: the gate to the host's network is made with the testbed.
    pub fn has_uplink(&self) -> bool {
        self.gate.is_some()
    }

    /// The link engine, when any link needs it.
    pub fn engine(&self) -> Option<&Arc<Engine>> {
        self.engine.as_ref().map(|room| &room.engine)
    }

    /// The link engine, and when it started, in nanoseconds of the monotonic clock.
    pub fn engine_since(&self) -> Option<(&Arc<Engine>, u64)> {
        self.engine.as_ref().map(|room| (&room.engine, room.started))
    }

    /// The engine's number of a link.
    pub fn engine_link(&self, name: &str) -> Option<u64> {
        self.engine.as_ref()?.links.get(name).filter(|link| link.is_moved_by_engine()).map(|link| link.id)
    }

    /// A node by name.
    pub fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.get(name)
    }
}

/// Where the time of a plan goes, for the log.
#[derive(Default)]
struct Phases(BTreeMap<&'static str, Duration>);

impl Phases {
    fn add(&mut self, kind: &'static str, begun: Instant) {
        *self.0.entry(kind).or_default() += begun.elapsed();
    }

    fn log(&self, steps: usize) {
        let text: Vec<String> =
            self.0.iter().map(|(kind, took)| format!("{kind} {} ms", took.as_millis())).collect();
        tracing::info!(steps, "carried out: {}", text.join(", "));
    }
}

fn failure(step: &Step, error: &io::Error) -> StepError {
    StepError { step: step.to_string(), reason: error.to_string() }
}
