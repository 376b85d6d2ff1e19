//! A control socket, without the command.

use super::PATIENCE;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

/// Talks to a control socket in bytes: sends them, closes its side, and reads the whole answer.
pub fn converse(socket: &Path, bytes: &[u8]) -> std::io::Result<String> {
    // A path longer than a socket address holds is reached through its folder.
    let folder = fs::File::open(socket.parent().unwrap())?;
    let short = format!(
        "/proc/self/fd/{}/{}",
        std::os::fd::AsRawFd::as_raw_fd(&folder),
        socket.file_name().unwrap().to_string_lossy()
    );
    let mut stream = std::os::unix::net::UnixStream::connect(short)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(bytes)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
