//! A folder into an archive.

use crate::progress::{Progress, Telling};
use crate::tree::{self, FileItem, Item};
use crate::{ArchiveError, Kind, parquet, path};
use rustix::fs::{FlockOperation, flock};
use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

/// Choice: 1 January 1980, the oldest date that every archiver bears. What a file's own time would tell, `results.json`
/// tells.
const INSTANT: u64 = 315_532_800;

/// Choice: level 9 of 19. Levels 12 and 15 made the results of an experiment one percent smaller and took three and
/// five times as long.
const LEVEL: i32 = 9;

/// What was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The archive.
    pub archive: PathBuf,
    /// Files in it.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Bytes of the archive.
    pub packed_bytes: u64,
    /// What is not in it.
    pub left_out: Vec<LeftOut>,
}

/// What is not in an archive though it stands in the folder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    /// Its path in the folder.
    pub path: PathBuf,
    /// Why: `a socket`.
    pub why: String,
}

/// Packs a results folder into `output`, or into `FOLDER.tar.zst` beside it.
///
/// The same folder gives the same bytes, wherever it stands and whoever packs it: names are sorted; times, owners and
/// all rights but that to execute are the same for all. The folder's own name is part of the bytes, and so are the
/// versions of the libraries that compress.
///
/// Samples stand in it as Parquet too, beside their CSV. Choice: always, so that every archive can be read by the same
/// script; an archive of short runs is up to twice as large for it.
///
/// # Errors
/// A folder that is no results folder, is of a newer version or is being written; an archive that is there; a disk that
/// is full. There is no half archive under its name.
pub fn pack(folder: &Path, output: Option<&Path>, progress: Progress<'_>) -> Result<Packed, ArchiveError> {
    let kind = Kind::of(folder)?;
    let _lock = quiet(folder, kind)?;
    let archive = output.map_or_else(|| path::archive_of(folder), |output| Ok(output.to_owned()))?;
    if fs::symlink_metadata(&archive).is_ok() {
        return Err(ArchiveError::Exists(archive));
    }
    let whole = folder.canonicalize().map_err(|error| ArchiveError::read(folder, error))?;
    let name = whole.file_name().ok_or_else(|| ArchiveError::Nameless(folder.to_owned()))?;
    let home = path::home_of(&archive)?;
    if home.canonicalize().is_ok_and(|home| home.starts_with(&whole)) {
        return Err(ArchiveError::Inside(archive));
    }
    let (items, left_out) = tree::list(&whole)?;
    let write = |error| ArchiveError::write(&archive, error);
    let draft = tempfile::Builder::new()
        .prefix(&path::unfinished(&archive))
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(&home)
        .map_err(write)?;
    let encoder = zstd::Encoder::new(BufWriter::new(draft.as_file().try_clone().map_err(write)?), LEVEL);
    let mut encoder = encoder.map_err(write)?;
    encoder.include_checksum(true).map_err(write)?;
    let mut packer = Packer {
        root: File::open(&whole).map_err(|error| ArchiveError::read(folder, error))?,
        folder: &whole,
        top: Path::new(name),
        archive: &archive,
        home: &home,
        kind,
        tar: Builder::new(encoder),
        done: 0,
        total: items.iter().filter_map(|item| item.file).map(|file| file.size).sum(),
        progress,
        files: 0,
        bytes: 0,
        left_out,
    };
    packer.folder(Path::new(""))?;
    packer.items(&items)?;
    let Packer { tar, files, bytes, mut left_out, .. } = packer;
    let finished = tar.into_inner().and_then(zstd::Encoder::finish).and_then(|mut writer| writer.flush());
    finished.and_then(|()| draft.as_file().sync_all()).map_err(write)?;
    let packed_bytes = draft.as_file().metadata().map_err(write)?.len();
    draft.persist_noclobber(&archive).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => ArchiveError::Exists(archive.clone()),
        _ => write(error.error),
    })?;
    left_out.sort();
    Ok(Packed { archive, files, bytes, packed_bytes, left_out })
}

/// Sees to it that no experiment goes on in the folder meanwhile. The folder of a run has its name when it is whole.
fn quiet(folder: &Path, kind: Kind) -> Result<File, ArchiveError> {
    let manifest = folder.join(kind.manifest());
    let file = File::open(&manifest).map_err(|error| ArchiveError::read(&manifest, error))?;
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Ok(file),
        Err(_) => Err(ArchiveError::Busy(folder.to_owned())),
    }
}

struct Packer<'a, W: Write> {
    root: File,
    folder: &'a Path,
    /// The name under which everything stands in the archive.
    top: &'a Path,
    archive: &'a Path,
    home: &'a Path,
    kind: Kind,
    tar: Builder<W>,
    done: u64,
    total: u64,
    progress: Progress<'a>,
    files: usize,
    bytes: u64,
    left_out: Vec<LeftOut>,
}

impl<W: Write> Packer<'_, W> {
    fn items(&mut self, items: &[Item]) -> Result<(), ArchiveError> {
        // A folder that was unpacked has its Parquet already; it is made of the CSV again, to the same bytes.
        let mut made: BTreeSet<PathBuf> = BTreeSet::new();
        for Item { path, file } in items {
            let Some(file) = file else {
                self.folder(path)?;
                continue;
            };
            if made.contains(path) {
                continue;
            }
            let place = self.folder.join(path);
            let opened = tree::open(&self.root, path).map_err(|error| ArchiveError::read(&place, error))?;
            self.file(path, *file, &opened)?;
            // A logger that saw nothing wrote nothing, not even a head.
            if file.size > 0 && self.kind.is_samples(path) && self.samples(path, opened)? {
                made.insert(path.with_extension("parquet"));
            }
        }
        Ok(())
    }

    fn folder(&mut self, path: &Path) -> Result<(), ArchiveError> {
        let mut header = header(EntryType::Directory, 0o755, 0);
        let appended = self.tar.append_data(&mut header, self.top.join(path), io::empty());
        appended.map_err(|error| ArchiveError::write(self.archive, error))
    }

    fn file(&mut self, path: &Path, item: FileItem, content: &File) -> Result<(), ArchiveError> {
        let mut header = header(EntryType::Regular, if item.executable { 0o755 } else { 0o644 }, item.size);
        let mut telling = Telling::new(content.take(item.size), self.done, self.total, self.progress);
        let appended = self.tar.append_data(&mut header, self.top.join(path), &mut telling);
        let read = telling.done() - self.done;
        self.done = telling.done();
        appended.map_err(|error| ArchiveError::write(self.archive, error))?;
        if read != item.size {
            return Err(ArchiveError::Changed(self.folder.join(path)));
        }
        self.files += 1;
        self.bytes += item.size;
        Ok(())
    }

    /// The Parquet of a file of samples. One that is not what samples are stays CSV only.
    fn samples(&mut self, path: &Path, mut csv: File) -> Result<bool, ArchiveError> {
        csv.rewind().map_err(|error| ArchiveError::read(&self.folder.join(path), error))?;
        let write = |error| ArchiveError::write(self.archive, error);
        // A tar says how long a file is before the file comes.
        let mut columns = tempfile::tempfile_in(self.home).map_err(write)?;
        match parquet::from_csv(csv, &columns) {
            Ok(()) => {}
            Err(parquet::ParquetError::Write(error)) => return Err(write(error)),
            Err(error) => {
                let why = format!("{}: {error}", path.display());
                self.left_out.push(LeftOut { path: path.with_extension("parquet"), why });
                return Ok(false);
            }
        }
        let size = columns.metadata().map_err(write)?.len();
        columns.rewind().map_err(write)?;
        self.total += size;
        self.file(&path.with_extension("parquet"), FileItem { size, executable: false }, &columns)?;
        Ok(true)
    }
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(INSTANT);
    header.set_uid(0);
    header.set_gid(0);
    header
}
