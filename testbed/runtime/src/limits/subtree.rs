//! The parts of the control group hierarchies in which this user may make groups.

use crate::plan::Limits;
use rustix::fs::{Access, access};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const ROOT: &str = "/sys/fs/cgroup";
/// What limits one kind of resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controller {
    Memory,
    Processor,
    Processes,
}

impl Controller {
    pub const ALL: [Self; 3] = [Self::Memory, Self::Processor, Self::Processes];

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processor => "cpu",
            Self::Processes => "pids",
        }
    }

    /// Whether limits need it.
    pub fn is_wanted(self, limits: &Limits) -> bool {
        match self {
            Self::Memory => limits.memory.is_some(),
            Self::Processor => limits.processor_millis.is_some(),
            Self::Processes => limits.processes.is_some(),
        }
    }
}

impl std::fmt::Display for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A folder in which control groups may be made.
pub(crate) struct Subtree {
    /// What can be limited in it.
    pub controllers: Vec<Controller>,
    /// Of the hierarchy.
    pub version: u8,
    /// The folder.
    pub path: PathBuf,
}

/// The subtrees of this user: the top of each hierarchy for root, for others the topmost folder above their own group
/// that is theirs to write (cgroups(7), "Cgroups delegation").
///
/// Choice: the topmost and not the group itself, because version 2 limits nothing in a group that has both processes
/// and groups of its own. Programs may be moved below it because they start below it.
pub(crate) fn subtrees() -> Vec<Subtree> {
    let unified = fs::read_to_string(format!("{ROOT}/cgroup.controllers")).unwrap_or_default();
    if Controller::ALL.iter().all(|controller| has(&unified, controller.name())) {
        let Some(path) = folder(Path::new(ROOT), "") else { return Vec::new() };
        let handed_on = fs::read_to_string(path.join("cgroup.subtree_control")).unwrap_or_default();
        let controllers =
            Controller::ALL.into_iter().filter(|controller| has(&handed_on, controller.name())).collect();
        return vec![Subtree { controllers, version: 2, path }];
    }
    let of = |controller: Controller| {
        let path = folder(&Path::new(ROOT).join(controller.name()), controller.name())?;
        Some(Subtree { controllers: vec![controller], version: 1, path })
    };
    Controller::ALL.into_iter().filter_map(of).collect()
}

/// The folder of a hierarchy in which this user may make groups.
fn folder(mounted: &Path, controller: &str) -> Option<PathBuf> {
    if rustix::process::geteuid().is_root() {
        return mounted.is_dir().then(|| mounted.to_owned());
    }
    let table = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own_group(&table, controller)?;
    let mut above: Vec<&Path> = Path::new(own).ancestors().collect();
    above.reverse();
    above.into_iter().map(|group| mounted.join(group.strip_prefix("/").unwrap_or(group))).find(|path| {
        access(path, Access::WRITE_OK).is_ok() && access(path.join("cgroup.procs"), Access::WRITE_OK).is_ok()
    })
}

/// The group of the hierarchy with a controller in the form of `/proc/PID/cgroup`; of version 2 when it is empty.
fn own_group<'a>(table: &'a str, controller: &str) -> Option<&'a str> {
    table.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, group) = rest.split_once(':')?;
        controllers.split(',').any(|name| name == controller).then_some(group)
    })
}

/// The namespace of control groups that a machine begins with (`PROC_CGROUP_INIT_INO` of the kernel).
const FIRST_NAMESPACE: u64 = 0xEFFF_FFFB;

/// Whether the kernel's scheduler sees all programs of this machine side by side: no groups made by hand, and none that
/// it makes itself of each session (sched(7), "The autogroup feature"). In a namespace of control groups nobody can tell.
pub(crate) fn is_flat() -> bool {
    let first = fs::metadata("/proc/self/ns/cgroup").is_ok_and(|of| of.ino() == FIRST_NAMESPACE);
    let grouped = fs::read_to_string("/proc/sys/kernel/sched_autogroup_enabled").unwrap_or_default();
    let table = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let on_top = |kind: &&str| own_group(&table, kind).is_none_or(|group| group == "/");
    first && grouped.trim() != "1" && ["cpu", ""].iter().all(on_top)
}

fn has(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::own_group;

    #[test]
    fn the_own_group_is_that_of_the_controllers_hierarchy() {
        let table = "4:memory:/a/b\n3:cpu,cpuacct:/c:d\n0::/user.slice/x.scope\n";
        assert_eq!(own_group(table, "memory"), Some("/a/b"));
        assert_eq!(own_group(table, "cpu"), Some("/c:d"));
        assert_eq!(own_group(table, ""), Some("/user.slice/x.scope"));
        assert_eq!(own_group(table, "pids"), None);
        assert_eq!(own_group("garbage", "pids"), None);
    }
}
