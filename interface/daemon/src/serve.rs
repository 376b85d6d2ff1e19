//! The socket: its owner's alone.

use axum::Router;
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum NotServed {
    /// Another one serves there.
    #[error("a controller of this name runs already: choose another with --name")]
    Running,
    /// The system refused.
    #[error("{}: {fault}", path.display())]
    System {
        /// What could not be made.
        path: PathBuf,
        /// Why not.
        fault: io::Error,
    },
}

/// Where the controller of a name answers: in `$XDG_RUNTIME_DIR/plait-controller`, else in `/run/plait-controller` for
/// root and `/tmp/plait-controller-UID` for others.
pub fn socket(name: &str) -> PathBuf {
    let folder = match std::env::var_os("XDG_RUNTIME_DIR").filter(|folder| Path::new(folder).is_absolute()) {
        Some(folder) => Path::new(&folder).join("plait-controller"),
        None if geteuid().is_root() => PathBuf::from("/run/plait-controller"),
        None => PathBuf::from(format!("/tmp/plait-controller-{}", geteuid().as_raw())),
    };
    folder.join(format!("{name}.sock"))
}

/// Serves at `path` until `until` ends, then removes the socket. `ready` is called when it can be asked.
///
/// # Errors
/// [`NotServed`].
pub fn serve(
    router: Router,
    path: &Path,
    ready: impl FnOnce(),
    until: impl Future<Output = ()> + Send + 'static,
) -> Result<(), NotServed> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |fault| NotServed::System { path, fault }
    };
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(at(folder))?;
        let found = fs::symlink_metadata(folder).map_err(at(folder))?;
        use std::os::unix::fs::MetadataExt;
        if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o077 != 0 {
            let fault =
                io::Error::other("this is not a folder of yours alone: remove it, or set XDG_RUNTIME_DIR");
            return Err(at(folder)(fault));
        }
    }
    if UnixStream::connect(path).is_ok() {
        return Err(NotServed::Running);
    }
    match fs::remove_file(path) {
        Err(fault) if fault.kind() != io::ErrorKind::NotFound => return Err(at(path)(fault)),
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(at(path))?;
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(at(path))?;
    listener.set_nonblocking(true).map_err(at(path))?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(at(path))?;
    let served = executor.block_on(async {
        let listener = tokio::net::UnixListener::from_std(listener)?;
        ready();
        axum::serve(listener, router).with_graceful_shutdown(until).await
    });
    let _ = fs::remove_file(path);
    served.map_err(at(path))
}
