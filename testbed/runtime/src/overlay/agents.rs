//! Agents in nodes: started, led to what the file says, and taken away.

use super::conversation::Conversation;
use crate::agent::PAUSE;
use crate::build::Builder;
use crate::kernel::files::Doing;
use crate::plan::{OverlayState, State};
use data_encoding::HEXLOWER;
use plait_dataplane_overlay::agent::{Places, remove};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The name of a node's agent: the one that commands in the node speak to.
const AGENT: &str = "default";
/// Where keys of control planes are, for the node's agent alone.
const KEYS: &str = "/run/plait-overlay";
/// Where a node's control planes write down what they are told and do, if the testbed was started so: a path in the node.
/// It stays when the node is no member any more.
pub const RECORDING: &str = "/run/plait-overlay/control.jsonl";
/// What agents say, in the node's own folder.
const SAID: &str = "log/overlay.log";
/// How long members may take to find each other before others go on. Those that never will are no fault of the file:
/// their links may be down.
const MEETING: Duration = Duration::from_secs(10);

/// What agents are made with.
pub(crate) struct Means {
    program: Option<OwnedFd>,
    /// Keys of control planes, by overlay: in no state, no log and no answer.
    keys: BTreeMap<String, String>,
    /// Whether control planes write down what they are told and do.
    record: bool,
}

impl Means {
    pub fn new(program: Option<OwnedFd>, record: bool) -> Self {
        Self { program, keys: BTreeMap::new(), record }
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
        let key = HEXLOWER.encode(&bytes);
        self.keys.insert(overlay.to_owned(), key.clone());
        Ok(key)
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
        self.start_agents(&started)?;
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
        self.nodes.get(node).and_then(|node| node.agent).is_some_and(|pid| self.is_running(pid))
    }

    /// Whether a node has what an agent keeps, whether or not the agent lives.
    fn had_agent(&self, node: &str) -> bool {
        self.nodes.get(node).is_some_and(|node| node.agent.is_some())
    }

    /// Starts agents of nodes, and waits until they answer.
    fn start_agents(&mut self, nodes: &[&str]) -> io::Result<()> {
        let mut started = Vec::new();
        for &node in nodes {
            let recorded: &[&str] = if self.overlays.record { &["--record", RECORDING] } else { &[] };
            let words = [&["overlay", "--agent", AGENT, "agent"], recorded].concat();
            let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
            let pid = self
                .start_agent(node, &words, SAID)
                .doing(|| format!("start the overlay agent of {node}"))?;
            tracing::info!(node, pid, "overlay agent started");
            if let Some(node) = self.nodes.get_mut(node) {
                node.agent = Some(pid);
            }
            started.push((node, pid));
        }
        let ask = || Conversation::begin(&Places::of(AGENT).socket()).map(drop);
        self.wait_for_answers(&started, SAID, "overlay", ask)
    }

    /// Speaks with a node's agent, inside the node.
    fn converse<T: Send>(
        &mut self,
        node: &str,
        work: impl FnOnce(&mut Conversation) -> io::Result<T> + Send,
    ) -> io::Result<T> {
        self.inside(node, || work(&mut Conversation::begin(&Places::of(AGENT).socket())?))
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
        for overlay in wanted.keys() {
            keys.push((key_file(overlay), self.overlays.key(overlay)?));
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
            .collect();
        if changed.is_empty() {
            return Ok(false);
        }
        let is_new =
            changed.iter().any(|(overlay, of)| of.control.is_some() && !known.contains_key(*overlay));
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
        self.end_agent(pid);
        let keys = self.overlays.keys.keys().map(|overlay| key_file(overlay)).collect::<Vec<_>>();
        self.inside(node, || {
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
