//! A wait: the run goes on when something is so.

use super::{Action, EventFile, PlacedKey, misplaced};
use crate::section::names::{nodes, unknown_node};
use plait_model_quantity::TimeSpan;
use plait_model_topology::Network;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::{Span, Spanned};
use plait_model_topology::network::Routing;
use plait_model_topology::vocabulary::Role;
use std::fmt;
use std::time::Duration;

/// How long a wait that says nothing of its timeout lasts at most.
pub const DEFAULT_WAIT: TimeSpan = TimeSpan::from_millis(30_000);

/// Choice: routing tables are stable when none changed for two seconds, which is longer than daemons pause between two
/// computations. With daemons it is that and the dead interval, in which they find neighbours and miss them: before
/// that tables rest because nothing was noticed yet.
pub const STABLE: TimeSpan = TimeSpan::from_millis(2_000);

const FORMS: &str = "write `port 80 open on NODE`, `udp port 53 open on NODE`, `routes stable`, or `passes` with \
    `on` and `exec`";

/// Something to wait for, and how long at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// What has to be so.
    pub condition: Condition,
    /// After this long the wait has failed.
    pub timeout: TimeSpan,
}

/// What a run can wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A program on a node takes what arrives at a port.
    ///
    /// Choice: at any of the node's addresses, `127.0.0.1` included, because the file names none.
    Port {
        /// Of which protocol.
        protocol: Protocol,
        /// The port, never 0.
        port: u16,
        /// The node.
        node: String,
    },
    /// The routing tables of all routers stay as they are.
    Routes {
        /// The routers.
        routers: Vec<String>,
        /// For so long.
        quiet: TimeSpan,
    },
    /// A command exits with 0; it is tried until it does.
    Passes {
        /// Where it runs.
        node: String,
        /// A line for the shell.
        exec: String,
    },
}

/// A protocol with ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// TCP: a port is open when a socket listens at it.
    Tcp,
    /// UDP: a port is open when a socket without a peer is bound to it.
    Udp,
}

/// As it is written: `port 80 open on server`.
impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port { protocol: Protocol::Tcp, port, node } => write!(f, "port {port} open on {node}"),
            Self::Port { protocol: Protocol::Udp, port, node } => write!(f, "udp port {port} open on {node}"),
            Self::Routes { .. } => write!(f, "routes stable"),
            Self::Passes { node, exec } => write!(f, "`{exec}` to pass on {node}"),
        }
    }
}

/// The waits that an event with `until` asks for: one, or for `passes` one a node.
pub(super) fn wait(
    event: &EventFile,
    until: &Spanned<String>,
    network: &Network,
) -> Result<Vec<Action>, Vec<Diagnostic>> {
    let words: Vec<&str> = until.split_whitespace().collect();
    let passes = words == ["passes"];
    let mut faults = misplaced("a wait", &other_keys(event));
    if !passes {
        let keys = [("on", span(&event.on)), ("exec", span(&event.exec))];
        faults.extend(misplaced("this wait", &keys));
    }
    let conditions = match words.as_slice() {
        ["passes"] => passing(event, until.span, network),
        ["routes", "stable"] => stable(until.span, network).map(|condition| vec![condition]),
        ["port", port, "open", "on", node] | ["tcp", "port", port, "open", "on", node] => {
            open(Protocol::Tcp, port, node, until.span, network).map(|condition| vec![condition])
        }
        ["udp", "port", port, "open", "on", node] => {
            open(Protocol::Udp, port, node, until.span, network).map(|condition| vec![condition])
        }
        _ => Err(vec![
            Diagnostic::new(until.span, format!("`{}` is nothing to wait for", until.value)).help(FORMS),
        ]),
    };
    let timeout = event.timeout.as_ref().map_or(DEFAULT_WAIT, |timeout| timeout.value);
    if let Some(written) = &event.timeout {
        faults.extend(too_short(written, (words == ["routes", "stable"]).then(|| quiet(network))));
    }
    match conditions {
        Ok(conditions) if faults.is_empty() => {
            Ok(conditions.into_iter().map(|condition| Action::Wait(Wait { condition, timeout })).collect())
        }
        Ok(_) => Err(faults),
        Err(more) => Err(faults.into_iter().chain(more).collect()),
    }
}

fn open(
    protocol: Protocol,
    port: &str,
    node: &str,
    span: Span,
    network: &Network,
) -> Result<Condition, Vec<Diagnostic>> {
    let port = port.parse().ok().filter(|port| *port != 0).ok_or_else(|| {
        Diagnostic::new(span, format!("`{port}` is no port")).help("write a number from 1 to 65535")
    });
    match (port, unknown_node(&Spanned::new(node, span), network)) {
        (Ok(port), None) => Ok(Condition::Port { protocol, port, node: node.to_owned() }),
        (port, node) => Err(port.err().into_iter().chain(node).collect()),
    }
}

fn stable(span: Span, network: &Network) -> Result<Condition, Vec<Diagnostic>> {
    let routers = network.nodes.iter().filter(|node| node.role == Role::Router);
    let routers: Vec<String> = routers.map(|node| node.name.clone()).collect();
    if routers.is_empty() {
        return Err(vec![
            Diagnostic::new(span, "this network has no router whose routes could change")
                .help("remove this wait, or make a node a router: `kind: router`"),
        ]);
    }
    Ok(Condition::Routes { routers, quiet: quiet(network) })
}

/// How long routes must not change.
fn quiet(network: &Network) -> TimeSpan {
    match &network.routing {
        Routing::Frr(frr) => TimeSpan::from(Duration::from(STABLE).saturating_add(Duration::from(frr.dead))),
        Routing::Static | Routing::None => STABLE,
    }
}

fn passing(event: &EventFile, until: Span, network: &Network) -> Result<Vec<Condition>, Vec<Diagnostic>> {
    let (Some(on), Some(exec)) = (&event.on, &event.exec) else {
        let missing = if event.on.is_none() { "on" } else { "exec" };
        return Err(vec![
            Diagnostic::new(until, format!("`{missing}` is missing: what should pass, and where?"))
                .help("write `{until: passes, on: a, exec: 'ping -c 1 -W 1 b'}`"),
        ]);
    };
    let nodes = nodes(on, network);
    match (super::unusable_line(exec), nodes) {
        (None, Ok(nodes)) => {
            Ok(nodes.into_iter().map(|node| Condition::Passes { node, exec: exec.value.clone() }).collect())
        }
        (fault, nodes) => Err(fault.into_iter().chain(nodes.err().into_iter().flatten()).collect()),
    }
}

fn too_short(timeout: &Spanned<TimeSpan>, quiet: Option<TimeSpan>) -> Option<Diagnostic> {
    if timeout.value == TimeSpan::ZERO {
        let fault = Diagnostic::new(timeout.span, "a wait of no time always fails");
        return Some(fault.help(format!("write `timeout: 10s`, or nothing for {DEFAULT_WAIT}")));
    }
    let quiet = quiet.filter(|quiet| timeout.value <= *quiet)?;
    let fault =
        Diagnostic::new(timeout.span, format!("here routes are stable after {quiet} without a change"));
    Some(fault.help("write a longer timeout, such as `60s`"))
}

fn span<T>(key: &Option<Spanned<T>>) -> Option<Span> {
    key.as_ref().map(|value| value.span)
}

/// Keys that no wait has.
fn other_keys(event: &EventFile) -> [PlacedKey; 9] {
    [
        ("name", span(&event.name)),
        ("expect", span(&event.expect)),
        ("background", span(&event.background)),
        ("link", span(&event.link)),
        ("direction", span(&event.direction)),
        ("set", span(&event.set)),
        ("node", span(&event.node)),
        ("fail", span(&event.fail)),
        ("recover", span(&event.recover)),
    ]
}
