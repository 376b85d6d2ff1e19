//! Mounts: what of the host a node sees, and what of it may change.

use super::files::c_path;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, mount, mount_bind,
    mount_bind_recursive, move_mount, open_tree,
};
use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Makes every mount private: nothing mounted from here on is seen by the host.
pub fn make_private() -> io::Result<()> {
    Ok(rustix::mount::mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?)
}

/// Makes a mount and all below it read-only (`mount_setattr`, Linux 5.12).
pub fn read_only_recursive(path: &Path) -> io::Result<()> {
    set_attributes(path, libc::MOUNT_ATTR_RDONLY, 0, libc::AT_RECURSIVE as u32)
}

/// Makes one mount writable again; refused where the mount came from a more privileged owner.
pub fn writable(path: &Path) -> io::Result<()> {
    set_attributes(path, 0, libc::MOUNT_ATTR_RDONLY, 0)
}

fn set_attributes(path: &Path, set: u64, clear: u64, flags: u32) -> io::Result<()> {
    let path = c_path(path)?;
    let attr = libc::mount_attr { attr_set: set, attr_clr: clear, propagation: 0, userns_fd: 0 };
    // SAFETY: the path is terminated, the struct is the kernel's and its size is passed along.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            path.as_ptr(),
            flags,
            &attr,
            std::mem::size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Mounts an empty file system in memory.
pub fn tmpfs(at: &Path, mode: u32) -> io::Result<()> {
    let options = CString::new(format!("mode={mode:o}"))?;
    Ok(mount(
        c"tmpfs",
        c_path(at)?,
        c"tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        Some(options.as_c_str()),
    )?)
}

/// Mounts `/proc` of the caller's process namespace.
pub fn proc(at: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount(c"proc", c_path(at)?, c"proc", flags, None)?)
}

/// Mounts `/sys` as the caller's network namespace sees it, read-only.
pub fn sysfs(at: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
    Ok(mount(c"sysfs", c_path(at)?, c"sysfs", flags, None)?)
}

/// Mounts a terminal file system of its own.
pub fn devpts(at: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    Ok(mount(c"devpts", c_path(at)?, c"devpts", flags, Some(c"newinstance,ptmxmode=0666,mode=0620"))?)
}

/// Mounts a BPF file system of its own.
pub fn bpf(at: &Path) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    Ok(mount(c"bpf", c_path(at)?, c"bpf", flags, Some(c"mode=0700"))?)
}

/// A copy of what is mounted at a path, of a file too, that is nowhere yet.
pub fn copy(from: &Path) -> io::Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC;
    Ok(open_tree(rustix::fs::CWD, c_path(from)?, flags)?)
}

/// Mounts a [`copy`], in whatever mount namespace the calling thread is.
pub fn attach(copy: &OwnedFd, at: &Path) -> io::Result<()> {
    Ok(move_mount(copy, c"", rustix::fs::CWD, c_path(at)?, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)?)
}

/// Lays a writable folder over a read-only one. `upper` and `work` must be on the same writable file system.
pub fn overlay(at: &Path, lower: &Path, upper: &Path, work: &Path) -> io::Result<()> {
    let options = |extra: &str| {
        CString::new(format!(
            "lowerdir={},upperdir={},workdir={}{extra}",
            lower.display(),
            upper.display(),
            work.display()
        ))
    };
    let at = c_path(at)?;
    // `userxattr` is what an unprivileged owner may use, and root may too.
    let with_user = options(",userxattr")?;
    match mount(c"overlay", &*at, c"overlay", MountFlags::NODEV, Some(with_user.as_c_str())) {
        Err(rustix::io::Errno::INVAL) => {
            Ok(mount(c"overlay", &*at, c"overlay", MountFlags::NODEV, Some(options("")?.as_c_str()))?)
        }
        done => Ok(done?),
    }
}

/// Shows one file or folder at another place.
pub fn bind(from: &Path, to: &Path) -> io::Result<()> {
    Ok(mount_bind(c_path(from)?, c_path(to)?)?)
}

/// Shows a folder and all mounts below it at another place.
pub fn bind_recursive(from: &Path, to: &Path) -> io::Result<()> {
    Ok(mount_bind_recursive(c_path(from)?, c_path(to)?)?)
}

/// Shows a file or folder at its own place, read-only.
pub fn bind_read_only(path: &Path) -> io::Result<()> {
    bind_recursive(path, path)?;
    read_only_recursive(path)
}

/// Takes a mount away, at once for new users and later for those who still hold it.
pub fn detach(path: &Path) -> io::Result<()> {
    Ok(rustix::mount::unmount(c_path(path)?, UnmountFlags::DETACH)?)
}
