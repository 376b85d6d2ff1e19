//! Where an archive or its folder belongs.

use crate::ArchiveError;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

const ENDING: &[u8] = b".tar.zst";

/// The archive that belongs to a folder: beside it, under its name.
pub fn archive_of(folder: &Path) -> Result<PathBuf, ArchiveError> {
    let nameless = || ArchiveError::Nameless(folder.to_owned());
    if let Some(name) = folder.file_name() {
        return Ok(folder.with_file_name(ended(name)));
    }
    // `.` and `..` have a name elsewhere.
    let whole = folder.canonicalize().map_err(|_| nameless())?;
    let name = whole.file_name().ok_or_else(nameless)?;
    Ok(whole.with_file_name(ended(name)))
}

fn ended(name: &OsStr) -> OsString {
    OsString::from_vec([name.as_bytes(), ENDING].concat())
}

/// The folder that belongs to an archive: beside it, under its name.
pub fn folder_of(archive: &Path) -> Result<PathBuf, ArchiveError> {
    let name = archive.file_name().map(OsStr::as_bytes).unwrap_or_default();
    match name.strip_suffix(ENDING) {
        Some(name) if !name.is_empty() && name != b"." && name != b".." => {
            Ok(archive.with_file_name(OsStr::from_bytes(name)))
        }
        _ => Err(ArchiveError::Nameless(archive.to_owned())),
    }
}

/// The folder in which something will stand; made where it is missing.
pub fn home_of(place: &Path) -> Result<PathBuf, ArchiveError> {
    let home = match place.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(home).map_err(|error| ArchiveError::write(home, error))?;
    Ok(home.to_owned())
}

/// How something is called until it is whole: `.NAME.partial-`, and some letters.
pub fn unfinished(place: &Path) -> OsString {
    let name = place.file_name().unwrap_or_default().as_bytes();
    OsString::from_vec([b".", name, b".partial-"].concat())
}
