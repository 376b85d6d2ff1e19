//! Small file helpers that several modules share.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A path as a terminated string.
pub fn c_path(path: &Path) -> io::Result<CString> {
    Ok(CString::new(path.as_os_str().as_bytes())?)
}

/// Writes a kernel file (`/proc`, cgroups) in one call, as these want it.
pub fn write_kernel(path: impl AsRef<Path>, text: &str) -> io::Result<()> {
    use std::io::Write;
    std::fs::OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Adds what was being done to an error, as `cannot DO: WHY`.
pub trait Doing<T> {
    /// Names the action; the text follows "cannot".
    fn doing(self, action: impl FnOnce() -> String) -> io::Result<T>;
}

impl<T, E: Into<io::Error>> Doing<T> for Result<T, E> {
    fn doing(self, action: impl FnOnce() -> String) -> io::Result<T> {
        self.map_err(|error| {
            let error = error.into();
            io::Error::new(error.kind(), format!("cannot {}: {error}", action()))
        })
    }
}
