//! A control plane in a hundred lines: nodes are a chain, in the order of a file, and each sends to the next one.
//!
//! ```sh
//! chain NODES 10.0.0.2 [SOCKET]
//! ```
//!
//! The file has a line a node: its identity and its locators. When it changes, routes follow. Run one beside each agent.

use plait_dataplane_overlay::Client;
use plait_dataplane_overlay::protocol::{Reply, Request};
use plait_model_overlay::{Application, NodeId, Operation, Weight};
use std::collections::BTreeSet;
use std::error::Error;
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

const APPLICATION: Application = Application::ETHERNET;
const GROUP: NodeId = NodeId(0xe000_0001);

/// What LIB and RIB are to hold; nodes come before the routes over them.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Node(NodeId, IpAddr),
    Route(NodeId, NodeId),
}

impl Entry {
    /// What adds it, or takes it away.
    fn operation(self, is_wanted: bool) -> Operation {
        let (application, weight) = (APPLICATION, Weight::default());
        match (self, is_wanted) {
            (Self::Node(node, locator), true) => Operation::NodeAdd { application, node, locator, weight },
            (Self::Node(node, locator), false) => Operation::NodeDel { application, node, locator },
            (Self::Route(destination, next_hop), true) => {
                Operation::RouteAdd { application, destination, next_hop }
            }
            (Self::Route(destination, next_hop), false) => {
                Operation::RouteDel { application, destination, next_hop }
            }
        }
    }
}

/// A node and its locators.
type Node = (NodeId, Vec<IpAddr>);

/// The nodes of a file, in its order.
fn read(path: &Path) -> Result<Vec<Node>, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let node = words.next().ok_or("a line without an identity")?.parse()?;
        Ok((node, words.map(str::parse).collect::<Result<_, _>>()?))
    };
    text.lines().filter(|line| !line.trim().is_empty()).map(line).collect()
}

/// What a node's tables hold: its neighbours in the chain, and by which of them everybody is reached.
fn decide(nodes: &[Node], own: NodeId) -> BTreeSet<Entry> {
    let mut entries = BTreeSet::new();
    let Some(here) = nodes.iter().position(|(node, _)| *node == own) else { return entries };
    for (place, (node, locators)) in nodes.iter().enumerate().filter(|(place, _)| *place != here) {
        let (next, _) = nodes[if place < here { here - 1 } else { here + 1 }];
        entries.insert(Entry::Route(*node, next));
        if *node == next {
            entries.extend(locators.iter().map(|locator| Entry::Node(*node, *locator)));
            // A chain is a tree: whom a broadcast comes from does not get it again.
            entries.insert(Entry::Route(GROUP, *node));
        }
    }
    entries.insert(Entry::Route(GROUP, own));
    entries
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [nodes, own, socket @ ..] = words.as_slice() else { return Err("chain NODES OWN [SOCKET]".into()) };
    let (nodes, own) = (Path::new(nodes), own.parse()?);
    let socket = socket.first().map_or("/run/plait-overlay/default/agent.sock", String::as_str);
    let mut agent = Client::connect(Path::new(socket))?;
    let mut ask = |operation| match agent.ask(Request::Operation(operation))? {
        Reply::Done { .. } => Ok(()),
        other => Err(std::io::Error::other(format!("{other:?}"))),
    };
    ask(Operation::NodeIdSet { application: APPLICATION, node: own })?;
    let mut entries = BTreeSet::new();
    loop {
        // A file that is being written is read again.
        if let Ok(nodes) = read(nodes) {
            let wanted = decide(&nodes, own);
            for entry in wanted.difference(&entries) {
                ask(entry.operation(true))?;
            }
            for entry in entries.iter().rev().filter(|entry| !wanted.contains(entry)) {
                ask(entry.operation(false))?;
            }
            entries = wanted;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
}
