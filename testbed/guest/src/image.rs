//! Images: a kernel and a root file system, made once and kept.

use crate::archive::Archive;
use crate::debian::{self, Found};
use data_encoding::HEXLOWER;
use plait_testbed_runtime::kernel::files::Doing;
use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, flock, linkat, openat};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long another process may take to make an image.
const PATIENCE: Duration = Duration::from_secs(600);

/// What guests boot: the distribution's kernel, and a small root with the packages asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The compressed kernel.
    pub kernel: PathBuf,
    /// The root file system, a cpio archive.
    pub root: PathBuf,
}

impl Image {
    /// The image with some packages beyond those every guest has (`debian.rs`), from the cache or made anew.
    /// Making takes ten seconds and needs `mmdebstrap` and a way to Debian's packages; several processes may
    /// ask at once, and one of them makes it.
    ///
    /// Choice: an image stays as it is until its folder, `~/.cache/plait/guest`, is removed. A kernel that
    /// changed between two runs because the distribution published one would change their figures;
    /// [`Guest::kernel`](crate::Guest::kernel) says which it is.
    ///
    /// # Errors
    /// What could not be fetched or written. Nothing half-made stays, whenever the process is killed.
    pub fn prepare(packages: &[&str]) -> io::Result<Self> {
        let home = std::env::var_os("HOME").ok_or_else(|| io::Error::other("HOME is not set"))?;
        Self::prepare_in(&Path::new(&home).join(".cache/plait/guest"), packages)
    }

    /// Like [`prepare`](Self::prepare), with the cache in another folder.
    ///
    /// # Errors
    /// As there.
    pub fn prepare_in(cache: &Path, packages: &[&str]) -> io::Result<Self> {
        let packages = debian::packages(packages)?;
        let key = key(&packages);
        let image =
            Self { kernel: cache.join(format!("{key}.kernel")), root: cache.join(format!("{key}.root")) };
        if image.is_there() {
            return Ok(image);
        }
        fs::create_dir_all(cache).doing(|| format!("make {}", cache.display()))?;
        let _one_at_a_time = lock(&cache.join("lock"))?;
        if !image.is_there() {
            image.make(cache, &packages)?;
        }
        Ok(image)
    }

    fn is_there(&self) -> bool {
        self.kernel.exists() && self.root.exists()
    }

    /// Writes both files without a name and names them when they are whole: the kernel removes what has no
    /// name.
    fn make(&self, cache: &Path, packages: &[String]) -> io::Result<()> {
        let (mut kernel, root) = (unnamed(cache)?, unnamed(cache)?);
        let mut archive = Archive::new(io::BufWriter::with_capacity(1 << 20, root));
        // Messages of the kernel and of process 1 go here before there are other devices.
        archive.folder("dev", 0o755)?;
        archive.device("dev/console", 0o600, (5, 1))?;
        let mut has_kernel = false;
        debian::bootstrap(packages, &mut |found| match found {
            Found::Kernel(size, mut content) => {
                has_kernel = true;
                io::copy(&mut content, &mut kernel).map(|copied| debug_assert_eq!(copied, size))
            }
            Found::Folder(path, mode) => archive.folder(path, mode),
            Found::File(path, mode, size, content) => archive.file(path, mode, size, content),
            Found::Link(path, target) => archive.link(path, target),
        })?;
        if !has_kernel {
            return Err(io::Error::other("the distribution's root came without a kernel"));
        }
        let root = archive.finish()?.into_inner()?;
        name(&kernel, &self.kernel)?;
        name(&root, &self.root)
    }
}

/// What tells images apart: the recipe and the packages.
fn key(packages: &[String]) -> String {
    let digest = Sha256::digest(format!("{} {}", debian::RECIPE, packages.join(",")));
    HEXLOWER.encode(&digest[..8])
}

/// Holds the cache for the caller until the file is dropped, or the process ends.
fn lock(path: &Path) -> io::Result<File> {
    let file = File::create(path).doing(|| format!("make {}", path.display()))?;
    let started = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(rustix::io::Errno::WOULDBLOCK) if started.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(50));
            }
            Err(error) => return Err(error).doing(|| format!("lock {}", path.display())),
        }
    }
}

/// A file without a name in a folder's file system.
fn unnamed(folder: &Path) -> io::Result<File> {
    let mode = Mode::from_raw_mode(0o644);
    let file = openat(CWD, folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode)
        .doing(|| format!("write in {}", folder.display()))?;
    Ok(file.into())
}

/// Gives such a file its name. Half an image that was there before is replaced.
fn name(file: &File, path: &Path) -> io::Result<()> {
    let _ = fs::remove_file(path);
    linkat(CWD, format!("/proc/self/fd/{}", file.as_raw_fd()), CWD, path, AtFlags::SYMLINK_FOLLOW)
        .doing(|| format!("make {}", path.display()))
}
