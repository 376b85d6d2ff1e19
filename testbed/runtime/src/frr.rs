//! FRR's daemons in routers: configuration, start and stop.
//!
//! Each router runs its own `zebra` and protocol daemons with sockets, configuration and logs in its own `/run`, as the
//! distribution packages them. They keep a capability that other programs in a node lose, because `zebra` refuses to
//! start without it.

use crate::build::Builder;
use crate::kernel::files::Doing;
use crate::kernel::process::{Place, start};
use crate::kernel::{capability, namespace};
use crate::plan::FrrState;
use plait_model_topology::address::Assignment;
use plait_model_topology::network::{FrrRouting, Network, NodeIndex, Port};
use plait_model_topology::vocabulary::Role;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where Debian keeps the daemons.
const PROGRAMS: &str = "/usr/lib/frr";
/// Where a router keeps what its daemons need, inside its own view.
const FOLDER: &str = "/run/frr";
/// What daemons say on their way up, in the node's own folder.
const SAID: &str = "log/frr-start.log";
/// How long a daemon may take to start. Choice: a minute, on a machine that starts many or is at work.
const PATIENCE: Duration = Duration::from_secs(60);

/// The daemons that a routing section asks for, in the order they start.
pub fn daemons(routing: &FrrRouting, ipv6: bool) -> Vec<String> {
    let mut daemons = vec!["zebra".to_owned()];
    if routing.ospf {
        daemons.push("ospfd".to_owned());
        if ipv6 {
            daemons.push("ospf6d".to_owned());
        }
    }
    if routing.bgp {
        daemons.push("bgpd".to_owned());
    }
    daemons
}

/// The configuration of one router.
pub fn config(network: &Network, assignment: &Assignment, index: NodeIndex, routing: &FrrRouting) -> String {
    let node = &network.nodes[index];
    let mut text = format!("hostname {}\nlog file {FOLDER}/frr.log\n", node.name);
    let id = assignment.all(index).find_map(|net| match net.addr() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    });
    // Choice: without IPv4 a router still needs a 32-bit ID; its number in the file is unique.
    let id = id.unwrap_or_else(|| std::net::Ipv4Addr::from(0x0100_0000 + index as u32));
    let (hello, dead) = (routing.hello.as_nanos() / 1_000_000_000, routing.dead.as_nanos() / 1_000_000_000);
    if routing.ospf {
        let paths = crate::paths::of(network);
        let is_listened_to = |port: Port| {
            paths
                .as_ref()
                .is_some_and(|paths| others(network, port).iter().any(|other| paths.listens(other.node)))
        };
        if let Some(own) = paths.as_ref().and_then(|paths| paths.relays.get(&index)) {
            // Its agent puts the address there.
            let word = if own.is_ipv4() { "ip ospf" } else { "ipv6 ospf6" };
            let _ = writeln!(text, "interface lo\n {word} area 0\n {word} passive\n!");
        }
        for (position, interface) in node.interfaces.iter().enumerate() {
            let port = Port { node: index, interface: position };
            let (cost, neighbours) = cost_and_neighbours(network, port);
            let is_listened_to = is_listened_to(port);
            let _ = writeln!(text, "interface {}", interface.name);
            let has = |v6: bool| assignment.addresses(port).iter().any(|net| net.addr().is_ipv6() == v6);
            for (word, there) in [("ip ospf", has(false)), ("ipv6 ospf6", has(true))] {
                if !there {
                    continue;
                }
                let _ = writeln!(text, " {word} area 0");
                let _ = writeln!(text, " {word} cost {cost}");
                let _ = writeln!(text, " {word} hello-interval {hello}");
                let _ = writeln!(text, " {word} dead-interval {dead}");
                // Two routers need no designated one, and skip the wait for its election (RFC 2328, 9.4).
                if neighbours == 1 || is_listened_to && crate::paths::is_point_to_point(network, port) {
                    let _ = writeln!(text, " {word} network point-to-point");
                }
                // An interface with hosts only is announced but not spoken on, unless one listens to learn paths.
                if neighbours == 0 && !is_listened_to {
                    let _ = writeln!(text, " {word} passive");
                }
            }
            // Not `exit`: daemons that do not know a block would leave their own by it.
            text.push_str("!\n");
        }
        let _ = writeln!(
            text,
            "router ospf\n ospf router-id {id}\n timers throttle spf 10 50 500\n timers throttle lsa all 100\n timers lsa min-arrival 100\n!"
        );
        if network.pools.ipv6.is_some() {
            let _ = writeln!(text, "router ospf6\n ospf6 router-id {id}\n!");
        }
    }
    if routing.bgp {
        bgp(&mut text, network, assignment, index, id, hello, dead);
    }
    text
}

/// Cost of the segment an interface is plugged into, and how many other routers are on it.
fn cost_and_neighbours(network: &Network, port: Port) -> (u32, usize) {
    use plait_model_topology::network::Attachment;
    let interface = &network.nodes[port.node].interfaces[port.interface];
    let cost = match interface.attachment {
        Attachment::Link { link, .. } => network.links[link].cost,
        Attachment::Lan { lan, .. } => network.lans[lan].cost,
    };
    (cost, neighbours(network, port).len())
}

/// Interfaces of other routers on the segment of an interface.
fn neighbours(network: &Network, port: Port) -> Vec<Port> {
    let is_router = |other: &Port| network.nodes[other.node].role == Role::Router;
    others(network, port).into_iter().filter(is_router).collect()
}

/// Interfaces of others on the segment of an interface.
fn others(network: &Network, port: Port) -> Vec<Port> {
    let segments = plait_model_topology::address::segments(network);
    segments
        .iter()
        .find(|segment| segment.ports.contains(&port))
        .map(|segment| segment.ports.iter().copied())
        .into_iter()
        .flatten()
        .filter(|other| other.node != port.node)
        .collect()
}

/// One autonomous system a router (RFC 7938's habit), announcing its connected prefixes to every router it touches.
fn bgp(
    text: &mut String,
    network: &Network,
    assignment: &Assignment,
    index: NodeIndex,
    id: std::net::Ipv4Addr,
    keepalive: u64,
    hold: u64,
) {
    // RFC 6996: private four-octet AS numbers.
    const FIRST_PRIVATE: u64 = 4_200_000_000;
    let _ = writeln!(
        text,
        "router bgp {}\n bgp router-id {id}\n no bgp ebgp-requires-policy",
        FIRST_PRIVATE + index as u64
    );
    let _ = writeln!(text, " bgp bestpath as-path multipath-relax\n timers bgp {keepalive} {}", hold.max(3));
    let mut activate = String::new();
    for position in 0..network.nodes[index].interfaces.len() {
        for other in neighbours(network, Port { node: index, interface: position }) {
            for net in assignment.addresses(other) {
                let _ = writeln!(
                    text,
                    " neighbor {} remote-as {}",
                    net.addr(),
                    FIRST_PRIVATE + other.node as u64
                );
                let _ = writeln!(text, " neighbor {} timers connect 1", net.addr());
                if net.addr().is_ipv6() {
                    let _ = writeln!(activate, "  neighbor {} activate", net.addr());
                }
            }
        }
    }
    let _ = writeln!(text, " address-family ipv4 unicast\n  redistribute connected\n exit-address-family");
    if network.pools.ipv6.is_some() {
        let _ = writeln!(
            text,
            " address-family ipv6 unicast\n  redistribute connected\n{activate} exit-address-family"
        );
    }
    text.push_str("!\n");
}

impl Builder {
    /// Leads the daemons of routers to what shall run: stops those that run, then starts afresh, one kind of daemon
    /// after the other and each kind in all routers at once.
    ///
    /// # Errors
    /// The router and daemon that did not start, with the last line of its log.
    pub(crate) fn daemons(&mut self, routers: &[(&str, Option<&FrrState>)]) -> io::Result<()> {
        let mut places = Vec::new();
        for (node, frr) in routers {
            let place = self.place(node, &[capability::NODE, capability::DAEMON_MORE].concat())?;
            let view = place.mount.clone().expect("a place has a view");
            prepare(&view, *frr).doing(|| format!("prepare the routing daemons of {node}"))?;
            places.push(place);
        }
        let longest =
            routers.iter().map(|(_, frr)| frr.map_or(0, |frr| frr.daemons.len())).max().unwrap_or(0);
        for at in 0..longest {
            let mut waiting = Vec::new();
            for ((node, frr), place) in routers.iter().zip(&places) {
                if let Some(daemon) = frr.and_then(|frr| frr.daemons.get(at)) {
                    self.start_daemon(node, daemon, place.clone())?;
                    waiting.push((node, daemon));
                }
            }
            // A daemon writes its ID when its sockets are open, and the next kind needs those of the one before.
            let started = Instant::now();
            for (node, daemon) in waiting {
                let pid_file = self.folder(node).join(format!("../frr/{daemon}.pid"));
                while !pid_file.exists() {
                    if started.elapsed() > PATIENCE {
                        return Err(self.no_start(node, daemon));
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
        Ok(())
    }

    fn start_daemon(&self, node: &str, daemon: &str, place: Place) -> io::Result<()> {
        let program = Path::new(PROGRAMS).join(daemon);
        if !program.exists() {
            return Err(io::Error::other(format!(
                "{} is not there: install the distribution's `frr`, or use `routing: static`",
                program.display()
            )));
        }
        let said = File::options().create(true).append(true).open(self.folder(node).join(SAID))?;
        let mut command = Command::new(program);
        command.args(["-d", "-f", &format!("{FOLDER}/frr.conf"), "-i", &format!("{FOLDER}/{daemon}.pid")]);
        command.args(["--vty_socket", FOLDER, "-z", &format!("{FOLDER}/zserv.api"), "-A", "127.0.0.1"]);
        command.args(["-u", "root", "-g", "root"]);
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said).env_clear();
        command.env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        self.children
            .start_unwatched(|| start(&mut command, place, false).map(drop))
            .doing(|| format!("start {daemon} on {node}"))
    }

    /// What a daemon that did not start had to say.
    fn no_start(&self, node: &str, daemon: &str) -> io::Error {
        let last = |path: PathBuf| {
            let text = std::fs::read_to_string(path).unwrap_or_default();
            text.lines().rev().find(|line| !line.contains("No such command")).map(str::to_owned)
        };
        let folder = self.folder(node);
        let said = last(folder.join(SAID)).or_else(|| last(folder.join("../frr/frr.log")));
        io::Error::other(format!(
            "{daemon} of {node} did not start: {}",
            said.as_deref().unwrap_or("it left no word")
        ))
    }
}

/// Stops what runs and writes the configuration, inside a router's view.
fn prepare(view: &OwnedFd, frr: Option<&FrrState>) -> io::Result<()> {
    namespace::on_thread(|| {
        namespace::own_files()?;
        namespace::enter(view, namespace::Kind::Mount)?;
        stop_running();
        let Some(frr) = frr else { return Ok(()) };
        std::fs::create_dir_all(FOLDER)?;
        std::fs::write(format!("{FOLDER}/frr.conf"), &frr.config)?;
        as_group_member()
    })
}

/// Stops the daemons whose process IDs the router's folder holds. Runs inside the router's view.
fn stop_running() {
    for entry in std::fs::read_dir(FOLDER).into_iter().flatten().flatten() {
        if entry.path().extension().is_none_or(|extension| extension != "pid") {
            continue;
        }
        let pid = std::fs::read_to_string(entry.path()).ok().and_then(|text| text.trim().parse().ok());
        if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        let _ = std::fs::remove_file(entry.path());
    }
}

/// Puts root, as whom the daemons run, into FRR's group, in this view only: they refuse to start outside it.
fn as_group_member() -> io::Result<()> {
    let groups = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let mut text = String::new();
    for line in groups.lines() {
        text.push_str(line);
        if line.starts_with("frrvty:") || line.starts_with("frr:") {
            text.push_str(if line.ends_with(':') { "" } else { "," });
            text.push_str("root");
        }
        text.push('\n');
    }
    let own = Path::new("/run/frr.group");
    std::fs::write(own, text)?;
    crate::kernel::mount::bind(own, Path::new("/etc/group")).doing(|| "cover /etc/group".to_owned())
}
