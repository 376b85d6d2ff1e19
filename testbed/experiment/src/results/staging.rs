//! A results folder while it is being written.

use super::{Results, ResultsError};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A results folder while it is being written: beside its place, under a name that says it is not whole.
///
/// Dropped before [`Staging::finish`], it stays as it is, without a `results.json`, for the user to look into.
#[derive(Debug)]
pub struct Staging {
    place: PathBuf,
    folder: PathBuf,
}

impl Staging {
    /// Begins a results folder that will stand at `place`.
    ///
    /// # Errors
    /// `place` is there already, or its parent cannot be written.
    pub fn begin(place: &Path) -> Result<Self, ResultsError> {
        if fs::symlink_metadata(place).is_ok() {
            return Err(ResultsError::Exists(place.to_owned()));
        }
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let folder = place.with_file_name(format!("{name}.partial-{}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|error| ResultsError::write(&folder, error))?;
        Ok(Self { place: place.to_owned(), folder })
    }

    /// Where it is being written.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The path of a file in it, whose folders are made.
    pub fn path(&self, relative: &str) -> Result<PathBuf, ResultsError> {
        let path = self.folder.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| ResultsError::write(parent, error))?;
        }
        Ok(path)
    }

    /// The path of a folder in it, which is made.
    pub fn subfolder(&self, relative: &str) -> Result<PathBuf, ResultsError> {
        let path = self.folder.join(relative);
        fs::create_dir_all(&path).map_err(|error| ResultsError::write(&path, error))?;
        Ok(path)
    }

    /// Removes a folder in it that was for a while only.
    pub fn remove(&self, relative: &str) -> Result<(), ResultsError> {
        let path = self.folder.join(relative);
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ResultsError::write(&path, error)),
            _ => Ok(()),
        }
    }

    /// Writes a file into it.
    pub fn write(&self, relative: &str, bytes: &[u8]) -> Result<(), ResultsError> {
        let path = self.path(relative)?;
        fs::write(&path, bytes).map_err(|error| ResultsError::write(&path, error))
    }

    /// Writes `results.json`, whole or not at all.
    pub fn write_results(&self, results: &Results) -> Result<(), ResultsError> {
        let path = self.path("results.json")?;
        let draft = self.path("results.json.new")?;
        let mut text =
            serde_json::to_vec_pretty(results).map_err(|error| ResultsError::write(&path, error.into()))?;
        text.push(b'\n');
        let written = File::create(&draft)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&draft, &path));
        written.map_err(|error| {
            // Best effort: what could not be written must not look like results.
            let _ = fs::remove_file(&draft);
            ResultsError::write(&path, error)
        })
    }

    /// Gives the folder its name, when all in it is on the disk. Returns where it stands now.
    pub fn finish(self) -> Result<PathBuf, ResultsError> {
        if fs::symlink_metadata(&self.place).is_ok() {
            return Err(ResultsError::Exists(self.place));
        }
        sync_tree(&self.folder).map_err(|error| ResultsError::write(&self.folder, error))?;
        fs::rename(&self.folder, &self.place).map_err(|error| ResultsError::write(&self.place, error))?;
        if let Some(parent) = self.place.parent() {
            sync(parent).map_err(|error| ResultsError::write(parent, error))?;
        }
        Ok(self.place)
    }
}
/// Writes a file or folder to the disk, and all in it.
fn sync_tree(path: &Path) -> io::Result<()> {
    let kind = fs::symlink_metadata(path)?.file_type();
    if kind.is_dir() {
        for entry in fs::read_dir(path)? {
            sync_tree(&entry?.path())?;
        }
    }
    if kind.is_dir() || kind.is_file() { sync(path) } else { Ok(()) }
}

/// Writes a file's bytes, or a folder's names, to the disk.
pub(crate) fn sync(path: &Path) -> io::Result<()> {
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    match File::open(path)?.sync_all() {
        // Some file systems keep no folders of their own to write; what they keep they keep.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        done => done,
    }
}
