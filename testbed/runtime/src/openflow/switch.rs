//! Open vSwitch in nodes: started in user space, and told what it is by its own `ovs-vsctl`.
//!
//! Each switch has its own database, daemons and sockets in its own `/run/openvswitch`, where the distribution's tools look
//! for them: `plait exec s1 ovs-vsctl show` and `plait exec s1 ovs-ofctl dump-flows br0` need no word more.

use crate::build::{Builder, environment};
use crate::control::Exited;
use crate::kernel::capability;
use crate::kernel::files::Doing;
use crate::kernel::namespace::{self, Kind};
use crate::kernel::process::{Place, start};
use crate::plan::{OpenFlowState, OpenFlowSwitch};
use rustix::process::Signal;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The one bridge of a switch.
const BRIDGE: &str = "br0";
/// Where a switch keeps its database, sockets and process IDs, inside its own view.
const FOLDER: &str = "/run/openvswitch";
const DATABASE: &str = "/run/openvswitch/conf.db";
const SOCKET: &str = "/run/openvswitch/db.sock";
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";
/// What its programs say on their way up, in the node's own folder.
const SAID: &str = "log/openvswitch-start.log";
/// How long a program may take, and how much longer for each switch that is led beside.
const PATIENCE: Duration = Duration::from_secs(60);
const EACH: Duration = Duration::from_millis(500);

/// What of Open vSwitch this machine lacks.
pub(crate) fn missing_program() -> Option<&'static str> {
    let needed = [
        "/usr/sbin/ovs-vswitchd",
        "/usr/sbin/ovsdb-server",
        "/usr/bin/ovsdb-tool",
        "/usr/bin/ovs-vsctl",
        SCHEMA,
    ];
    needed.into_iter().find(|path| !Path::new(path).exists())
}

/// A node whose switch is led.
struct Led<'a> {
    node: &'a str,
    place: Place,
    wanted: &'a OpenFlowSwitch,
    /// Ports it has and shall not have.
    gone: Vec<String>,
    starts: bool,
}

impl Builder {
    /// Leads switches to what they shall be, each step in all of them at once.
    pub(super) fn lead_switches(&mut self, switches: &[(&str, &OpenFlowSwitch)]) -> io::Result<()> {
        if switches.is_empty() {
            return Ok(());
        }
        if let Some(missing) = missing_program() {
            return Err(io::Error::other(format!(
                "{missing} is not there: install the distribution's `openvswitch-switch`"
            )));
        }
        let mut all = Vec::new();
        for (node, wanted) in switches {
            let place = self.place(node, capability::NODE)?;
            let known = match self.state.nodes.get(*node).and_then(|node| node.openflow.as_ref()) {
                Some(OpenFlowState::Switch(known)) => Some(known),
                _ => None,
            };
            let gone = known.into_iter().flat_map(|known| &known.ports);
            let gone = gone.filter(|port| !wanted.ports.contains(port)).cloned().collect();
            all.push(Led { node, place, wanted, gone, starts: known.is_none() });
        }
        let fresh: Vec<&Led<'_>> = all.iter().filter(|led| led.starts).collect();
        for led in &fresh {
            prepare(&led.place).doing(|| format!("prepare the switch {}", led.node))?;
        }
        self.in_all(&fresh, "/usr/bin/ovsdb-tool", |_| {
            ["create", DATABASE, SCHEMA].map(str::to_owned).to_vec()
        })?;
        self.in_all(&fresh, "/usr/sbin/ovsdb-server", |_| {
            let mut words = daemon("ovsdb-server");
            words.extend([format!("--remote=punix:{SOCKET}"), DATABASE.to_owned()]);
            words
        })?;
        self.in_all(&fresh, "/usr/bin/ovs-vsctl", |_| ["--no-wait", "init"].map(str::to_owned).to_vec())?;
        self.in_all(&fresh, "/usr/sbin/ovs-vswitchd", |_| {
            let mut words = daemon("ovs-vswitchd");
            // The kernel's datapath belongs to the host.
            words.extend(["--disable-system".to_owned(), format!("unix:{SOCKET}")]);
            words
        })?;
        self.in_all(&all.iter().collect::<Vec<_>>(), "/usr/bin/ovs-vsctl", |led| told(led.wanted, &led.gone))
    }

    /// Runs a program in nodes, in all at once, and waits until it has ended well in each.
    fn in_all(
        &self,
        all: &[&Led<'_>],
        program: &str,
        words: impl Fn(&Led<'_>) -> Vec<String>,
    ) -> io::Result<()> {
        let mut running = Vec::new();
        for led in all {
            let said = File::options().create(true).append(true).open(self.folder(led.node).join(SAID))?;
            let mut command = Command::new(program);
            command.args(words(led)).env_clear().envs(environment(led.node, &self.name));
            command.env("OVS_RUNDIR", FOLDER).env("OVS_DBDIR", FOLDER).env("OVS_LOGDIR", FOLDER);
            command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
            let place = led.place.clone();
            let pid = self.children.start(|| Ok(start(&mut command, place, false)?.id() as i32));
            running.push((led.node, pid.doing(|| format!("start {program} on {}", led.node))?));
        }
        let begun = Instant::now();
        let patience = PATIENCE + EACH * all.len() as u32;
        for (node, pid) in running {
            let ended = self.children.wait(pid, patience.saturating_sub(begun.elapsed()));
            if !matches!(ended, Some(Exited::Code(0))) {
                let said = fs::read_to_string(self.folder(node).join(SAID)).unwrap_or_default();
                let last = said.lines().last().unwrap_or("it left no word");
                return Err(io::Error::other(format!("{program} of {node} failed: {last}")));
            }
        }
        Ok(())
    }
}

/// Stops what an earlier attempt left and makes the folder anew, inside a switch's view.
fn prepare(place: &Place) -> io::Result<()> {
    let view = place.mount.clone().expect("a place has a view");
    namespace::on_thread(|| {
        namespace::own_files()?;
        namespace::enter(&view, Kind::Mount)?;
        for entry in fs::read_dir(FOLDER).into_iter().flatten().flatten() {
            let path = entry.path();
            let pid =
                path.extension().is_some_and(|ending| ending == "pid").then(|| fs::read_to_string(&path));
            let pid = pid.and_then(Result::ok).and_then(|text| text.trim().parse().ok());
            if let Some(pid) = pid.and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, Signal::KILL);
            }
            let _ = fs::remove_file(&path);
        }
        fs::create_dir_all(FOLDER)
    })
}

/// How both daemons are started: back when they are ready, with a log beside those of others.
fn daemon(name: &str) -> Vec<String> {
    vec![
        "--detach".to_owned(),
        "--no-chdir".to_owned(),
        format!("--pidfile={FOLDER}/{name}.pid"),
        format!("--log-file={}/log/{name}.log", crate::sandbox::NODE_FOLDER),
        "-vconsole:err".to_owned(),
    ]
}

/// What `ovs-vsctl` tells a switch, in one transaction that is over when the switch has done it.
fn told(wanted: &OpenFlowSwitch, gone: &[String]) -> Vec<String> {
    let mut words: Vec<String> = vec![format!("--timeout={}", PATIENCE.as_secs())];
    let mut say = |text: String| {
        words.push("--".to_owned());
        words.extend(text.split(' ').map(str::to_owned));
    };
    say(format!("--may-exist add-br {BRIDGE}"));
    say(format!(
        "set bridge {BRIDGE} datapath_type=netdev fail-mode={} protocols={} other-config:datapath-id={:016x} \
         other-config:disable-in-band=true",
        wanted.fail, wanted.protocol, wanted.datapath
    ));
    match wanted.controller {
        // Choice: a switch looks for a controller that is away every second, not every eighth.
        Some(address) => {
            say(format!(
                "--id=@c create controller target=\"tcp:{address}\" max_backoff=1000 connection_mode=out-of-band"
            ));
            say(format!("set bridge {BRIDGE} controller=@c"));
        }
        None => say(format!("del-controller {BRIDGE}")),
    }
    for port in gone {
        say(format!("--if-exists del-port {BRIDGE} {port}"));
    }
    for (at, port) in wanted.ports.iter().enumerate() {
        say(format!("--may-exist add-port {BRIDGE} {port}"));
        say(format!("set interface {port} ofport_request={}", at + 1));
    }
    words
}
