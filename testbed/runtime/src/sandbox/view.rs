//! What a node sees of the host, and what of it may be changed.
//!
//! | path | in the sandbox | in a node |
//! |---|---|---|
//! | everything | the host's, read-only, mounts below included | same |
//! | `/proc` | of the sandbox's processes; `/proc/sys` read-only but for `net/` | same, and `net/` is the node's own |
//! | `/dev` | null, zero, full, random, urandom, tty, ptmx, pts, net/tun | same |
//! | `/run` | empty, in memory | the node's own, writable |
//! | `/tmp` | empty, in memory | the node's own, writable |
//! | `/var`, home | the host's, read-only | the host's under a writable layer of the node's own |
//! | `/sys` | the host's, read-only | as the node's network namespace sees it, read-only |
//! | `/sys/fs/bpf` | the host's, read-only | of members of overlays: the node's own, for [agents](crate::overlay) |
//! | `/etc/hosts` | all nodes, read-only | same |
//! | `/etc/resolv.conf` | empty: there is no name server unless the file gives one | same |
//!
//! This file makes the sandbox's view, and [`node_view`](super::node_view) a node's.

use crate::kernel::files::Doing;
use crate::kernel::mount;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::IpAddr;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where the sandbox keeps what it makes; in memory, and gone with it. Not `/run/plait`, which is where root's control
/// sockets are and so what nodes must not see.
pub(crate) const HOME: &str = "/run/sandbox";

/// Where programs of the host's network namespace, in which the caller still must be, hold sockets with an absolute
/// path. A read-only mount keeps nobody from connecting to one.
pub fn host_sockets() -> Vec<PathBuf> {
    let table = fs::read("/proc/net/unix").unwrap_or_default();
    // Number, count, protocol, flags, type, state, inode, path; an abstract name begins with `@`.
    String::from_utf8_lossy(&table)
        .lines()
        .filter_map(|line| (0..7).try_fold(line, |rest, _| Some(rest.trim_start().split_once(' ')?.1)))
        .filter(|path| path.starts_with('/'))
        .map(PathBuf::from)
        .collect()
}

/// Covers sockets that lie where nodes see the host's own files. One that is bound later, and a FIFO, is covered where
/// the node has files of its own (`/run`, `/tmp`, `/var`, home) and nowhere else.
pub fn cover_sockets(sockets: &[PathBuf]) {
    const NOT_THE_HOSTS: [&str; 6] = ["/run", "/tmp", "/var", "/dev", "/proc", "/sys"];
    for socket in sockets.iter().filter(|path| !NOT_THE_HOSTS.iter().any(|own| path.starts_with(own))) {
        let there = fs::symlink_metadata(socket).is_ok_and(|found| found.file_type().is_socket());
        if there && let Err(error) = mount::bind(Path::new("/dev/null"), socket) {
            tracing::warn!(%error, socket = %socket.display(), "a socket of the host could not be covered");
        }
    }
}

/// Builds the sandbox's view of the host, in the calling process's mount namespace.
///
/// # Errors
/// The mount that failed, by path.
pub fn build_host_view() -> io::Result<()> {
    mount::read_only_recursive(Path::new("/")).doing(|| "make the host's files read-only".to_owned())?;
    devices()?;
    for (path, mode) in [("/run", 0o755), ("/tmp", 0o1777)] {
        mount::tmpfs(Path::new(path), mode).doing(|| format!("mount {path}"))?;
    }
    processes()?;
    let mut folder = fs::DirBuilder::new();
    folder.recursive(true).mode(0o755).create(format!("{HOME}/nodes"))?;
    fs::write(format!("{HOME}/hosts"), "127.0.0.1 localhost\n::1 localhost\n")?;
    fs::write(format!("{HOME}/resolv.conf"), "")?;
    if !Path::new("/etc/hosts").exists() {
        // Without overlayfs the nodes know each other by address only.
        let _ = add_hosts_file();
    }
    for name in ["hosts", "resolv.conf"] {
        let target = Path::new("/etc").join(name);
        // A dangling link (systemd's resolv.conf points into /run) has nothing to cover, and shows nothing either.
        if target.exists() {
            let target = fs::canonicalize(&target)?;
            mount::bind(&Path::new(HOME).join(name), &target)
                .and_then(|()| mount::read_only_recursive(&target))
                .doing(|| format!("cover {}", target.display()))?;
        }
    }
    Ok(())
}

/// A root that was made for containers may lack the file over which the nodes' own is mounted.
fn add_hosts_file() -> io::Result<()> {
    let etc = Path::new("/etc");
    let layer = |part: &str| Path::new(HOME).join("etc").join(part);
    fs::create_dir_all(layer("work"))?;
    fs::create_dir_all(layer("upper"))?;
    fs::set_permissions(layer("upper"), fs::Permissions::from_mode(0o755))?;
    fs::write(layer("upper").join("hosts"), "")?;
    mount::overlay(etc, etc, &layer("upper"), &layer("work"))?;
    mount::read_only_recursive(etc)
}

/// Writes the names that every node finds in `/etc/hosts`.
pub fn write_hosts(hosts: &[(IpAddr, String)]) -> io::Result<()> {
    let mut text = String::from("127.0.0.1 localhost\n::1 localhost\n");
    for (address, name) in hosts {
        text.push_str(&format!("{address} {name}\n"));
    }
    rewrite(Path::new(&format!("{HOME}/hosts")), &text)
}

/// Writes a file anew in place: it is mounted over another, so that a new one would not be seen. Whoever reads meanwhile finds it at
/// no time without its first lines: it is cut behind what is new, and not emptied before.
fn rewrite(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

/// A `/dev` with the few devices that cannot harm the host.
fn devices() -> io::Result<()> {
    let dev = Path::new("/dev");
    let staging = Path::new("/tmp");
    mount::tmpfs(staging, 0o755).doing(|| "mount a staging folder".to_owned())?;
    for name in ["null", "zero", "full", "random", "urandom", "tty", "net/tun"] {
        let from = dev.join(name);
        if !from.exists() {
            continue;
        }
        let to = staging.join(name);
        fs::create_dir_all(to.parent().expect("a path below /tmp"))?;
        fs::write(&to, "")?;
        mount::bind(&from, &to).doing(|| format!("show {}", from.display()))?;
    }
    fs::create_dir(staging.join("pts"))?;
    fs::create_dir(staging.join("shm"))?;
    fs::set_permissions(staging.join("shm"), fs::Permissions::from_mode(0o1777))?;
    mount::devpts(&staging.join("pts")).doing(|| "mount /dev/pts".to_owned())?;
    std::os::unix::fs::symlink("pts/ptmx", staging.join("ptmx"))?;
    for (name, target) in [("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        let target = if name == "fd" { target.to_owned() } else { format!("/proc/self/{target}") };
        std::os::unix::fs::symlink(target, staging.join(name))?;
    }
    mount::bind_recursive(staging, dev).doing(|| "mount /dev".to_owned())?;
    mount::detach(staging)
}

/// `/proc` of this process namespace, with what reaches the host out of reach.
fn processes() -> io::Result<()> {
    let proc = Path::new("/proc");
    mount::proc(proc).doing(|| "mount /proc".to_owned())?;
    for name in ["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "mtrr"] {
        let path = proc.join(name);
        if path.exists() {
            mount::bind_read_only(&path).doing(|| format!("make {} read-only", path.display()))?;
        }
    }
    // A mount of its own under the read-only one: parameters of network namespaces, which are the nodes'.
    let staging = Path::new("/run/.proc");
    fs::create_dir(staging)?;
    mount::proc(staging).doing(|| "mount /proc".to_owned())?;
    mount::bind(&staging.join("sys/net"), &proc.join("sys/net"))
        .doing(|| "mount /proc/sys/net".to_owned())?;
    mount::detach(staging)?;
    fs::remove_dir(staging)?;
    for name in ["kcore", "keys", "timer_list", "kmsg"] {
        let path = proc.join(name);
        if path.exists() {
            mount::bind(Path::new("/dev/null"), &path).doing(|| format!("hide {}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn who_reads_a_file_that_is_written_anew_finds_its_first_lines_at_any_time() {
        let folder = tempfile::tempdir().unwrap();
        let (path, is_over) = (folder.path().join("hosts"), AtomicBool::new(false));
        let first = "127.0.0.1 localhost\n";
        let text = |names: usize| first.to_owned() + &"192.0.2.1 name\n".repeat(names);
        rewrite(&path, &text(9)).unwrap();
        std::thread::scope(|scope| {
            let reads = scope.spawn(|| {
                let mut reads = 0;
                while !is_over.load(Ordering::Relaxed) {
                    assert!(fs::read_to_string(&path).unwrap().starts_with(first));
                    reads += 1;
                }
                reads
            });
            (0..20_000).for_each(|number| rewrite(&path, &text(number % 50)).unwrap());
            is_over.store(true, Ordering::Relaxed);
            assert!(reads.join().unwrap() > 0);
        });
        assert_eq!(fs::read_to_string(&path).unwrap(), text(49));
    }
}
