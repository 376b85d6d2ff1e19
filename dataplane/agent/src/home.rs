//! The folder of an agent.

use rustix::fs::FlockOperation;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// Makes a folder that only its owner sees, with those that it is in.
///
/// # Errors
/// It cannot be.
pub fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Removes a folder's parent, which agents of other names share, where nothing is in it any more.
pub fn leave(folder: &Path) {
    if let Some(parent) = folder.parent() {
        // Another agent's is in it.
        let _ = fs::remove_dir(parent);
    }
}

/// How long an agent that was killed may take to let go of what it has: devices go one after the other.
const DYING: Duration = Duration::from_secs(2);
/// From one try to the next.
const PAUSE: Duration = Duration::from_millis(5);

/// Makes sure that there is no other agent of a folder, as long as the file is held; none where there is one, and it lives
/// on for a while.
///
/// # Errors
/// The file cannot be made.
pub fn lock(folder: &Path) -> io::Result<Option<File>> {
    let file = File::create(folder.join("lock"))?;
    let begun = Instant::now();
    while rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        if begun.elapsed() > DYING {
            return Ok(None);
        }
        thread::sleep(PAUSE);
    }
    Ok(Some(file))
}

/// Whether a path is, or would be, in a BPF file system, where programs stay once nobody holds them.
///
/// # Errors
/// The kernel does not tell.
pub fn is_bpffs(path: &Path) -> io::Result<bool> {
    const BPF_FS: u64 = 0xcafe_4a11;
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    Ok(rustix::fs::statfs(there)?.f_type as u64 == BPF_FS)
}

/// The calling thread's network namespace.
///
/// # Errors
/// There is no /proc.
pub fn network() -> io::Result<u64> {
    Ok(fs::metadata("/proc/thread-self/ns/net")?.ino())
}
