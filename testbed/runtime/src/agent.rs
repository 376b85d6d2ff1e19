//! Agents in nodes: `plait` itself, started where it may load eBPF programs, and spoken with from inside its node.

use crate::build::{Builder, environment};
use crate::kernel::files::Doing;
use crate::kernel::namespace::{self, Kind};
use crate::kernel::parameter::Parameters;
use crate::kernel::process::{Place, kill_group, start, start_time};
use crate::kernel::{capability, mount};
use crate::overlay::program;
use crate::patience::Patience;
use rustix::process::Signal;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Where agents pin what outlives them.
const PINS: &str = "/sys/fs/bpf";
/// There once a node has a BPF file system of its own.
const KEPT: &str = "/run/plait-overlay/pins";
/// How long an agent may take to end.
const ENDING: Duration = Duration::from_secs(20);
/// From one look to the next.
pub(crate) const PAUSE: Duration = Duration::from_millis(5);

impl Builder {
    /// A node's place, with what agents keep, and its namespaces.
    fn agent_place(&mut self, node: &str) -> io::Result<Place> {
        self.place(node, &[capability::NODE, capability::AGENT_MORE].concat())
    }

    /// Does something in a node's mount and network namespaces.
    pub(crate) fn inside<T: Send>(
        &mut self,
        node: &str,
        work: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let place = self.agent_place(node)?;
        let (view, network) = (place.mount.as_ref().expect("a place has a view"), &place.network);
        namespace::on_thread(|| {
            namespace::own_files()?;
            namespace::enter(view, Kind::Mount)?;
            namespace::enter(network, Kind::Network)?;
            work()
        })
    }

    /// Starts an agent in a node. What it says is in a file of the node's own folder.
    pub(crate) fn start_agent(&mut self, node: &str, words: &[String], said: &str) -> io::Result<i32> {
        let file = self.overlays.program()?;
        let folder = program::folder(file)?;
        let shown = program::copy()?;
        self.inside(node, || {
            // Whatever is there already may be the host's, so that it is not asked what it is.
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
        let place = self.agent_place(node)?;
        let said = File::options().create(true).append(true).open(self.folder(node).join(said))?;
        let mut command = Command::new(program::path(&folder));
        command.arg0("plait");
        command.args(words).env_clear().envs(environment(node, &self.name));
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        self.children.start(|| Ok(start(&mut command, place, false)?.id() as i32))
    }

    /// Waits until agents that were started answer.
    pub(crate) fn wait_for_answers(
        &mut self,
        agents: &[(&str, i32)],
        said: &str,
        what: &str,
        ask: impl Fn() -> io::Result<()> + Send + Sync,
    ) -> io::Result<()> {
        for (node, pid) in agents {
            let mut patience = Patience::with(*pid);
            while let Err(refused) = self.inside(node, &ask) {
                if !self.is_running(*pid) || !patience.lasts() {
                    let why = patience.end(&self.folder(node).join(said), &refused);
                    return Err(io::Error::other(format!("the {what} agent of {node} did not start: {why}")));
                }
            }
        }
        Ok(())
    }

    /// Whether an agent lives.
    pub(crate) fn is_running(&self, pid: i32) -> bool {
        self.children.wait(pid, Duration::ZERO).is_none() && is_alive(pid)
    }

    /// Ends an agent.
    pub(crate) fn end_agent(&self, pid: i32) {
        kill_group(pid, Signal::KILL);
        let begun = Instant::now();
        while is_alive(pid) && begun.elapsed() < ENDING {
            self.children.wait(pid, PAUSE);
        }
    }
}

fn is_alive(pid: i32) -> bool {
    start_time(pid).is_some()
}
