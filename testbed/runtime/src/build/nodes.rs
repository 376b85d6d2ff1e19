//! Nodes: their namespaces, parameters and files.

use super::messages::{self, Up};
use super::{Builder, StepError, failure};
use crate::kernel::files::Doing;
use crate::kernel::namespace::{self, Kind};
use crate::kernel::netlink::{Batch, Netlink};
use crate::kernel::parameter::Parameters;
use crate::kernel::{capability, process};
use crate::plan::{NodeState, Step};
use crate::sandbox::{NODE_FOLDER, NodeView, node_folder};
use plait_model_topology::diagnostic::suggest;
use plait_model_topology::vocabulary::Role;
use rustix::thread::UnshareFlags;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// What a running node owns: two descriptors, and a third once a program has run in it.
pub struct Node {
    /// Its network namespace.
    pub network: Arc<OwnedFd>,
    /// Its hostname's namespace.
    pub uts: Arc<OwnedFd>,
    /// Its view of the files, made when the first program starts.
    pub view: Option<NodeView>,
    /// Device numbers of its interfaces, by name.
    pub indices: HashMap<String, u32>,
    /// The next free device number.
    pub next_index: u32,
    /// Control groups its programs join, where it has limits.
    pub groups: Vec<Arc<OwnedFd>>,
    /// The process of its overlay agent, once it had one.
    pub agent: Option<i32>,
    /// The process of its path agent, once it had one.
    pub path_agent: Option<i32>,
    /// The process of its OpenFlow controller, once it had one.
    pub controller: Option<i32>,
}

/// Whether a network namespace forwards IPv4, below `/proc/sys`.
pub(super) const FORWARDING: &str = "net/ipv4/ip_forward";
/// How many buckets the table of TCP connections has in namespaces made from here, below `/proc/sys`.
const TCP_TABLE: &str = "net/ipv4/tcp_child_ehash_entries";
/// Choice: a node gets a table of its own, of 8 KiB. Otherwise all nodes share the machine's, which has hundreds of
/// thousands of buckets, and whoever lists a node's connections walks them all: at a hundred times a second that is
/// most of what sampling costs. Ten thousand connections in one node still have chains of ten.
const TCP_BUCKETS: &str = "1024";
/// The first number of a device of ours. Below are the loopback and what modules of tunnels, once loaded, put
/// into every new namespace: `tunl0`, `gre0`, `gretap0`, `ip6tnl0`, …
const FIRST_INDEX: u32 = 100;
/// The bridge of a switch, always its first device.
pub(super) const BRIDGE_INDEX: u32 = FIRST_INDEX;

/// Says in the supervisor's network namespace, which is the calling thread's, what those of nodes are to be like.
pub(super) fn prepare() {
    // Kernels before 6.1 have no such tables.
    if let Err(error) = Parameters::default().write(TCP_TABLE, TCP_BUCKETS) {
        tracing::debug!(%error, "nodes share the machine's table of TCP connections");
    }
}

impl Builder {
    /// Makes namespaces, on two threads: the kernel does most of this work outside its network lock.
    pub(super) fn add_nodes(&mut self, steps: &[Step]) -> Vec<StepError> {
        let inherited = self.forwarding;
        let half = steps.len().div_ceil(2).max(16);
        let results: Vec<(usize, io::Result<Node>)> = std::thread::scope(|scope| {
            let workers: Vec<_> = steps
                .chunks(half)
                .enumerate()
                .map(|(position, chunk)| {
                    scope.spawn(move || {
                        let mut parameters = Parameters::default();
                        let origin = namespace::current(Kind::Network);
                        let mut made = |(at, step): (usize, &Step)| {
                            let Step::AddNode { name, node } = step else {
                                unreachable!("a group holds steps of one kind")
                            };
                            // A namespace is made after the one its maker is in: of every node, the supervisor's.
                            let origin = origin.as_ref().map_err(|error| io::Error::from(error.kind()));
                            let made = origin
                                .and_then(|origin| namespace::enter(origin, Kind::Network))
                                .and_then(|()| make(name, node, inherited, &mut parameters));
                            (position * half + at, made)
                        };
                        chunk.iter().enumerate().map(&mut made).collect::<Vec<_>>()
                    })
                })
                .collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap_or_default()).collect()
        });
        let mut failed = Vec::new();
        for (at, result) in results {
            let step = &steps[at];
            let Step::AddNode { name, node } = step else { unreachable!("a group holds steps of one kind") };
            match result.and_then(|made| self.equip(name, made, node)) {
                Ok(node) => {
                    self.nodes.insert(name.clone(), node);
                    step.effect(&mut self.state);
                }
                Err(error) => {
                    failed.push(failure(step, &error));
                    continue;
                }
            }
            // Files that cannot be had are found out now, and not when the first program is to start.
            if !node.files.is_empty()
                && let Err(error) = self.place(name, &[])
            {
                failed.push(failure(step, &error));
            }
        }
        failed
    }

    fn equip(&mut self, name: &str, mut node: Node, state: &NodeState) -> io::Result<Node> {
        if !state.limits.is_none() {
            node.groups = self.groups.limit(name, &state.limits)?;
        }
        if state.uplink {
            // A first uplink was refused before anything was planned.
            let gate =
                self.gate.as_ref().ok_or_else(|| io::Error::other("this testbed has no gate for uplinks"))?;
            // Devices made later are numbered after it.
            let uplink = gate.lead_out(name, node.network.as_fd())?;
            node.next_index = node.next_index.max(uplink + 1);
        }
        Ok(node)
    }

    /// Has an interface speak IPv6 that was there before its first IPv6 address, and so has no link-local one.
    pub(super) fn speak_ipv6(&self, node: &str, interface: &str) -> io::Result<()> {
        let state = &self.state.nodes[node];
        let mut known = state.interfaces.get(interface).into_iter().flat_map(|known| &known.addresses);
        if known.any(|net| net.addr().is_ipv6()) {
            return Ok(());
        }
        let forwards = state.role == Role::Router;
        let network = self.known(node)?.network.clone();
        namespace::in_network(&network, || {
            let mut parameters = Parameters::default();
            prepare_ipv6(forwards, &mut parameters)?;
            // The kernel makes the address when the mode changes, to that of EUI-64 here.
            [("accept_dad", "0"), ("addr_gen_mode", "0")].into_iter().try_for_each(|(name, value)| {
                parameters
                    .write(&format!("net/ipv6/conf/{interface}/{name}"), value)
                    .doing(|| format!("turn IPv6 of {interface} on"))
            })?;
            // The file has the last word.
            sysctls(&state.sysctls, &mut parameters)
        })
    }

    /// Sets kernel parameters inside a node.
    pub(super) fn set_sysctls(&mut self, node: &str, set: &BTreeMap<String, String>) -> io::Result<()> {
        let network = self.known(node)?.network.clone();
        namespace::in_network(&network, || sysctls(set, &mut Parameters::default()))
    }

    /// Changes files that a node sees.
    pub(super) fn change_files(
        &mut self,
        node: &str,
        files: &BTreeMap<String, Option<String>>,
    ) -> io::Result<()> {
        // If nobody has looked yet, the view is made from the state when somebody does.
        self.known(node)?.view.as_ref().map_or(Ok(()), |view| view.change(files))
    }

    /// Files in a plan that only a node which nobody has looked into yet can get or lose, as `node: path`.
    pub fn fixed_files(&self, steps: &[Step]) -> Vec<String> {
        let is_rebuilt = |node: &String| {
            steps.iter().any(|step| matches!(step, Step::RemoveNode { name } if name == node))
        };
        let fixed = |step: &Step| {
            let Step::Files { node, files } = step else { return Vec::new() };
            let Some(view) = self.nodes.get(node).and_then(|known| known.view.as_ref()) else {
                return Vec::new();
            };
            let paths = files.iter().filter(|(path, text)| !view.can_change(path, text.as_deref()));
            paths.filter(|_| !is_rebuilt(node)).map(|(path, _)| format!("{node}: {path}")).collect()
        };
        steps.iter().flat_map(fixed).collect()
    }

    pub(crate) fn known(&self, node: &str) -> io::Result<&Node> {
        self.nodes.get(node).ok_or_else(|| io::Error::other(format!("there is no node `{node}`")))
    }

    /// Where programs of a node run; makes the node's view of the files at first.
    ///
    /// # Errors
    /// When there is no such node, or its view cannot be made.
    pub fn place(&mut self, node: &str, keep: &[capability::Capability]) -> io::Result<process::Place> {
        let home = self.home.clone();
        let state = self.state.nodes.get(node);
        let files = state.map(|state| state.files.clone()).unwrap_or_default();
        let processors = state.map(|state| state.processors.clone()).unwrap_or_default();
        let found = self.nodes.get_mut(node).ok_or_else(|| {
            let help = suggest(node, self.state.nodes.keys().map(String::as_str));
            io::Error::new(io::ErrorKind::NotFound, format!("there is no node `{node}`: {help}"))
        })?;
        let view = match &found.view {
            Some(view) => view.mount.clone(),
            None => {
                let view = NodeView::build(node, &found.network, &home, &files)?;
                found.view.insert(view).mount.clone()
            }
        };
        Ok(process::Place {
            network: found.network.clone(),
            uts: found.uts.clone(),
            mount: Some(view),
            capabilities: capability::mask(keep),
            ambient: !self.root,
            processors,
            folder: std::ffi::CString::new(NODE_FOLDER).expect("no NUL in a constant"),
            groups: found.groups.clone(),
        })
    }

    /// The node's own folder, as the supervisor sees it.
    pub fn folder(&self, node: &str) -> std::path::PathBuf {
        node_folder(node).join("run/node")
    }
}

/// One node's namespaces, on the calling thread, which is left inside them.
fn make(name: &str, state: &NodeState, inherited: bool, parameters: &mut Parameters) -> io::Result<Node> {
    namespace::renew(UnshareFlags::NEWNET | UnshareFlags::NEWUTS).doing(|| {
        "make a network namespace (too many open files or namespaces? see `plait doctor`)".to_owned()
    })?;
    rustix::system::sethostname(name.as_bytes())?;
    let mut node = Node {
        network: Arc::new(namespace::current(Kind::Network)?),
        uts: Arc::new(namespace::current(Kind::Uts)?),
        view: None,
        indices: HashMap::new(),
        next_index: FIRST_INDEX,
        groups: Vec::new(),
        agent: None,
        path_agent: None,
        controller: None,
    };
    let mut batch = Batch::default();
    batch.push(messages::up(messages::LOOPBACK, Up::Plain), 0);
    if state.is_bridged() {
        batch.push(messages::bridge("br0", BRIDGE_INDEX), netlink_packet_core::NLM_F_CREATE);
        batch.push(messages::no_link_local(BRIDGE_INDEX), 0);
        batch.push(messages::up(BRIDGE_INDEX, Up::Plain), 0);
        node.next_index = BRIDGE_INDEX + 1;
    }
    Netlink::open()?.send_whole(&mut batch)?;
    let forwards = state.role == Role::Router;
    if forwards != inherited {
        parameters
            .write(FORWARDING, if forwards { "1" } else { "0" })
            .doing(|| format!("turn forwarding {}", if forwards { "on" } else { "off" }))?;
    }
    let mut addresses = state.interfaces.values().flat_map(|known| &known.addresses);
    if addresses.any(|net| net.addr().is_ipv6()) {
        prepare_ipv6(forwards, parameters)?;
    }
    sysctls(&state.sysctls, parameters)?;
    Ok(node)
}

/// Has the calling thread's network namespace speak IPv6 as Plait's nodes do.
fn prepare_ipv6(forwards: bool, parameters: &mut Parameters) -> io::Result<()> {
    // Devices that come from here on have their link-local addresses at once. With detection of duplicates it takes a second, before
    // which a router asks no neighbour: what it is to send on waits, and most of that is lost.
    parameters
        .write("net/ipv6/conf/default/accept_dad", "0")
        .doing(|| "turn detection of duplicate addresses off".to_owned())?;
    if forwards {
        parameters
            .write("net/ipv6/conf/all/forwarding", "1")
            .doing(|| "turn IPv6 forwarding on".to_owned())?;
    }
    Ok(())
}

/// Sets kernel parameters of the calling thread's network namespace.
fn sysctls(set: &BTreeMap<String, String>, parameters: &mut Parameters) -> io::Result<()> {
    for (name, value) in set {
        // Interface names may hold dots, which the dotted form writes as slashes (sysctl(8)).
        let path: String = name
            .chars()
            .map(|c| match c {
                '.' => '/',
                '/' => '.',
                c => c,
            })
            .collect();
        parameters.write(&path, value).doing(|| format!("set {name} to {value}"))?;
    }
    Ok(())
}
