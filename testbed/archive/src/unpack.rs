//! The folder again.
//!
//! Nothing that an archive says is believed: it may come from anybody. Files and folders are made one by one with new
//! names below a new folder, in which there is never a link; everything else is refused.

use crate::progress::{Progress, Telling};
use crate::{ArchiveError, Kind, path};
use plait_model_quantity::ByteCount;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use tar::{Archive, Entry, EntryType};

/// Choice: what is unpacked without being asked twice: far more than samples need, and what a disk of today bears.
pub const USUAL_LIMIT: ByteCount = ByteCount::new(16 << 30);

/// Choice: a file is counted with what it costs on a disk beside its bytes, so that the limit bounds their number too.
const COST_OF_A_FILE: u64 = 4096;

/// The longest path that Linux takes, PATH_MAX of `limits.h`.
const LONGEST_PATH: u64 = 4096;

/// What was unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The folder.
    pub folder: PathBuf,
    /// Files in it.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
}

/// Unpacks an archive of results into `output`, or into a folder beside it that is called as the archive is.
///
/// # Errors
/// A folder that is there; an archive that is broken, holds more than `limit`, holds anything but files and folders
/// below one name, or is no results folder. There is no half folder under its name.
pub fn unpack(
    archive: &Path,
    output: Option<&Path>,
    limit: ByteCount,
    progress: Progress<'_>,
) -> Result<Unpacked, ArchiveError> {
    let folder = output.map_or_else(|| path::folder_of(archive), |output| Ok(output.to_owned()))?;
    if fs::symlink_metadata(&folder).is_ok() {
        return Err(ArchiveError::Exists(folder));
    }
    let read = |error| ArchiveError::read(archive, error);
    let file = File::open(archive).map_err(read)?;
    let size = file.metadata().map_err(read)?.len();
    let home = path::home_of(&folder)?;
    let draft = tempfile::Builder::new()
        .prefix(&path::unfinished(&folder))
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(&home)
        .map_err(|error| ArchiveError::write(&home, error))?;

    let telling = Telling::new(file, 0, size, progress);
    let decoder = zstd::Decoder::with_buffer(BufReader::new(telling)).map_err(read)?;
    let mut tar = Archive::new(decoder);
    let mut unpacker =
        Unpacker { archive, root: draft.path(), top: None, files: 0, bytes: 0, left: limit.bytes(), limit };
    unpacker.entries(&mut tar)?;
    unpacker.rest(tar.into_inner())?;
    let Unpacker { files, bytes, .. } = unpacker;
    // The folder it stands in for a moment is of no interest to anybody.
    Kind::of(draft.path()).map_err(|error| match error {
        ArchiveError::NoResults(_) => {
            ArchiveError::refused(archive, "it holds neither results.json nor experiment.json")
        }
        error => ArchiveError::refused(
            archive,
            error.to_string().replace(&format!("{}/", draft.path().display()), ""),
        ),
    })?;
    match renameat_with(CWD, draft.path(), CWD, &folder, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(Errno::EXIST) => return Err(ArchiveError::Exists(folder)),
        Err(error) => return Err(ArchiveError::write(&folder, error.into())),
    }
    // It has its name: there is nothing left to clean up.
    let _ = draft.keep();
    Ok(Unpacked { folder, files, bytes })
}

struct Unpacker<'a> {
    archive: &'a Path,
    /// Where it is unpacked.
    root: &'a Path,
    /// The name below which everything stands.
    top: Option<OsString>,
    files: usize,
    bytes: u64,
    /// Bytes that may still come.
    left: u64,
    limit: ByteCount,
}

impl Unpacker<'_> {
    fn entries<R: Read>(&mut self, tar: &mut Archive<R>) -> Result<(), ArchiveError> {
        let mut long_name = None;
        // Raw, since the library would read a name of any length into memory.
        let entries = tar.entries().map_err(|error| self.broken(error))?.raw(true);
        for entry in entries {
            let mut entry = entry.map_err(|error| self.broken(error))?;
            let kind = entry.header().entry_type();
            if kind.is_gnu_longname() && long_name.is_none() {
                long_name = Some(self.long_name(&mut entry)?);
                continue;
            }
            let name = long_name.take().unwrap_or_else(|| entry.path_bytes().into_owned());
            match kind {
                EntryType::Directory => self.folder(&name, entry.size())?,
                EntryType::Regular => self.file(&name, &mut entry)?,
                _ => {
                    return Err(self.refuse(format!(
                        "{:?} is neither a file nor a folder, and results hold nothing else",
                        OsStr::from_bytes(&name)
                    )));
                }
            }
        }
        match long_name {
            Some(_) => Err(self.refuse("it ends in the middle of a file".to_owned())),
            None => Ok(()),
        }
    }

    /// GNU tar's way to write a path of more than 100 bytes: as the content of an entry before the file's own.
    fn long_name<R: Read>(&mut self, entry: &mut Entry<'_, R>) -> Result<Vec<u8>, ArchiveError> {
        let mut name = Vec::new();
        entry.take(LONGEST_PATH + 1).read_to_end(&mut name).map_err(|error| self.broken(error))?;
        if name.len() as u64 > LONGEST_PATH {
            return Err(self.refuse("a path in it is longer than 4096 bytes".to_owned()));
        }
        if name.last() == Some(&0) {
            name.pop();
        }
        Ok(name)
    }

    fn folder(&mut self, name: &[u8], size: u64) -> Result<(), ArchiveError> {
        let place = self.place(name)?;
        self.spend(size.saturating_add(COST_OF_A_FILE))?;
        match place == self.root {
            true => Ok(()),
            false => self.make_folder(&place),
        }
    }

    fn file<R: Read>(&mut self, name: &[u8], entry: &mut Entry<'_, R>) -> Result<(), ArchiveError> {
        let place = self.place(name)?;
        if place == self.root {
            return Err(self.refuse("it holds a file and no folder".to_owned()));
        }
        let size = entry.size();
        self.spend(size.saturating_add(COST_OF_A_FILE))?;
        if let Some(parent) = place.parent() {
            self.make_folder(parent)?;
        }
        let executable = entry.header().mode().map_err(|error| self.broken(error))? & 0o100 != 0;
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(if executable { 0o777 } else { 0o666 })
            .open(&place);
        let mut file = opened.map_err(|error| self.unwritable(&place, error))?;
        // Reading and writing fail for reasons of their own.
        let mut buffer = vec![0; 128 << 10];
        let mut copied = 0;
        loop {
            let length = entry.read(&mut buffer).map_err(|error| self.broken(error))?;
            if length == 0 {
                break;
            }
            io::Write::write_all(&mut file, &buffer[..length])
                .map_err(|error| ArchiveError::write(&place, error))?;
            copied += length as u64;
        }
        if copied != size {
            return Err(self.refuse("it ends in the middle of a file".to_owned()));
        }
        self.files += 1;
        self.bytes += size;
        Ok(())
    }

    /// Where a path of the archive leads, which is always below the root.
    fn place(&mut self, name: &[u8]) -> Result<PathBuf, ArchiveError> {
        let path = Path::new(OsStr::from_bytes(name));
        let mut place = self.root.to_owned();
        let mut names = path.components().map(|component| match component {
            Component::Normal(name) => Some(name),
            _ => None,
        });
        let outside = || self.refuse(format!("{path:?} leads out of the folder"));
        let top = names.next().flatten().ok_or_else(outside)?;
        if self.top.as_deref().is_some_and(|known| known != top) {
            return Err(self.refuse(format!("{path:?} stands beside the folder and not in it")));
        }
        for name in names {
            place.push(name.ok_or_else(outside)?);
        }
        self.top.get_or_insert_with(|| top.to_owned());
        Ok(place)
    }

    /// Makes a folder below the root, and those above it.
    fn make_folder(&self, place: &Path) -> Result<(), ArchiveError> {
        DirBuilder::new().recursive(true).create(place).map_err(|error| self.unwritable(place, error))
    }

    fn spend(&mut self, bytes: u64) -> Result<(), ArchiveError> {
        self.left = self
            .left
            .checked_sub(bytes)
            .ok_or_else(|| ArchiveError::Large { archive: self.archive.to_owned(), limit: self.limit })?;
        Ok(())
    }

    /// What comes after the last file: zeros, and the checksum that Zstandard compares.
    fn rest(&mut self, mut rest: impl Read) -> Result<(), ArchiveError> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            match rest.read(&mut buffer).map_err(|error| self.broken(error))? {
                0 => return Ok(()),
                length if buffer[..length].iter().all(|byte| *byte == 0) => self.spend(length as u64)?,
                _ => return Err(self.refuse("something follows after its end".to_owned())),
            }
        }
    }

    /// An archive that cannot be read.
    fn broken(&self, error: io::Error) -> ArchiveError {
        match ArchiveError::read(self.archive, error) {
            ArchiveError::Results(error) => {
                let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
                self.refuse(format!("it is damaged or no archive of results ({reason})"))
            }
            error => error,
        }
    }

    /// A name that cannot be made: for the disk's reasons or the archive's.
    fn unwritable(&self, place: &Path, error: io::Error) -> ArchiveError {
        let name = place.strip_prefix(self.root).unwrap_or(place);
        match error.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                self.refuse(format!("{name:?} stands in it twice"))
            }
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidFilename => {
                self.refuse(format!("{name:?} is no name of a file"))
            }
            _ => ArchiveError::write(place, error),
        }
    }

    fn refuse(&self, reason: String) -> ArchiveError {
        ArchiveError::refused(self.archive, reason)
    }
}
