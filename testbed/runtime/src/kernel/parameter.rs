//! Kernel parameters (`/proc/sys`) of many network namespaces.

use super::files::write_kernel;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::write;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};
use std::io;
use std::os::fd::OwnedFd;

/// Writes parameters of the network namespace that the calling thread is in.
///
/// A mounted `/proc` keeps what was looked up below `sys/net` in each namespace under the same names, and compares
/// them one by one: with thousands of namespaces that takes longer than all else about a node. So a mount that nobody
/// else sees is used for a while and then replaced, where the kernel gives one (root only).
#[derive(Default)]
pub struct Parameters {
    proc: Option<OwnedFd>,
    writes: usize,
}

/// Writes a mount serves for.
const LIFE: usize = 64;

impl Parameters {
    /// Sets a parameter, named by its path below `/proc/sys`.
    ///
    /// # Errors
    /// When there is none of that name, or it does not take the value.
    pub fn write(&mut self, path: &str, value: &str) -> io::Result<()> {
        // What is not the namespace's own stays behind the sandbox's read-only mount.
        let own = path.starts_with("net/") && !path.split('/').any(|part| part == "..");
        if own && self.writes.is_multiple_of(LIFE) {
            self.proc = mount().ok();
        }
        match &self.proc {
            Some(proc) if own => {
                self.writes += 1;
                let flags = OFlags::WRONLY | OFlags::CLOEXEC;
                let file = openat(proc, format!("sys/{path}"), flags, Mode::empty())?;
                write(file, value.as_bytes())?;
                Ok(())
            }
            _ => write_kernel(format!("/proc/sys/{path}"), value),
        }
    }
}

fn mount() -> io::Result<OwnedFd> {
    let proc = fsopen(c"proc", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&proc)?;
    let flags = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(fsmount(&proc, FsMountFlags::FSMOUNT_CLOEXEC, flags)?)
}
