//! The control group of programs that nobody waits for.
//!
//! A program gives way to those of groups beside its own, and its group to the groups beside that: so this one stands at the
//! top of the hierarchy, which is root's of the host. In a subtree that somebody else was given, such a group would weigh
//! nothing there, and the subtree all that it may against the rest of the machine.

use super::{Controller, Groups, Hierarchy, is_flat};
use crate::kernel::files::{Doing, write_kernel};
use plait_dataplane_processors::hurry;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// What such a group is called behind the testbed's own.
const SUFFIX: &str = "-spare";

/// What to do where there is none.
const REMEDY: &str = "let processors halt, by `--awake never` of `plait run` or `--try` of `plait awake`";

impl Groups {
    /// The `cgroup.procs` of a group whose programs give way to all others of this machine, made if it is not there. None
    /// where no group stands between programs, so that their scheduling class is enough.
    ///
    /// # Errors
    /// When such a group is needed, and this user may make none or this kernel has none.
    pub fn spare(&self) -> io::Result<Option<OwnedFd>> {
        let Some(hierarchy) = self.top() else {
            if is_flat() {
                return Ok(None);
            }
            return Err(io::Error::other(format!(
                "programs give way to all others in a `cpu` control group at the top of the hierarchy, which is not yours: be \
                 root of the host, or {REMEDY}"
            )));
        };
        let group = hierarchy.parent(&self.spare_name());
        let made = match fs::create_dir(&group) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(()),
        };
        let place = hierarchy.subtree.path.display();
        made.doing(|| format!("make a control group in {place} ({REMEDY} otherwise)"))?;
        write_kernel(group.join("cpu.idle"), "1").map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::new(
                error.kind(),
                format!("no control group of this kernel gives way: use Linux 5.15 or newer, or {REMEDY}"),
            ),
            kind => io::Error::new(kind, format!("let a control group in {place} give way: {error}")),
        })?;
        let procs = fs::OpenOptions::new().write(true).open(group.join("cgroup.procs"));
        Ok(Some(procs.doing(|| format!("open a control group in {place}"))?.into()))
    }

    /// Lets programs of that group die that were killed, and removes it if they were all. To die they have to run once more,
    /// for which they may wait for seconds where they give way; in the group above they do not.
    pub fn release(&self, killed: &[i32]) {
        if let Some(hierarchy) = self.top() {
            let group = hierarchy.parent(&self.spare_name());
            move_up(&group, killed.iter().map(ToString::to_string));
            let _ = fs::remove_dir(group);
        }
    }

    /// Removes the group, whose programs have all been killed.
    pub fn remove_spare(&self) {
        if let Some(hierarchy) = self.top() {
            remove(&hierarchy.parent(&self.spare_name()));
        }
    }

    /// The hierarchy in which processor time is shared out, where its top is ours.
    fn top(&self) -> Option<&Hierarchy> {
        let shares = |of: &&Hierarchy| of.subtree.controllers.contains(&Controller::Processor);
        self.hierarchies.iter().find(shares).filter(|of| is_top(&of.parent("")))
    }

    fn spare_name(&self) -> String {
        format!("{}{SUFFIX}", self.name)
    }
}

/// Removes what a dead supervisor left in a folder.
pub(super) fn clean(folder: &Path, name: &str) {
    remove(&folder.join(format!("{name}{SUFFIX}")));
}

/// Whether a folder is the top of its hierarchy. In version 2 all groups but that one have a type (cgroups(7)), in version 1
/// that one alone says who is told of empty groups.
fn is_top(folder: &Path) -> bool {
    let there = |name: &str| folder.join(name).exists();
    there("release_agent") || there("cgroup.controllers") && !there("cgroup.type")
}

fn remove(group: &PathBuf) {
    for _ in 0..100 {
        if !group.exists() {
            return;
        }
        let members = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        move_up(group, members.lines().map(str::to_owned));
        if fs::remove_dir(group).is_ok() {
            return;
        }
        sleep(Duration::from_millis(5));
    }
    tracing::warn!(group = %group.display(), "a control group could not be removed");
}

fn move_up(group: &Path, members: impl Iterator<Item = String>) {
    let Some(above) = group.parent() else { return };
    // Processes of other namespaces have the number 0, which means the writer itself.
    for member in members.filter(|member| member != "0") {
        // Who is not there any more need not move.
        let _ = write_kernel(above.join("cgroup.procs"), &member);
        if let Ok(process) = member.parse() {
            let _ = hurry(process);
        }
    }
}
