//! Agents in hosts and relays: started, told what the file says, and taken away.

use crate::agent::PAUSE;
use crate::build::Builder;
use crate::kernel::files::Doing;
use crate::plan::PathsState;
use ipnet::IpNet;
use plait_dataplane_paths::Client;
use plait_dataplane_paths::agent::{Places, remove};
use plait_dataplane_paths::protocol::{Reply, Request};
use std::collections::BTreeMap;
use std::io;
use std::mem::discriminant;
use std::time::{Duration, Instant};

/// The name of a node's agent: the one that commands in the node speak to.
const AGENT: &str = "default";
/// What agents say, in the node's own folder.
const SAID: &str = "log/paths.log";
/// How long hosts may take to learn the fabric before others go on. Those that never will are no fault of the file: their
/// links may be down.
const LEARNING: Duration = Duration::from_secs(20);

impl Builder {
    /// Leads nodes to what they shall do about paths.
    ///
    /// # Errors
    /// The node whose agent did not start or refused something, with its words.
    pub(crate) fn paths(&mut self, nodes: &[(&str, Option<&PathsState>)]) -> io::Result<()> {
        let mut started = Vec::new();
        for (node, wanted) in nodes {
            let before = self.state.nodes.get(*node).and_then(|node| node.paths.clone());
            let lives =
                self.nodes.get(*node).and_then(|node| node.path_agent).filter(|pid| self.is_running(*pid));
            let Some(wanted) = wanted else {
                self.remove_path_agent(node).doing(|| format!("stop the path agent of {node}"))?;
                continue;
            };
            if lives.is_some() && before.is_some_and(|before| words(&before) == words(wanted)) {
                continue;
            }
            // A successor goes on from what its predecessor left, so that no packet is stopped.
            if let Some(pid) = lives {
                self.end_agent(pid);
            }
            let pid = self
                .start_agent(node, &words(wanted), SAID)
                .doing(|| format!("start the path agent of {node}"))?;
            tracing::info!(node, pid, "path agent started");
            if let Some(node) = self.nodes.get_mut(*node) {
                node.path_agent = Some(pid);
            }
            started.push((*node, pid));
        }
        self.wait_for_answers(&started, SAID, "path", || connect().map(drop))?;
        for (node, wanted) in nodes {
            let Some(wanted) = wanted else { continue };
            let before = self.state.nodes.get(*node).and_then(|node| node.paths.clone());
            self.tell(node, before.as_ref(), wanted).doing(|| format!("paths of {node}"))?;
        }
        self.wait_for_learning(nodes);
        Ok(())
    }

    /// Tells a node's agent its lists, where they are others than before.
    fn tell(&mut self, node: &str, before: Option<&PathsState>, wanted: &PathsState) -> io::Result<()> {
        let before = before.map(said).unwrap_or_default();
        let wanted = said(wanted);
        // Whoever says lists of a prefix, or a policy alone, says it in the place of the other.
        let is_gone = |(prefix, was): &(&IpNet, &Request)| {
            !wanted.get(*prefix).is_some_and(|now| discriminant(now) == discriminant(*was))
        };
        let gone = before.iter().filter(is_gone);
        let mut requests: Vec<_> =
            gone.map(|(prefix, _)| Request::Del { prefix: *prefix, relays: None }).collect();
        let is_new = |(prefix, request): &(&IpNet, &Request)| before.get(*prefix) != Some(*request);
        requests.extend(wanted.iter().filter(is_new).map(|(_, request)| request.clone()));
        if requests.is_empty() {
            return Ok(());
        }
        self.inside(node, || {
            let mut agent = connect()?;
            for request in requests {
                let is_gone = matches!(request, Request::Del { .. });
                match agent.ask(request) {
                    // What somebody took away by hand is away already.
                    Err(error) if is_gone => tracing::debug!(%error, "not taken away"),
                    reply => drop(reply?),
                }
            }
            Ok(())
        })
    }

    /// Waits until hosts that learn the fabric know it.
    fn wait_for_learning(&mut self, nodes: &[(&str, Option<&PathsState>)]) {
        let begun = Instant::now();
        for (node, wanted) in nodes {
            let Some(learning) = wanted.and_then(|wanted| wanted.learning.as_ref()) else { continue };
            let knows = || {
                let reply = connect()?.ask(Request::Status)?;
                Ok(matches!(reply, Reply::Status(status) if status.fabric == Some(learning.fabric)))
            };
            while !self.inside(node, knows).unwrap_or(false) {
                if begun.elapsed() > LEARNING {
                    tracing::warn!(node, "a host does not know the fabric yet");
                    return;
                }
                std::thread::sleep(PAUSE * 10);
            }
        }
    }

    /// Ends a node's agent, and takes away all that it made.
    fn remove_path_agent(&mut self, node: &str) -> io::Result<()> {
        let Some(pid) = self.nodes.get_mut(node).and_then(|node| node.path_agent.take()) else {
            return Ok(());
        };
        self.end_agent(pid);
        self.inside(node, || remove(&Places::of(AGENT)).map_err(io::Error::other))
    }
}

/// What a node's agent is told, by prefix.
fn said(of: &PathsState) -> BTreeMap<IpNet, Request> {
    let lists =
        of.statics.iter().map(|(prefix, to)| (*prefix, Request::Set { prefix: *prefix, to: to.clone() }));
    let policies = of.policies.iter().map(|(prefix, policy)| (prefix, Request::Select { prefix, policy }));
    policies.chain(lists).collect()
}

fn connect() -> io::Result<Client> {
    Client::connect(&Places::of(AGENT).socket())
}

/// The words that start an agent.
fn words(wanted: &PathsState) -> Vec<String> {
    let mut words = ["paths", "--agent", AGENT, "agent"].map(str::to_owned).to_vec();
    let mut say = |option: &str, value: String| words.push(format!("--{option}={value}"));
    wanted.devices.iter().for_each(|device| say("device", device.clone()));
    say("source", wanted.source.to_string());
    say("type", wanted.encapsulation.to_string());
    say("select", wanted.policy.to_string());
    say("spread", format!("{}", wanted.spread_micros as f64 / 1e3));
    if let Some(idle) = wanted.idle_millis {
        say("idle", format!("{idle}ms"));
    }
    if let Some(relay) = wanted.relay {
        say("relay", relay.to_string());
    }
    wanted.borders.iter().for_each(|border| say("border", border.clone()));
    if let Some(learning) = &wanted.learning {
        learning.interfaces.iter().for_each(|interface| say("ospf", interface.clone()));
        say("hello", learning.hello.to_string());
        say("dead", learning.dead.to_string());
        say("k", learning.k.to_string());
        say("method", learning.method.clone());
        if learning.point_to_point {
            words.push("--point-to-point".to_owned());
        }
    }
    words
}
