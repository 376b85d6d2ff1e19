//! What this machine can and cannot do, and what follows for testbeds.
//!
//! Everything is tried, not guessed from versions: in a process of its own, in namespaces of its own, so that nothing
//! is left.

use crate::kernel::{namespace, process};
use crate::limits::{Controller, Groups, subtrees};
use plait_dataplane_links::netem;
use plait_dataplane_processors::{become_real_time, is_virtual};
use plait_model_link::Conditions;
use plait_model_quantity::TimeSpan;
use rustix::thread::UnshareFlags;
use serde::Serialize;
use std::io;
use std::path::Path;

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// What.
    pub what: String,
    /// Whether it is there.
    pub there: bool,
    /// Whether nothing works without it.
    pub needed: bool,
    /// What was seen.
    pub detail: String,
    /// What follows for the user.
    pub follows: String,
}

/// What was found of a thing: what was seen, or why it is not there.
pub fn finding(
    what: &str,
    found: Result<String, String>,
    needed: bool,
    with: &str,
    without: &str,
) -> Finding {
    let there = found.is_ok();
    let detail = found.unwrap_or_else(|why| why);
    let follows = if there { with } else { without };
    Finding { what: what.to_owned(), there, needed, detail, follows: follows.to_owned() }
}

/// Looks at everything. Takes a few milliseconds.
pub fn examine() -> Vec<Finding> {
    let root = rustix::process::geteuid().is_root();
    let read =
        |path: &str| std::fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let mut findings = vec![finding(
        "kernel",
        Ok(format!("{} {}", read("/proc/sys/kernel/ostype"), read("/proc/sys/kernel/osrelease"))),
        true,
        "",
        "",
    )];
    findings.push(finding(
        "root",
        if root { Ok("yes".to_owned()) } else { Err("an ordinary user".to_owned()) },
        false,
        "real-time scheduling, limits and eBPF may be used",
        "testbeds live in a user namespace: accuracy class B, no limits without a delegated group, no eBPF",
    ));
    findings.push(finding(
        "namespaces",
        attempt(|| {
            private_network()?;
            namespace::renew(UnshareFlags::NEWNS | UnshareFlags::NEWUTS | UnshareFlags::NEWPID)
        }),
        true,
        "testbeds can be built",
        "no testbed can be built: allow user namespaces (sysctl kernel.unprivileged_userns_clone, user.max_user_namespaces), or run as root",
    ));
    findings.push(finding(
        "real-time scheduling",
        attempt(|| become_real_time(50)),
        false,
        "link engine in accuracy class A",
        "link engine in accuracy class B: give the user `rtprio 50` in /etc/security/limits.conf, or run as root",
    ));
    findings.push(finding(
        "netem",
        netem_works(),
        false,
        "`via: kernel` may delay, lose, duplicate and corrupt packets too",
        "`via: kernel` shapes rates alone; without it the link engine shapes the rest",
    ));
    let (open, _) = process::open_file_limits();
    findings.push(finding(
        "open files",
        if open >= 1024 { Ok(open.to_string()) } else { Err(open.to_string()) },
        false,
        &format!("up to about {} nodes", open.saturating_sub(100) / 3),
        "raise `ulimit -n`",
    ));
    let congestion = read("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
    findings.push(finding(
        "congestion control",
        Ok(read("/proc/sys/net/ipv4/tcp_available_congestion_control")),
        false,
        &format!("nodes may make one of these their default: {congestion}; programs may choose any (`iperf3 -C cubic`)"),
        "",
    ));
    let neighbours = read("/proc/sys/net/ipv4/neigh/default/gc_thresh3");
    findings.push(finding(
        "neighbour table",
        match neighbours.parse::<u64>() {
            Ok(most) if most < 4096 => Err(neighbours.clone()),
            Ok(_) => Ok(neighbours.clone()),
            Err(_) => Ok("unknown".to_owned()),
        },
        false,
        "one for all nodes; large enough",
        "one for all nodes of the machine: with more than about 500 busy links, raise net.ipv4.neigh.default.gc_thresh3",
    ));
    let subtrees = subtrees();
    for controller in Controller::ALL {
        let what = match controller {
            Controller::Memory => "memory limits",
            Controller::Processor => "processor limits",
            Controller::Processes => "process limits",
        };
        let found = match subtrees.iter().find(|subtree| subtree.controllers.contains(&controller)) {
            Some(subtree) => {
                Ok(format!("control group, version {}, in {}", subtree.version, subtree.path.display()))
            }
            None if root => Err("no controller".to_owned()),
            None => Err("needs root or a delegated group".to_owned()),
        };
        findings.push(finding(
            what,
            found,
            false,
            "`limits:` of nodes are kept",
            "a file that asks for it is refused",
        ));
    }
    findings.push(finding(
        "processors kept awake",
        may_keep_awake(),
        false,
        if is_virtual() {
            "a hypervisor gives away processors that halt: runs keep them awake"
        } else {
            "`plait run --awake always` keeps processors from halting; no hypervisor is here that gives them away"
        },
        "where a hypervisor gives away processors that halt, packets are late until they are back: run as root of the host",
    ));
    for (program, what, without) in [
        ("/usr/lib/frr/zebra", "FRR", "`routing: frr` is refused: install `frr`"),
        ("/usr/bin/iperf3", "iperf3", "the quickstart needs it: install `iperf3`"),
        ("/bin/ping", "ping", "install `iputils-ping`"),
    ] {
        let found =
            if Path::new(program).exists() { Ok(program.to_owned()) } else { Err("not there".to_owned()) };
        findings.push(finding(what, found, false, "", without));
    }
    findings
}

/// Whether programs of this user may give way to all others, whatever groups they are in. Leaves no group.
fn may_keep_awake() -> Result<String, String> {
    let mut groups = Groups::find().of(std::process::id() as i32, 0);
    let made = groups.spare();
    groups.remove();
    match made {
        Ok(Some(_)) => Ok("tried: a control group that gives way".to_owned()),
        Ok(None) => Ok("no control group is needed".to_owned()),
        Err(error) => Err(format!("tried: {error}")),
    }
}

/// Whether the kernel has the queueing discipline that delays and loses packets: tried in a copy of the calling
/// process, which must have one thread.
///
/// # Errors
/// Why not.
pub fn netem_works() -> Result<String, String> {
    attempt(|| {
        private_network()?;
        let delay = Conditions { delay: TimeSpan::from_millis(1), ..Conditions::default() };
        netem::attach("lo", &delay, 0)
    })
}

/// Moves the calling process into a network namespace of its own, and a user into a user namespace first.
fn private_network() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid().as_raw());
    if !user.is_root() {
        namespace::renew(UnshareFlags::NEWUSER)?;
        process::map_own_user(user.as_raw(), group, process::InsideAs::Itself)?;
    }
    namespace::renew(UnshareFlags::NEWNET)
}

/// Tries something in a copy of the calling process, which must have one thread, in a network namespace of its own.
///
/// # Errors
/// Why it does not work.
pub fn attempt_in_private(what: impl FnOnce() -> io::Result<()>) -> Result<String, String> {
    attempt(|| {
        private_network()?;
        what()
    })
}

/// Tries something in a process of its own.
fn attempt(what: impl FnOnce() -> io::Result<()>) -> Result<String, String> {
    match process::in_child(what) {
        Ok(()) => Ok("tried: works".to_owned()),
        Err(error) => Err(format!("tried: {error}")),
    }
}
