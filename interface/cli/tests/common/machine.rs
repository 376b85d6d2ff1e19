//! What this machine lets tests do.

use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Debian's `nobody`: a user without any right.
pub const NOBODY: u32 = 65534;

/// Says why a test did not run.
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether a program is installed.
pub fn installed(program: &str) -> bool {
    let found = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists());
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// Whether users may make namespaces here.
pub fn user_namespaces() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--net", "true"]).stderr(Stdio::null()).stdout(Stdio::null());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.status().is_ok_and(|status| status.success())
    })
}
