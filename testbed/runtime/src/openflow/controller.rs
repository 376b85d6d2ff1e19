//! Controllers in nodes: `plait` itself, started, heard, and replaced.

use super::applications::{LIST, write};
use crate::build::{Builder, environment};
use crate::kernel::capability;
use crate::kernel::namespace::{self, Kind};
use crate::kernel::process::{kill_group, start, start_time};
use crate::overlay::program;
use crate::patience::Patience;
use crate::plan::OpenFlowController;
use rustix::process::Signal;
use std::fs::File;
use std::io;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a controller says, in the node's own folder.
const SAID: &str = "log/controller.log";
/// Where in the node's `/run` its applications are.
const APPLICATIONS: &str = "plait-controller-applications";
/// How long a controller may take to end.
const ENDING: Duration = Duration::from_secs(20);
/// From one look to the next.
const PAUSE: Duration = Duration::from_millis(5);

impl Builder {
    /// Starts a node's controller, in place of the one it has.
    pub(super) fn start_controller(&mut self, node: &str, of: &OpenFlowController) -> io::Result<()> {
        self.stop_controller(node);
        let program = self.overlays.program()?;
        let folder = program::folder(program)?;
        let place = self.place(node, capability::NODE)?;
        let view = place.mount.clone().expect("a place has a view");
        let shown = program::copy()?;
        namespace::on_thread(|| {
            namespace::own_files()?;
            namespace::enter(&view, Kind::Mount)?;
            program::show(&shown)
        })?;
        let applications = match of.applications.is_empty() {
            true => None,
            false => {
                write(&of.applications, &self.folder(node).join("..").join(APPLICATIONS))?;
                Some(Path::new("/run").join(APPLICATIONS).join(LIST))
            }
        };
        let said = File::options().create(true).append(true).open(self.folder(node).join(SAID))?;
        let mut command = Command::new(program::path(&folder));
        command.arg0("plait");
        command.args(["controller", "run", "--app", &of.app, "--listen", &of.listen.to_string()]);
        if let Some(list) = applications {
            command.arg("--applications").arg(list);
        }
        command.env_clear().envs(environment(node, &self.name));
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        let pid = self.children.start(|| Ok(start(&mut command, place, false)?.id() as i32))?;
        tracing::info!(node, pid, app = of.app, "controller started");
        if let Some(node) = self.nodes.get_mut(node) {
            node.controller = Some(pid);
        }
        Ok(())
    }

    /// Waits until controllers listen.
    pub(super) fn wait_for_controllers(&self, nodes: &[(&str, &OpenFlowController)]) -> io::Result<()> {
        for (node, of) in nodes {
            let known = self.known(node)?;
            let (network, mut patience) =
                (known.network.clone(), Patience::with(known.controller.unwrap_or(0)));
            let connect = || namespace::in_network(&*network, || TcpStream::connect(of.listen).map(drop));
            while let Err(refused) = connect() {
                if !self.has_controller(node) || !patience.lasts() {
                    let why = patience.end(&self.folder(node).join(SAID), &refused);
                    return Err(io::Error::other(format!("the controller {node} did not start: {why}")));
                }
            }
        }
        Ok(())
    }

    /// Whether a node's controller lives.
    fn has_controller(&self, node: &str) -> bool {
        let controller = self.nodes.get(node).and_then(|node| node.controller);
        controller
            .is_some_and(|pid| self.children.wait(pid, Duration::ZERO).is_none() && start_time(pid).is_some())
    }

    fn stop_controller(&mut self, node: &str) {
        let Some(pid) = self.nodes.get_mut(node).and_then(|node| node.controller.take()) else { return };
        kill_group(pid, Signal::KILL);
        let begun = Instant::now();
        while start_time(pid).is_some() && begun.elapsed() < ENDING {
            self.children.wait(pid, PAUSE);
        }
    }
}
