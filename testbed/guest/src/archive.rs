//! Writing initial RAM file systems: cpio archives of the "newc" format (kernel,
//! `initramfs-buffer-format.rst`).
//!
//! The kernel unpacks several archives one after the other, and later files replace earlier ones.

use std::io::{self, Read, Write};

const FOLDER: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// An archive that is being written.
pub struct Archive<W> {
    to: W,
    entries: u32,
}

impl<W: Write> Archive<W> {
    /// An archive without entries.
    pub fn new(to: W) -> Self {
        Self { to, entries: 0 }
    }

    /// Adds a folder. The folders above it must be there already.
    pub fn folder(&mut self, path: &str, mode: u32) -> io::Result<()> {
        self.entry(path, FOLDER | mode, 0, (0, 0)).map(drop)
    }

    /// Adds a file of a given size.
    pub fn file(&mut self, path: &str, mode: u32, size: u64, content: impl Read) -> io::Result<()> {
        let short = u32::try_from(size).map_err(|_| io::Error::other(format!("{path} is over 4 GiB")))?;
        self.entry(path, FILE | mode, short, (0, 0))?;
        if io::copy(&mut content.take(size), &mut self.to)? != size {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{path} is shorter than said")));
        }
        self.pad(size as usize)
    }

    /// Adds a symbolic link.
    pub fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.entry(path, LINK | 0o777, target.len() as u32, (0, 0))?;
        self.to.write_all(target.as_bytes())?;
        self.pad(target.len())
    }

    /// Adds a character device.
    pub fn device(&mut self, path: &str, mode: u32, number: (u32, u32)) -> io::Result<()> {
        self.entry(path, CHARACTER_DEVICE | mode, 0, number).map(drop)
    }

    /// Ends the archive.
    pub fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, 0, (0, 0))?;
        Ok(self.to)
    }

    /// Writes a header and the name; both together fill whole words.
    fn entry(&mut self, path: &str, mode: u32, size: u32, device: (u32, u32)) -> io::Result<()> {
        self.entries += 1;
        let name = path.len() as u32 + 1;
        // Inode, mode, owner, group, links, time, size, device, device of the node, length of the name,
        // checksum.
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name, 0]
            .map(|field| format!("{field:08x}"));
        write!(self.to, "070701{}{path}\0", fields.concat())?;
        self.pad(6 + 8 * fields.len() + path.len() + 1)
    }

    fn pad(&mut self, written: usize) -> io::Result<()> {
        self.to.write_all(&[0; 3][..written.next_multiple_of(4) - written])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_begins_at_a_word() {
        let mut archive = Archive::new(Vec::new());
        archive.folder("a", 0o755).unwrap();
        archive.file("a/b", 0o644, 5, &b"hello"[..]).unwrap();
        archive.link("a/link", "b").unwrap();
        let bytes = archive.finish().unwrap();
        let starts: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(b"070701")).collect();
        assert_eq!(starts.len(), 4);
        assert!(starts.iter().all(|start| start % 4 == 0), "{starts:?}");
        assert_eq!(bytes.len() % 4, 0);
        // The content stands where header, name and padding end.
        assert_eq!(&bytes[starts[1] + 116..][..5], b"hello");
    }

    #[test]
    fn a_file_that_shrinks_while_it_is_read_is_an_error() {
        let error = Archive::new(Vec::new()).file("f", 0o644, 9, &b"short"[..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
