//! The program that agents are: the one that this supervisor runs.

use crate::kernel::files::Doing;
use crate::kernel::mount;
use crate::sandbox::HOME;
use rustix::fs::{Mode, OFlags};
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

/// Where members of overlays find `plait`.
pub(crate) const PROGRAMS: &str = "/run/plait-overlay/bin";
/// What it is called there.
const NAME: &str = "plait";

/// The file of the program that this process runs, where that is `plait` and still there. A program that forks a testbed
/// by itself is another.
pub(crate) fn own_program() -> Option<OwnedFd> {
    use std::os::unix::fs::MetadataExt;
    let path = fs::read_link("/proc/self/exe").ok()?;
    let is_plait = path.file_name()? == NAME;
    let found = rustix::fs::open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let (this, there) = (fs::metadata("/proc/self/exe").ok()?, rustix::fs::fstat(&found).ok()?);
    let is_same = this.ino() == there.st_ino && this.dev() == there.st_dev;
    (is_plait && is_same).then_some(found)
}

/// The folder in which the supervisor has the program, which no node sees; made when it is first needed.
pub(crate) fn folder(program: &OwnedFd) -> io::Result<OwnedFd> {
    let folder = Path::new(HOME).join("bin");
    let own = folder.join(NAME);
    if !own.exists() {
        fs::create_dir_all(&folder)?;
        File::create(&own)?;
        mount::bind(&PathBuf::from(format!("/proc/self/fd/{}", program.as_raw_fd())), &own)
            .and_then(|()| mount::read_only_recursive(&own))
            .doing(|| format!("show plait at {}", own.display()))?;
    }
    Ok(File::open(&folder)?.into())
}

/// The path by which a process that was forked with the folder open finds the program, in whatever view of the files.
pub(crate) fn path(folder: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd()))
}

/// A read-only mount of the program, to be shown in a node.
pub(crate) fn copy() -> io::Result<OwnedFd> {
    mount::copy(&Path::new(HOME).join("bin").join(NAME))
}

/// Shows the program in the view that the calling thread is in, once.
pub(crate) fn show(copy: &OwnedFd) -> io::Result<()> {
    let own = Path::new(PROGRAMS).join(NAME);
    if own.exists() {
        return Ok(());
    }
    fs::create_dir_all(PROGRAMS)?;
    File::create(&own)?;
    mount::attach(copy, &own).doing(|| format!("show plait at {}", own.display()))
}
