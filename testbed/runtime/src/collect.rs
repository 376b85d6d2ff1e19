//! Files brought out of a node.
//!
//! A node's files are as hostile as its programs: a link may point anywhere, a pipe may never end. So only folders and
//! plain files are followed, never links, and what else there is is left out.

use crate::kernel::files::Doing;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};
use std::ffi::CStr;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Deeper folders than any program makes on purpose.
const DEEPEST: usize = 64;

/// Copies a file or a folder with all in it to a place on this machine. Links, pipes, sockets and devices are left out,
/// and what a program removes meanwhile.
///
/// # Errors
/// What cannot be read or written, by path: the first such thing, when all the others were copied.
pub fn copy_tree(from: OwnedFd, into: &Path) -> io::Result<()> {
    copy(from, into, 0)
}

fn copy(from: OwnedFd, into: &Path, depth: usize) -> io::Result<()> {
    let kind = FileType::from_raw_mode(rustix::fs::fstat(&from)?.st_mode);
    match kind {
        FileType::RegularFile => {
            if let Some(parent) = into.parent() {
                fs::create_dir_all(parent).doing(|| format!("make {}", parent.display()))?;
            }
            let mut to = File::create(into).doing(|| format!("write {}", into.display()))?;
            io::copy(&mut File::from(from), &mut to).doing(|| format!("write {}", into.display()))?;
            Ok(())
        }
        FileType::Directory if depth < DEEPEST => {
            fs::create_dir_all(into).doing(|| format!("make {}", into.display()))?;
            let mut first = Ok(());
            for entry in Dir::read_from(&from)? {
                let entry = entry?;
                let name = entry.file_name();
                if matches!(name.to_bytes(), b"." | b"..") {
                    continue;
                }
                let place = into.join(&*name.to_string_lossy());
                let copied = match open_inside(&from, name) {
                    Ok(Some(opened)) => copy(opened, &place, depth + 1),
                    Ok(None) => Ok(()),
                    Err(error) => Err(error).doing(|| format!("read what is to be {}", place.display())),
                };
                first = first.and(copied);
            }
            first
        }
        _ => Ok(()),
    }
}

/// A file or folder in a folder; none of another kind, or that is gone meanwhile.
fn open_inside(folder: &OwnedFd, name: &CStr) -> io::Result<Option<OwnedFd>> {
    let look = || -> rustix::io::Result<Option<OwnedFd>> {
        let known = statat(folder.as_fd(), name, AtFlags::SYMLINK_NOFOLLOW)?;
        let kind = FileType::from_raw_mode(known.st_mode);
        if !matches!(kind, FileType::RegularFile | FileType::Directory) {
            return Ok(None);
        }
        // Between the look and the open it may have become a pipe: do not wait for its writer.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(folder.as_fd(), name, flags, Mode::empty()).map(Some)
    };
    match look() {
        // Removed, or become a link.
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::LOOP) => Ok(None),
        found => Ok(found?),
    }
}
