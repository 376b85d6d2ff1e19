//! Agents in nodes: started, led to what the file says, and taken away.

use super::conversation::Conversation;
use super::program;
use crate::build::{Builder, environment};
use crate::kernel::files::Doing;
use crate::kernel::namespace::{self, Kind};
use crate::kernel::parameter::Parameters;
use crate::kernel::process::{Place, kill_group, start};
use crate::kernel::{capability, mount};
use crate::plan::{OverlayState, State};
use plait_dataplane_overlay::agent::{Places, remove};
use rustix::process::Signal;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The name of a node's agent: the one that commands in the node speak to.
const AGENT: &str = "default";
/// Where agents pin what outlives them.
const PINS: &str = "/sys/fs/bpf";
/// Where keys of control planes are, for the node's agent alone.
const KEYS: &str = "/run/plait-overlay";
/// There once a node's BPF file system is.
const KEPT: &str = "/run/plait-overlay/pins";
/// What agents say, in the node's own folder.
const SAID: &str = "log/overlay.log";
/// How long an agent may take to answer, and how much longer for each that is started with it.
const PATIENCE: Duration = Duration::from_secs(20);
const EACH: Duration = Duration::from_millis(500);
/// How long members may take to find each other before others go on. Those that never will are no fault of the file:
/// their links may be down.
const MEETING: Duration = Duration::from_secs(10);
/// From one look to the next.
const PAUSE: Duration = Duration::from_millis(5);

/// What agents are made with.
pub(crate) struct Means {
    program: Option<OwnedFd>,
    /// Keys of control planes, by overlay: in no state, no log and no answer.
    keys: BTreeMap<String, String>,
}

impl Means {
    pub fn new(program: Option<OwnedFd>) -> Self {
        Self { program, keys: BTreeMap::new() }
    }

    /// The program that agents and controllers are.
    ///
    /// # Errors
    /// That there is none.
    pub fn program(&self) -> io::Result<&OwnedFd> {
        self.program.as_ref().ok_or_else(|| {
            io::Error::other(
                "agents of overlays and controllers are the program `plait`, and this testbed was started by another, or \
                 by one that is no longer where it was: start it by `plait`",
            )
        })
    }

    /// The key of an overlay, made when it is first needed.
    fn key(&mut self, overlay: &str) -> io::Result<String> {
        if let Some(key) = self.keys.get(overlay) {
            return Ok(key.clone());
        }
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let key: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.keys.insert(overlay.to_owned(), key.clone());
        Ok(key)
    }
}

/// A node's mount and network namespaces.
struct Inside<'a> {
    mount: &'a OwnedFd,
    network: &'a OwnedFd,
}

impl Inside<'_> {
    fn run<T: Send>(&self, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        namespace::on_thread(|| {
            namespace::own_files()?;
            namespace::enter(self.mount, Kind::Mount)?;
            namespace::enter(self.network, Kind::Network)?;
            work()
        })
    }
}

impl Builder {
    /// Leads nodes to what they shall be to overlays.
    ///
    /// # Errors
    /// The node whose agent did not start or refused something, with its words.
    pub(crate) fn overlays(&mut self, members: &[(&str, &BTreeMap<String, OverlayState>)]) -> io::Result<()> {
        // Whom the agent of each node is told from.
        let mut known = BTreeMap::new();
        let mut started = Vec::new();
        for (node, wanted) in members {
            let before = self.state.nodes.get(*node).map(|node| node.overlays.clone()).unwrap_or_default();
            // An agent that died left everything for its successor.
            let goes_on = self.had_agent(node) && can_go_on(&before, wanted);
            if !goes_on {
                self.remove_agent(node).doing(|| format!("stop the overlay agent of {node}"))?;
                // What is taken away is no more, even where the rest fails.
                if let Some(state) = self.state.nodes.get_mut(*node) {
                    state.overlays.clear();
                }
            }
            if !wanted.is_empty() && !self.has_agent(node) {
                started.push(*node);
            }
            known.insert(*node, if goes_on { before } else { BTreeMap::new() });
        }
        for node in &started {
            self.start_agent(node).doing(|| format!("start the overlay agent of {node}"))?;
        }
        self.wait_for_agents(&started)?;
        for (node, wanted) in members {
            self.lead(node, &known[node], wanted).doing(|| format!("overlays of {node}"))?;
        }
        // Only when all listen, so that nobody's first words are lost.
        let mut met = false;
        for (node, wanted) in members {
            met |= self.drive(node, &known[node], wanted).doing(|| format!("overlays of {node}"))?;
        }
        if met {
            self.wait_for_meetings(members);
        }
        Ok(())
    }

    /// Whether a node's agent lives.
    fn has_agent(&self, node: &str) -> bool {
        let agent = self.nodes.get(node).and_then(|node| node.agent);
        agent.is_some_and(|pid| self.children.wait(pid, Duration::ZERO).is_none() && is_alive(pid))
    }

    /// Whether a node has what an agent keeps, whether or not the agent lives.
    fn had_agent(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|node| node.agent.is_some())
    }

    /// A node's place, with what agents keep, and its namespaces.
    fn agent_place(&mut self, node: &str) -> io::Result<Place> {
        self.place(node, &[capability::NODE, capability::AGENT_MORE].concat())
    }

    fn start_agent(&mut self, node: &str) -> io::Result<()> {
        let program = self.overlays.program()?;
        let folder = program::folder(program)?;
        let place = self.agent_place(node)?;
        let view = place.mount.clone().expect("a place has a view");
        let shown = program::copy()?;
        let inside = Inside { mount: &view, network: &place.network };
        inside.run(|| {
            // Each once in a node's view; a controller may have had the program shown before.
            if !fs::exists(KEPT)? {
                mount::bpf(Path::new(PINS)).doing(|| format!("mount {PINS}"))?;
                fs::create_dir_all(KEPT)?;
            }
            program::show(&shown)?;
            // Without it the kernel itself would speak on the overlay's devices.
            if let Err(error) = Parameters::default().write("net/ipv6/conf/default/addr_gen_mode", "1") {
                tracing::debug!(%error, "devices of overlays have link-local addresses");
            }
            Ok(())
        })?;
        let said = File::options().create(true).append(true).open(self.folder(node).join(SAID))?;
        let mut command = Command::new(program::path(&folder));
        command.arg0("plait");
        command.args(["overlay", "--agent", AGENT, "agent"]).env_clear().envs(environment(node, &self.name));
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        let pid = self.children.start(|| Ok(start(&mut command, place, false)?.id() as i32))?;
        tracing::info!(node, pid, "overlay agent started");
        if let Some(node) = self.nodes.get_mut(node) {
            node.agent = Some(pid);
        }
        Ok(())
    }

    fn wait_for_agents(&mut self, nodes: &[&str]) -> io::Result<()> {
        let begun = Instant::now();
        let patience = PATIENCE + EACH * nodes.len() as u32;
        for node in nodes {
            loop {
                let tried = self.converse(node, |_| Ok(()));
                let Err(error) = tried else { break };
                if !self.has_agent(node) || begun.elapsed() > patience {
                    let said = fs::read_to_string(self.folder(node).join(SAID)).unwrap_or_default();
                    let last = said.lines().last().map_or(error.to_string(), str::to_owned);
                    return Err(io::Error::other(format!(
                        "the overlay agent of {node} did not start: {last}"
                    )));
                }
                std::thread::sleep(PAUSE);
            }
        }
        Ok(())
    }

    /// Speaks with a node's agent, inside the node.
    fn converse<T: Send>(
        &mut self,
        node: &str,
        work: impl FnOnce(&mut Conversation) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let place = self.agent_place(node)?;
        let view = place.mount.clone().expect("a place has a view");
        let inside = Inside { mount: &view, network: &place.network };
        inside.run(|| work(&mut Conversation::begin(&Places::of(AGENT).socket())?))
    }

    /// Tells an agent all but who decides routes.
    fn lead(
        &mut self,
        node: &str,
        known: &BTreeMap<String, OverlayState>,
        wanted: &BTreeMap<String, OverlayState>,
    ) -> io::Result<()> {
        if wanted.is_empty() {
            return Ok(());
        }
        let mut keys = Vec::new();
        for (overlay, of) in wanted {
            if of.control.is_some() {
                keys.push((key_file(overlay), self.overlays.key(overlay)?));
            }
        }
        self.converse(node, |conversation| {
            keys.iter().try_for_each(|(path, key)| {
                write_key(path, key).doing(|| format!("write {}", path.display()))
            })?;
            wanted.iter().try_for_each(|(overlay, of)| {
                conversation.lead(node, known.get(overlay), of).doing(|| format!("overlay {overlay}"))
            })
        })
    }

    /// Tells an agent who decides routes, and whether there is anybody new to be met.
    fn drive(
        &mut self,
        node: &str,
        known: &BTreeMap<String, OverlayState>,
        wanted: &BTreeMap<String, OverlayState>,
    ) -> io::Result<bool> {
        let changed: Vec<_> = wanted
            .iter()
            .filter(|(overlay, of)| known.get(*overlay).is_none_or(|before| before.control != of.control))
            .filter(|(_, of)| of.control.is_some())
            .collect();
        if changed.is_empty() {
            return Ok(false);
        }
        let is_new = changed.iter().any(|(overlay, _)| !known.contains_key(*overlay));
        self.converse(node, |conversation| {
            changed.iter().try_for_each(|(overlay, of)| {
                conversation.drive(of, &key_file(overlay)).doing(|| format!("overlay {overlay}"))
            })
        })?;
        Ok(is_new)
    }

    /// Waits until members of overlays with control planes know ways to all others.
    fn wait_for_meetings(&mut self, members: &[(&str, &BTreeMap<String, OverlayState>)]) {
        let mut state = self.state.clone();
        for (node, overlays) in members {
            if let Some(node) = state.nodes.get_mut(*node) {
                node.overlays = (*overlays).clone();
            }
        }
        let begun = Instant::now();
        for (node, overlays) in members {
            for (overlay, of) in overlays.iter().filter(|(_, of)| of.control.is_some()) {
                let others = all_ids(&state, overlay).into_iter().filter(|id| *id != of.id).collect();
                while !self.converse(node, |asked| asked.knows(of, &others)).unwrap_or(false) {
                    if begun.elapsed() > MEETING {
                        tracing::warn!(node, overlay, "the members of an overlay have not all met yet");
                        return;
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
        tracing::info!(took_ms = begun.elapsed().as_millis() as u64, "the members of overlays have met");
    }

    /// Ends a node's agent, and takes away all that it made.
    fn remove_agent(&mut self, node: &str) -> io::Result<()> {
        let Some(pid) = self.nodes.get_mut(node).and_then(|node| node.agent.take()) else { return Ok(()) };
        kill_group(pid, Signal::KILL);
        let begun = Instant::now();
        while is_alive(pid) && begun.elapsed() < PATIENCE {
            self.children.wait(pid, PAUSE);
        }
        let place = self.agent_place(node)?;
        let view = place.mount.clone().expect("a place has a view");
        let keys = self.overlays.keys.keys().map(|overlay| key_file(overlay)).collect::<Vec<_>>();
        Inside { mount: &view, network: &place.network }.run(|| {
            keys.iter().for_each(|key| drop(fs::remove_file(key)));
            remove(&Places::of(AGENT)).map_err(io::Error::other)
        })
    }
}

/// Whether an agent can be led from what it was told to what it shall be told, without an end.
fn can_go_on(before: &BTreeMap<String, OverlayState>, wanted: &BTreeMap<String, OverlayState>) -> bool {
    let same = |(overlay, before): (&String, &OverlayState)| {
        wanted.get(overlay).is_some_and(|of| {
            let is_driven = before.control.is_some() == of.control.is_some();
            is_driven
                && (before.application, before.id) == (of.application, of.id)
                && before.config == of.config
        })
    };
    !wanted.is_empty() && before.iter().all(same)
}

fn all_ids(state: &State, overlay: &str) -> BTreeSet<plait_model_overlay::NodeId> {
    state.nodes.values().filter_map(|node| Some(node.overlays.get(overlay)?.id)).collect()
}

fn is_alive(pid: RawFd) -> bool {
    crate::kernel::process::start_time(pid).is_some()
}

fn key_file(overlay: &str) -> PathBuf {
    Path::new(KEYS).join(format!("{overlay}.key"))
}

/// Writes a key that its owner alone may read. What is in its place is not followed.
fn write_key(path: &Path, key: &str) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        fs::remove_file(path)?;
    }
    File::options().create_new(true).write(true).mode(0o600).open(path)?.write_all(key.as_bytes())
}
