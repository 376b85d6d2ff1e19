//! A network as it is written, by methods or in a file.

mod event;
mod figures;
mod key;
mod link;
mod node;
mod run;

pub use event::Event;
pub use figures::{Collect, Metric, Range};
pub use link::{Conditions, End, Lan, Link};
pub use node::Node;

use crate::checked::Checked;
use crate::error::Error;
use crate::fault::Twice;
use crate::named::read_text;
use crate::place::Place;
use crate::text::text;
use crate::written::Written;
use plait_model_topology::FILE_VERSION;
use plait_model_topology::diagnostic::Report;
use plait_model_topology::document::{Source, parse};
use serde_json::json;
use std::path::{Path, PathBuf};

/// A network, and what happens on it in a run: all that a network file can say.
///
/// Its methods are named as the keys of the file and may be called in any order. Each takes the network and
/// gives it back, so that they stand in a chain:
///
/// ```
/// use plait::Network;
///
/// let network = Network::new("line")
///     .host("a")
///     .router("r")
///     .host_with("b", |host| host.sysctl("net.ipv4.tcp_ecn", 1))
///     .link("a", "r")
///     .link_with("r", "b", |link| link.rate("10Mbit").delay("20ms").queue("50ms"));
/// # network.check().unwrap();
/// ```
///
/// and are as easily called in a loop:
///
/// ```
/// # use plait::Network;
/// let mut network = Network::new("star").switch("hub");
/// for leaf in 1..=8 {
///     network = network.host(format!("h{leaf}")).link(format!("h{leaf}"), "hub");
/// }
/// # assert_eq!(network.check().unwrap().network().nodes.len(), 9);
/// ```
///
/// Nothing is checked while it is written. [`Network::check`] checks everything at once, and so does every
/// method that makes the network real. A fault names the line of the program that wrote what is wrong:
///
/// ```text
/// error: unknown node `gat`
///  --> src/main.rs:4:68
///   |
///   | - alice-gat
///   |   ^^^^^^^^^
///   |
///   = help: did you mean `gate`?
/// ```
#[derive(Debug, Clone)]
pub struct Network {
    folder: PathBuf,
    origin: Origin,
}

#[derive(Debug, Clone)]
enum Origin {
    /// A file, byte for byte.
    Text(Source),
    /// What methods wrote.
    Draft(Draft),
}

/// What methods wrote.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    pub written: Written,
    /// Names that were given to two things.
    pub twice: Vec<Twice>,
    /// Why the text that was to be changed is none.
    pub unreadable: Option<Report>,
}

/// # Reading and writing
impl Network {
    /// An empty network of this name, which is that of its testbed.
    #[must_use]
    #[track_caller]
    pub fn new(name: impl Into<String>) -> Self {
        let mut written = Written::map();
        written.set("plait", json!(FILE_VERSION), Place::here());
        written.set("name", name.into(), Place::here());
        written.put("", written.value().clone(), Place::here());
        let draft = Draft { written, twice: Vec::new(), unreadable: None };
        Self { folder: PathBuf::new(), origin: Origin::Draft(draft) }
    }

    /// Reads a network file. Files that it names are looked for beside it.
    ///
    /// # Errors
    /// [`Error::Unreadable`]. Faults in what it says are found when it is checked.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let text = read_text(path)?;
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        Ok(Self { folder, origin: Origin::Text(Source::new(path.display().to_string(), text)) })
    }

    /// The text of a network file, under the name by which faults call it. Files that it names are looked for
    /// in the working folder, unless [`Network::folder`] says otherwise.
    #[must_use]
    pub fn parse(name: &str, text: &str) -> Self {
        Self { folder: PathBuf::new(), origin: Origin::Text(Source::new(name, text)) }
    }

    /// Says in which folder files are looked for that the network names: traces, and files of nodes.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// The network as a file, which `plait up` and `plait run` take and which a results folder keeps. One
    /// that was read is as it was, byte for byte, unless it was changed since.
    #[must_use]
    pub fn to_yaml(&self) -> String {
        match &self.origin {
            Origin::Text(source) => source.text.to_string(),
            Origin::Draft(draft) => text(draft.written.value()),
        }
    }

    /// Checks everything: names, units, addresses, what happens in a run.
    ///
    /// # Errors
    /// [`Error::Faulty`], with every fault, where it was written and how to mend it.
    pub fn check(&self) -> Result<Checked, Error> {
        match &self.origin {
            Origin::Text(source) => Checked::of_text(source.clone(), self.folder.clone()),
            Origin::Draft(draft) => Checked::of_draft(draft, self.folder.clone()),
        }
    }
}

/// # Nodes
impl Network {
    /// Adds an end system with its own network stack.
    #[must_use]
    #[track_caller]
    pub fn host(self, name: impl Into<String>) -> Self {
        self.add_node(name.into(), "host", Node::new(), Place::here())
    }

    /// Adds a host, and says more of it: `|host| host.memory("64MiB")`.
    #[must_use]
    #[track_caller]
    pub fn host_with(self, name: impl Into<String>, with: impl FnOnce(Node) -> Node) -> Self {
        self.add_node(name.into(), "host", with(Node::new()), Place::here())
    }

    /// Adds a node that forwards packets between its interfaces.
    #[must_use]
    #[track_caller]
    pub fn router(self, name: impl Into<String>) -> Self {
        self.add_node(name.into(), "router", Node::new(), Place::here())
    }

    /// Adds a router, and says more of it.
    #[must_use]
    #[track_caller]
    pub fn router_with(self, name: impl Into<String>, with: impl FnOnce(Node) -> Node) -> Self {
        self.add_node(name.into(), "router", with(Node::new()), Place::here())
    }

    /// Adds a node that joins its interfaces into one Ethernet segment.
    #[must_use]
    #[track_caller]
    pub fn switch(self, name: impl Into<String>) -> Self {
        self.add_node(name.into(), "switch", Node::new(), Place::here())
    }

    /// Adds a node of any kind, and says more of it.
    #[must_use]
    #[track_caller]
    pub fn node_with(self, name: impl Into<String>, kind: &str, with: impl FnOnce(Node) -> Node) -> Self {
        self.add_node(name.into(), kind, with(Node::new()), Place::here())
    }

    /// Names keys that nodes inherit which say `.group(name)`.
    #[must_use]
    #[track_caller]
    pub fn group(self, name: impl Into<String>, with: impl FnOnce(Node) -> Node) -> Self {
        self.add("groups", &name.into(), with(Node::new()).0, Place::here())
    }

    /// Says what every node has unless it says otherwise.
    #[must_use]
    #[track_caller]
    pub fn every_node(mut self, with: impl FnOnce(Node) -> Node) -> Self {
        self.draft().written.set_under("defaults", "node", with(Node::new()).0, Place::here());
        self
    }

    fn add_node(self, name: String, kind: &str, node: Node, place: Place) -> Self {
        let Node(keys) = node;
        if keys.value().as_object().is_none_or(|map| map.is_empty()) {
            return self.add("nodes", &name, Written::from(kind), place);
        }
        let mut node = Written::map();
        node.set("kind", kind, place.clone());
        node.lay(keys);
        self.add("nodes", &name, node, place)
    }
}

/// # Links
impl Network {
    /// Joins two nodes by a wire: `("a", "r")`. An interface may be named: `("a", ("r", "eth3"))`.
    #[must_use]
    #[track_caller]
    pub fn link(self, a: impl Into<End>, b: impl Into<End>) -> Self {
        self.add_link([a.into(), b.into()], Link::new(), Place::here())
    }

    /// Joins two nodes, and says of what the link is: `|link| link.rate("10Mbit").delay("20ms")`.
    #[must_use]
    #[track_caller]
    pub fn link_with(self, a: impl Into<End>, b: impl Into<End>, with: impl FnOnce(Link) -> Link) -> Self {
        self.add_link([a.into(), b.into()], with(Link::new()), Place::here())
    }

    /// Joins nodes into one segment in which every member hears every other.
    #[must_use]
    #[track_caller]
    pub fn lan<E: Into<End>>(self, name: impl Into<String>, members: impl IntoIterator<Item = E>) -> Self {
        let members = members.into_iter().map(|member| member.into().0).collect::<Vec<_>>();
        self.add("lans", &name.into(), members.into(), Place::here())
    }

    /// Joins nodes into one segment, and says what their ways into it are.
    #[must_use]
    #[track_caller]
    pub fn lan_with<E: Into<End>>(
        self,
        name: impl Into<String>,
        members: impl IntoIterator<Item = E>,
        with: impl FnOnce(Lan) -> Lan,
    ) -> Self {
        let members = members.into_iter().map(|member| member.into().0).collect::<Vec<_>>();
        let mut lan = Written::map();
        lan.set("members", members, Place::here());
        lan.lay(with(Lan::new()).0);
        self.add("lans", &name.into(), lan, Place::here())
    }

    /// Says what every link is unless it says otherwise.
    #[must_use]
    #[track_caller]
    pub fn every_link(mut self, with: impl FnOnce(Link) -> Link) -> Self {
        self.draft().written.set_under("defaults", "link", with(Link::new()).0, Place::here());
        self
    }

    fn add_link(mut self, [End(a), End(b)]: [End; 2], link: Link, place: Place) -> Self {
        let Link(keys) = link;
        let short = |name: &str| !name.contains(['-', ':']);
        let bare = keys.value().as_object().is_none_or(|map| map.is_empty());
        let link = match bare && short(&a) && short(&b) {
            true => Written::from(format!("{a}-{b}")),
            false => {
                let mut link = Written::map();
                link.set("endpoints", [a, b], place.clone());
                link.lay(keys);
                link
            }
        };
        self.draft().written.push("links", link, place);
        self
    }
}

/// # Addresses and routes
impl Network {
    /// Who fills the routing tables: `"static"`, which is the default, `"frr"`, `"none"`, or a map that says
    /// more.
    #[must_use]
    #[track_caller]
    pub fn routing(self, protocol: impl Into<Written>) -> Self {
        self.write("routing", protocol.into(), Place::here())
    }

    /// Takes IPv4 addresses from this prefix, or with `"off"` assigns none.
    #[must_use]
    #[track_caller]
    pub fn ipv4(mut self, pool: impl Into<Written>) -> Self {
        self.draft().written.set_under("defaults", "ipv4", pool, Place::here());
        self
    }

    /// Takes IPv6 addresses from this prefix, or with `"on"` from the usual one; none unless asked for.
    #[must_use]
    #[track_caller]
    pub fn ipv6(mut self, pool: impl Into<Written>) -> Self {
        self.draft().written.set_under("defaults", "ipv6", pool, Place::here());
        self
    }

    /// Seeds every random choice: the same network and seed meet the same fates. 1 when not said.
    #[must_use]
    #[track_caller]
    pub fn seed(self, seed: u64) -> Self {
        self.write("seed", seed.into(), Place::here())
    }
}

/// # Everything else
impl Network {
    /// Writes a section that has no method, or one that a room outside the core gives meaning to.
    #[must_use]
    #[track_caller]
    pub fn section(self, name: &str, value: impl Into<Written>) -> Self {
        self.write(name, value.into(), Place::here())
    }

    /// Puts a value at a place of the file, which a JSON pointer (RFC 6901) names. Maps on the way are made.
    ///
    /// ```
    /// # use plait::Network;
    /// # let text = "plait: 1\nnodes: {a: host, b: host}\nlinks: [{endpoints: [a, b], rate: 10Mbit}]";
    /// let faster = Network::parse("net.yaml", text).set("/links/0/rate", "20Mbit");
    /// # assert!(faster.to_yaml().contains("rate: 20Mbit"));
    /// # faster.check().unwrap();
    /// ```
    #[must_use]
    #[track_caller]
    pub fn set(mut self, pointer: &str, value: impl Into<Written>) -> Self {
        self.draft().written.put(pointer, value, Place::here());
        self
    }

    fn write(mut self, section: &str, value: Written, place: Place) -> Self {
        self.draft().written.set(section, value, place);
        self
    }

    /// Adds what has a name of its own among its likes.
    fn add(mut self, section: &str, name: &str, value: Written, place: Place) -> Self {
        let draft = self.draft();
        if let Some(first) = draft.written.place_under(section, name) {
            draft.twice.push(Twice { name: name.to_owned(), first, second: place });
            return self;
        }
        draft.written.set_under(section, name, value, place);
        self
    }

    /// What methods wrote; a text that was read becomes that.
    fn draft(&mut self) -> &mut Draft {
        if let Origin::Text(source) = &self.origin {
            let (written, unreadable) = match parse(source) {
                Ok(document) => (Written::of_document(&document, source), None),
                Err(report) => (Written::map(), Some(report)),
            };
            self.origin = Origin::Draft(Draft { written, twice: Vec::new(), unreadable });
        }
        match &mut self.origin {
            Origin::Draft(draft) => draft,
            Origin::Text(_) => unreachable!("just made a draft"),
        }
    }
}
