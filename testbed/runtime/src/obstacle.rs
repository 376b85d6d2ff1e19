//! What this machine lacks for a network: found before anything is built, and said with the line that asks for it.
//!
//! How a link is made does not depend on the machine, so this stands beside the plan: `plait plan` shows what would be
//! built where the kernel can, and refuses only what is kept from the user ([`prohibitions`]).

use crate::kernel::capability::{self, Capability};
use crate::limits::{Controller, subtrees};
use crate::plan::{NodeState, Realisation, State, auxiliary};
use crate::sandbox::{cannot_hold, home};
use crate::section::OPENFLOW_SWITCH;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::Span;
use plait_model_topology::network::{Link, Network, Node};
use std::path::Path;

/// Whether a thing works here: what was seen, or why not.
pub type Trial<'a> = &'a dyn Fn() -> Result<String, String>;

/// Why the state that realises a network cannot be built here. Where the kernel shall impair packets, `netem` says
/// whether it can: [`crate::doctor::netem_works`], or what somebody says who may try that.
pub fn obstacles(network: &Network, state: &State, netem: Trial<'_>) -> Vec<Diagnostic> {
    let nodes = || network.nodes.iter().filter_map(|node| Some((node, state.nodes.get(&node.name)?)));
    let mut found = emulation(network, state, netem);
    found.extend(prohibitions(network, state));
    found.extend(nodes().filter_map(|(node, _)| switches(node)));
    found.extend(nodes().filter_map(|(node, wanted)| limits(node, wanted)));
    found.extend(nodes().flat_map(|(node, wanted)| processors(node, wanted)));
    found.extend(nodes().flat_map(|(node, wanted)| congestion_control(node, wanted)));
    found.extend(nodes().flat_map(|(node, _)| files(node)));
    found
}

/// What the kernel never lets this user have, whatever it can: `plait plan` refuses it, too.
pub fn prohibitions(network: &Network, state: &State) -> Vec<Diagnostic> {
    programs(network, state).into_iter().collect()
}

/// Links whose delay or loss the kernel shall make.
fn emulation(network: &Network, state: &State, netem: Trial<'_>) -> Vec<Diagnostic> {
    let emulated: Vec<_> = network.links.iter().filter(|link| wants_netem(state, &link.name)).collect();
    if emulated.is_empty() {
        return Vec::new();
    }
    let Err(why) = netem() else { return Vec::new() };
    let fault = |link: &&Link| {
        let span = link.extra.get("via").map_or(link.span, |via| via.span());
        Diagnostic::new(span, "the kernel can shape a link's rate here and nothing else")
            .note(span, format!("netem (sch_netem) was {why}"))
            .help("remove `via: kernel`, and the link engine does it; or load the module")
    };
    emulated.iter().map(fault).collect()
}

/// Whether the kernel shall do more on a link than shape its rate.
fn wants_netem(state: &State, name: &str) -> bool {
    state.nodes.contains_key(&auxiliary(name))
        || state.links.get(name).is_some_and(|link| {
            let shaped = link.conditions.iter().filter(|conditions| !conditions.is_unimpaired());
            link.realisation == Realisation::Kernel
                && shaped.into_iter().any(|conditions| !conditions.is_rate_only())
        })
}

/// Sections whose agents could load no eBPF program.
fn programs(network: &Network, state: &State) -> Option<Diagnostic> {
    let has = |of: fn(&NodeState) -> bool| state.nodes.values().any(of);
    let key = match () {
        () if has(|node| !node.overlays.is_empty()) => "overlays",
        () if has(|node| node.paths.is_some()) => "paths",
        () => return None,
    };
    let (why, remedy) = cannot_load_programs()?;
    let entry = network.sections.entries.iter().find(|entry| entry.key == key);
    let span = entry.map_or(network.sections.span, |entry| entry.key_span);
    let message = format!("{key} need eBPF, and {why}");
    Some(Diagnostic::new(span, message).help(format!("{remedy}, or remove `{key}`")))
}

/// Why this user's agents could not load eBPF programs, and what to do about it.
fn cannot_load_programs() -> Option<(String, &'static str)> {
    const BECOME_ROOT: &str = "build this testbed as root of the host";
    const NEWER: &str = "use a newer kernel";
    // A user's testbed lives in a user namespace, whose capabilities the kernel does not count for eBPF.
    if !rustix::process::geteuid().is_root() {
        return Some(("testbeds of users get none".to_owned(), BECOME_ROOT));
    }
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if map.split_whitespace().ne(["0", "0", "4294967295"]) {
        return Some(("in a user namespace there is none, not even for root".to_owned(), BECOME_ROOT));
    }
    let needed = [
        (Capability::NetAdmin, "CAP_NET_ADMIN"),
        (Capability::SysAdmin, "CAP_SYS_ADMIN"),
        (Capability::Perfmon, "CAP_PERFMON"),
        (Capability::Bpf, "CAP_BPF"),
    ];
    let held = capability::effective();
    if let Some((_, name)) = needed.iter().find(|(needed, _)| held & capability::mask(&[*needed]) == 0) {
        return Some((format!("this root lacks {name}"), BECOME_ROOT));
    }
    let (version, kernel) = plait_dataplane_overlay::needs::kernel();
    // Debian 12's. From 6.6 programs are on devices by TCX, before by clsact, as agents find out.
    if version < (6, 1) {
        return Some((format!("Linux {kernel} is older than 6.1"), NEWER));
    }
    if !Path::new("/sys/fs/bpf").is_dir() {
        return Some(("this kernel has no BPF file system".to_owned(), NEWER));
    }
    None
}

/// OpenFlow switches without the program that they are, or without the device it needs.
fn switches(node: &Node) -> Option<Diagnostic> {
    if node.kind != OPENFLOW_SWITCH {
        return None;
    }
    let missing = crate::openflow::missing_program()?;
    let what = format!("`{}` needs Open vSwitch, and {missing} is not there", node.name);
    Some(
        Diagnostic::new(node.span, what)
            .help("install the distribution's `openvswitch-switch`, or use `switch`"),
    )
}

/// Limits in control groups that this user may not make.
fn limits(node: &Node, wanted: &NodeState) -> Option<Diagnostic> {
    if wanted.limits.is_none() {
        return None;
    }
    let subtrees = subtrees();
    let lacks =
        |controller: &Controller| !subtrees.iter().any(|subtree| subtree.controllers.contains(controller));
    let missing = Controller::ALL.into_iter().filter(|of| of.is_wanted(&wanted.limits)).find(lacks)?;
    let what = format!("limits need control groups, and no {missing} group is yours to make here");
    let help = if rustix::process::geteuid().is_root() {
        "remove `limits`, or mount the controller's hierarchy"
    } else {
        "remove `limits`, build this testbed as root, or have a subtree delegated: \
         `systemd-run --user --scope -p Delegate=yes plait up FILE`"
    };
    Some(Diagnostic::new(place(node, "limits"), what).help(help))
}

fn processors(node: &Node, wanted: &NodeState) -> Vec<Diagnostic> {
    // Not those that this process may use just now: a `taskset` around it says nothing of the nodes.
    let present = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let known = listed_processors(&present);
    let fault = |processor| {
        Diagnostic::new(place(node, "processors"), format!("this machine has no processor {processor}"))
            .help(format!("use one of {}", present.trim()))
    };
    let lacks = |processor: &&usize| !known.is_empty() && !known.contains(processor);
    wanted.processors.iter().filter(lacks).map(fault).collect()
}

/// The numbers in the kernel's list form: `0-3,6`.
fn listed_processors(list: &str) -> Vec<usize> {
    let ends = |part: &str| -> Option<std::ops::RangeInclusive<usize>> {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse().ok()?..=last.parse().ok()?)
    };
    list.trim().split(',').filter_map(ends).flatten().collect()
}

/// Congestion controls that are not there: a route may name each that is loaded, a node each that all may use.
fn congestion_control(node: &Node, wanted: &NodeState) -> Vec<Diagnostic> {
    const OF_NODE: &str = "net.ipv4.tcp_congestion_control";
    let of_routes = wanted.congestion_control.iter().map(|name| {
        (
            place(node, "congestion_control"),
            name,
            listed("/proc/sys/net/ipv4/tcp_available_congestion_control"),
        )
    });
    let of_node = node
        .sysctls
        .get(OF_NODE)
        .map(|value| (value.span, &value.value, listed("/proc/sys/net/ipv4/tcp_allowed_congestion_control")));
    of_routes
        .chain(of_node)
        .filter(|(_, name, present)| !present.is_empty() && !present.contains(name))
        .map(|(span, name, present)| {
            Diagnostic::new(span, format!("this kernel has no congestion control `{name}` for a node"))
                .help(suggest(name, present.iter().map(String::as_str)))
        })
        .collect()
}

/// Files where nodes of this machine can have none.
fn files(node: &Node) -> impl Iterator<Item = Diagnostic> {
    let home = home();
    node.files.iter().filter_map(move |(path, content)| {
        let why = cannot_hold(Path::new(path), &home)?;
        let help =
            "use /run, /tmp, /var, the home, or a path below a folder that this machine has at its root";
        Some(Diagnostic::new(content.span, format!("no node can have the file `{path}`: {why}")).help(help))
    })
}

fn listed(path: &str) -> Vec<String> {
    std::fs::read_to_string(path).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Where the file says so.
fn place(node: &Node, key: &str) -> Span {
    node.extra.get(key).map_or(node.span, |value| value.span())
}
