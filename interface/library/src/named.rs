//! Texts of files: the network file, and those that it names.

use crate::error::Error;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The largest file that is read; a network of ten thousand nodes is about a hundredth of it.
const LARGEST: u64 = 64 << 20;

/// Reads a text, refusing what cannot be one.
///
/// # Errors
/// [`Error::Unreadable`]: no such file, more than 64 MiB, or not UTF-8.
pub fn read_text(path: &Path) -> Result<String, Error> {
    let fail = |reason: String| Error::Unreadable { path: path.to_owned(), reason };
    let bytes = read_bytes(path).map_err(|error| fail(error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| fail("this is not UTF-8 text".to_owned()))
}

/// Reads a file, or a pipe, whose length nobody knows before; what never ends is not read for ever.
///
/// # Errors
/// The system's reason; it is larger than anything that is read here.
pub fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("more than {} MiB is too large", LARGEST >> 20)));
    }
    Ok(bytes)
}

/// The files that a network names: where they lie, and those that were read, by their paths as written. Copies share
/// what was read, because nodes' files are read by whoever builds them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Named {
    folder: PathBuf,
    read: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl Named {
    /// Files beside a network that lies in a folder.
    pub fn beside(folder: PathBuf) -> Self {
        Self { folder, read: Arc::default() }
    }

    /// The same files for another network, of which none was read.
    pub fn anew(&self) -> Self {
        Self::beside(self.folder.clone())
    }

    /// Reads one of them.
    ///
    /// # Errors
    /// Why it cannot be read, with its path.
    pub fn read(&self, name: &str) -> Result<String, String> {
        let path = self.folder.join(name);
        let fail = |error: String| format!("cannot read {}: {error}", path.display());
        let bytes = read_bytes(&path).map_err(|error| fail(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| fail("this is not UTF-8 text".to_owned()))?;
        self.known().insert(name.to_owned(), text.clone().into_bytes());
        Ok(text)
    }

    /// Reads one of them that need not be text.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn bytes(&self, name: &str) -> Result<Vec<u8>, String> {
        let path = self.folder.join(name);
        let bytes = read_bytes(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        self.known().insert(name.to_owned(), bytes.clone());
        Ok(bytes)
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those that were read, with their bytes.
    pub fn files(&self) -> Vec<(String, Vec<u8>)> {
        self.known().iter().map(|(name, bytes)| (name.clone(), bytes.clone())).collect()
    }
}
