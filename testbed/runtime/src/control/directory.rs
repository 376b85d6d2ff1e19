//! Where control sockets are: one folder a user, one socket a testbed.
//!
//! A socket is called `NAME.PID.START`, with the supervisor's process ID and start time, so that anybody can tell
//! whether its owner still lives. The kernel removes everything of a dead testbed but this file; the user's next
//! command does that.

use crate::kernel::files::Doing;
use crate::kernel::process::start_time;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, unlinkat};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// A user's folder of control sockets.
#[derive(Debug)]
pub struct Directory {
    /// Where it is.
    pub path: PathBuf,
    folder: OwnedFd,
}

/// A testbed that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Its supervisor's process ID.
    pub pid: i32,
    /// Its supervisor's start time, in clock ticks since boot.
    pub start_time: u64,
    /// The socket's file name.
    pub socket: String,
}

impl Directory {
    /// The caller's folder, made when it is not there: `$XDG_RUNTIME_DIR/plait`, else `/run/plait` for root and
    /// `/tmp/plait-UID` for others. Sockets of dead supervisors are removed.
    ///
    /// # Errors
    /// When the folder cannot be made, or belongs to somebody else.
    pub fn open() -> io::Result<Self> {
        let user = rustix::process::geteuid().as_raw();
        let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_absolute()) {
            Some(dir) => PathBuf::from(dir).join("plait"),
            None if user == 0 => PathBuf::from("/run/plait"),
            None => PathBuf::from(format!("/tmp/plait-{user}")),
        };
        Self::at(path)
    }

    /// A folder at a given place.
    ///
    /// # Errors
    /// When the folder cannot be made, or belongs to somebody else.
    pub fn at(path: PathBuf) -> io::Result<Self> {
        let user = rustix::process::geteuid().as_raw();
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .doing(|| format!("make {}", path.display()))?;
        let folder =
            rustix::fs::open(&path, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
                .doing(|| format!("open {}", path.display()))?;
        let metadata = fs::symlink_metadata(&path)?;
        // In a folder that others may write, somebody could have made it first.
        if metadata.uid() != user || metadata.mode() & 0o077 != 0 {
            return Err(io::Error::other(format!(
                "{} is not a folder of yours alone: remove it, or set XDG_RUNTIME_DIR",
                path.display()
            )));
        }
        let directory = Self { path, folder };
        directory.clean()?;
        Ok(directory)
    }

    /// All living testbeds, by name.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> io::Result<Vec<Found>> {
        let mut found: Vec<Found> = self.sockets()?.into_iter().filter(alive).collect();
        found.sort_by(|a, b| a.name.cmp(&b.name).then(a.pid.cmp(&b.pid)));
        Ok(found)
    }

    fn sockets(&self) -> io::Result<Vec<Found>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let socket = entry?.file_name().to_string_lossy().into_owned();
            let mut parts = socket.rsplitn(3, '.');
            let (Some(start), Some(pid), Some(name)) = (parts.next(), parts.next(), parts.next()) else {
                continue;
            };
            let (Ok(start_time), Ok(pid)) = (start.parse(), pid.parse()) else { continue };
            found.push(Found { name: name.to_owned(), pid, start_time, socket: socket.clone() });
        }
        Ok(found)
    }

    /// Removes what dead supervisors left.
    fn clean(&self) -> io::Result<()> {
        for dead in self.sockets()?.iter().filter(|found| !alive(found)) {
            let _ = unlinkat(&self.folder, &dead.socket, AtFlags::empty());
            crate::limits::clean(dead.pid, dead.start_time);
        }
        Ok(())
    }

    /// Connects to a testbed.
    ///
    /// # Errors
    /// When its supervisor does not listen any more.
    pub fn connect(&self, found: &Found) -> io::Result<UnixStream> {
        UnixStream::connect(self.reach(&found.socket)).doing(|| format!("reach testbed `{}`", found.name))
    }

    /// Binds the socket of a testbed whose supervisor is the caller. Nobody else binds the same name meanwhile.
    ///
    /// # Errors
    /// When a testbed of that name lives already, or the socket cannot be made.
    pub fn bind(&self, name: &str, pid: i32, start_time: u64) -> io::Result<(UnixListener, OwnSocket)> {
        rustix::fs::flock(&self.folder, FlockOperation::LockExclusive)?;
        let result = self.bind_locked(name, pid, start_time);
        rustix::fs::flock(&self.folder, FlockOperation::Unlock)?;
        result
    }

    fn bind_locked(&self, name: &str, pid: i32, start_time: u64) -> io::Result<(UnixListener, OwnSocket)> {
        // The name is a file's, a word of messages and a label of metrics.
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.len() > 64
            || !name.starts_with(|c: char| c.is_ascii_alphanumeric())
            || !name.chars().all(plain)
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "a testbed cannot be called {name:?}: use up to 64 letters, digits, `.`, `_` and `-`, beginning with \
                     a letter or digit"
                ),
            ));
        }
        if let Some(other) = self.list()?.iter().find(|found| found.name == name) {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!(
                    "testbed `{name}` is up already (process {}): `plait down {name}` first, or give this one another \
                     name with `--name`",
                    other.pid
                ),
            ));
        }
        let socket = format!("{name}.{pid}.{start_time}");
        // Nobody else may connect, not even for the moment before a chmod.
        let mask = rustix::process::umask(Mode::from_bits_retain(0o177));
        let listener = UnixListener::bind(self.reach(&socket));
        rustix::process::umask(mask);
        let listener = listener.doing(|| format!("make the control socket in {}", self.path.display()))?;
        Ok((listener, OwnSocket { folder: self.folder.try_clone()?, socket }))
    }

    /// A path to a socket that fits the 108 bytes the kernel allows, however long the folder's is.
    fn reach(&self, socket: &str) -> String {
        format!("/proc/self/fd/{}/{socket}", self.folder.as_raw_fd())
    }
}

/// The supervisor's own socket, which it removes when it ends. The descriptor leads to the host's folder even after
/// the supervisor's own view of the files has changed.
pub struct OwnSocket {
    folder: OwnedFd,
    socket: String,
}

impl Drop for OwnSocket {
    fn drop(&mut self) {
        let _ = unlinkat(&self.folder, &self.socket, AtFlags::empty());
    }
}

fn alive(found: &Found) -> bool {
    start_time(found.pid) == Some(found.start_time)
}
