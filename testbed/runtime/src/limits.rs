//! Control groups for nodes that ask for limits: version 2, or version 1 where that holds the controllers.
//!
//! This is the one thing besides the control socket that appears on the host, and only when asked for: no kernel
//! removes a group by itself. A user other than root makes them in the subtree that was delegated to them. Folders are
//! called `plait-PID-START` after the supervisor, so that the next command from the same subtree removes those of the
//! dead.

mod spare;
mod subtree;

use crate::kernel::files::{Doing, write_kernel};
use crate::plan::Limits;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
pub(crate) use subtree::{Controller, subtrees};
use subtree::{Subtree, is_flat};

/// Period over which processor time is counted, in microseconds (the kernel's default).
const PERIOD: u64 = 100_000;

/// The control groups of one testbed.
pub struct Groups {
    /// Group folders as descriptors, by controller; the folder holds one group a node.
    hierarchies: Vec<Hierarchy>,
    name: String,
}

struct Hierarchy {
    subtree: Subtree,
    /// Its folder as the host mounted it: paths through it stay writable when the sandbox's are not.
    folder: OwnedFd,
    made: bool,
}

impl Groups {
    /// Finds the hierarchies. Nothing is made until a node asks for limits.
    ///
    /// Call it before the sandbox has mounts of its own: a descriptor belongs to the mount it was opened through, and
    /// those of the sandbox become read-only.
    pub fn find() -> Self {
        let open = |path: &Path| {
            let flags = rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
            rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()
        };
        let hierarchies = subtrees().into_iter().filter_map(|subtree| {
            let folder = open(&subtree.path)?;
            Some(Hierarchy { subtree, folder, made: false })
        });
        Self { hierarchies: hierarchies.collect(), name: String::new() }
    }

    /// Calls them after their supervisor.
    pub fn of(mut self, pid: i32, start_time: u64) -> Self {
        self.name = group_name(pid, start_time);
        self
    }

    /// Makes the groups of a node and sets its limits. Programs join by writing to the descriptors returned.
    ///
    /// # Errors
    /// When this host has no such controller, or the user may not use it.
    pub fn limit(&mut self, node: &str, limits: &Limits) -> io::Result<Vec<Arc<OwnedFd>>> {
        // A node that is made anew finds the group of the one before it.
        self.hierarchies.iter().for_each(|hierarchy| hierarchy.lift(&self.name, node));
        let mut joined = Vec::new();
        for controller in Controller::ALL.into_iter().filter(|controller| controller.is_wanted(limits)) {
            let Some(hierarchy) = self
                .hierarchies
                .iter_mut()
                .find(|hierarchy| hierarchy.subtree.controllers.contains(&controller))
            else {
                return Err(io::Error::other(format!(
                    "this host has no {controller} control group for you, so `limits` of {node} cannot be kept: remove them"
                )));
            };
            let group = hierarchy.group(&self.name, node)?;
            for (file, value) in settings(hierarchy.subtree.version, controller, limits) {
                write_kernel(group.join(file), &value)
                    .doing(|| format!("set {file} of {node} to {value}"))?;
            }
            let procs = fs::OpenOptions::new().write(true).open(group.join("cgroup.procs"))?;
            joined.push(Arc::new(OwnedFd::from(procs)));
        }
        Ok(joined)
    }

    /// Removes what was made.
    pub fn remove(&mut self) {
        self.remove_spare();
        self.hierarchies
            .iter_mut()
            .filter(|hierarchy| hierarchy.made)
            .for_each(|made| made.remove(&self.name));
    }
}

impl Hierarchy {
    /// The folder that holds one group a node.
    fn parent(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd())).join(name)
    }

    /// The group of a node, made with its parent.
    fn group(&mut self, name: &str, node: &str) -> io::Result<PathBuf> {
        let parent = self.parent(name);
        if !self.made {
            fs::create_dir(&parent)
                .doing(|| format!("make a control group in {}", self.subtree.path.display()))?;
            self.made = true;
            if self.subtree.version == 2 {
                let all: Vec<String> =
                    self.subtree.controllers.iter().map(|controller| format!("+{controller}")).collect();
                write_kernel(parent.join("cgroup.subtree_control"), &all.join(" "))
                    .doing(|| "hand controllers to nodes".to_owned())?;
            }
        }
        let group = parent.join(node);
        match fs::create_dir(&group) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(group),
        }
    }

    /// Lifts the limits of a node's group, if it has one. In version 1 each controller has a group of its own, which
    /// only those join who want it.
    fn lift(&self, name: &str, node: &str) {
        let group = self.parent(name).join(node);
        let files = ["memory.max", "cpu.max", "pids.max"].map(|file| group.join(file));
        for file in files.iter().filter(|file| self.subtree.version == 2 && file.exists()) {
            if let Err(error) = write_kernel(file, "max") {
                tracing::warn!(%error, file = %file.display(), "an old limit could not be lifted");
            }
        }
    }

    /// Removes the groups of all nodes. Their programs are dead by now, but the kernel may take a moment to see it.
    fn remove(&mut self, name: &str) {
        let parent = self.parent(name);
        for _ in 0..100 {
            remove(&parent);
            if !parent.exists() {
                self.made = false;
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The files of a controller, and what to write into them.
fn settings(version: u8, controller: Controller, limits: &Limits) -> Vec<(&'static str, String)> {
    let quota = |millis: u64| (millis * PERIOD / 1000).max(1000);
    match (controller, version) {
        (Controller::Memory, 2) => limits.memory.map(|bytes| vec![("memory.max", bytes.to_string())]),
        (Controller::Memory, _) => {
            limits.memory.map(|bytes| vec![("memory.limit_in_bytes", bytes.to_string())])
        }
        (Controller::Processor, 2) => {
            limits.processor_millis.map(|millis| vec![("cpu.max", format!("{} {PERIOD}", quota(millis)))])
        }
        (Controller::Processor, _) => limits.processor_millis.map(|millis| {
            vec![("cpu.cfs_period_us", PERIOD.to_string()), ("cpu.cfs_quota_us", quota(millis).to_string())]
        }),
        (Controller::Processes, _) => limits.processes.map(|count| vec![("pids.max", count.to_string())]),
    }
    .unwrap_or_default()
}

fn group_name(pid: i32, start_time: u64) -> String {
    format!("plait-{pid}-{start_time}")
}

/// Removes the groups of a dead supervisor.
pub fn clean(pid: i32, start_time: u64) {
    let name = group_name(pid, start_time);
    for subtree in subtrees() {
        spare::clean(&subtree.path, &name);
        remove(&subtree.path.join(&name));
    }
}

/// A group folder goes by `rmdir` of its groups, then itself; its files are the kernel's.
fn remove(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        let _ = fs::remove_dir(entry.path());
    }
    let _ = fs::remove_dir(parent);
}
