//! What stands in a folder.

use crate::{ArchiveError, LeftOut};
use rustix::fs::{Mode, OFlags, openat};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

/// A file or a folder.
#[derive(Debug)]
pub struct Item {
    /// Its path in the folder.
    pub path: PathBuf,
    /// What of it is kept, for a file; none for a folder.
    pub file: Option<FileItem>,
}

/// What is kept of a file beside its bytes.
#[derive(Debug, Clone, Copy)]
pub struct FileItem {
    pub size: u64,
    pub executable: bool,
}

/// Everything in a folder, sorted by its path so that a folder comes before what it holds; and what is neither file nor
/// folder.
pub fn list(root: &Path) -> Result<(Vec<Item>, Vec<LeftOut>), ArchiveError> {
    let (mut items, mut left_out) = (Vec::new(), Vec::new());
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let place = root.join(&folder);
        let entries = fs::read_dir(&place).map_err(|error| ArchiveError::read(&place, error))?;
        for entry in entries {
            let entry = entry.map_err(|error| ArchiveError::read(&place, error))?;
            let path = folder.join(entry.file_name());
            // Of a link itself, not of what it leads to.
            let data = entry.metadata().map_err(|error| ArchiveError::read(&entry.path(), error))?;
            let kind = data.file_type();
            if is_unfinished(&path) {
                left_out.push(LeftOut { path, why: "never became whole".to_owned() });
            } else if kind.is_dir() {
                folders.push(path.clone());
                items.push(Item { path, file: None });
            } else if kind.is_file() {
                let executable = data.permissions().mode() & 0o100 != 0;
                items.push(Item { path, file: Some(FileItem { size: data.len(), executable }) });
            } else {
                left_out.push(LeftOut { path, why: word(kind).to_owned() });
            }
        }
    }
    items.sort_by(|one, other| one.path.cmp(&other.path));
    left_out.sort();
    Ok((items, left_out))
}

/// Whether a path is that of a run while it is written, or of one that was killed meanwhile.
fn is_unfinished(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.parent() == Some(Path::new("runs")) && name.contains(".partial-")
}

fn word(kind: fs::FileType) -> &'static str {
    if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

/// Opens a file below a folder. No link is followed on the way, even one that was put there a moment ago.
pub fn open(root: &File, path: &Path) -> io::Result<File> {
    let usual = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = root.try_clone()?;
    for component in path.parent().into_iter().flat_map(Path::components) {
        let Component::Normal(name) = component else { return Err(io::ErrorKind::InvalidInput.into()) };
        folder = openat(&folder, name, usual | OFlags::DIRECTORY, Mode::empty())?.into();
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    // A FIFO that was put there a moment ago must not make anybody wait.
    let file: File = openat(&folder, name, usual | OFlags::NONBLOCK, Mode::empty())?.into();
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is no file any more")),
    }
}
