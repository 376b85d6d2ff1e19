//! A pair of devices by which the kernel cuts superpackets that cannot go under a stack as they are: `cut` and the index of
//! the steered device, and its other end.
//!
//! ```text
//! steer ─► cut3, of which the kernel makes segments ─► cut3e ─► again ─► the device, where steer meets segments
//! ```
//!
//! Choice: of a veth, since no program can cut, and since it goes on when no agent runs. Whose a pair is, its hardware address
//! says, which follows from the path that it is kept at: the kernel makes it with the pair, where an alias comes later.

use crate::device::Device;
use crate::error::Error;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use plait_dataplane_bpf::{Attachment, PathProgram, PathPrograms, path_names, release_path};
use plait_dataplane_links::cutting::{self, Former, Mark, Pair};
use plait_dataplane_netlink::Netlink;
use plait_dataplane_reference::paths::tables::Cutter as Row;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Of what is cut for nobody.
const NOBODY: Row = Row { front: 0, back: 0, device: 0 };

/// Cuts superpackets for one device. It goes when this is dropped, but where it was kept.
pub struct Cutter {
    _pair: Pair,
    _again: Attachment,
}

impl Cutter {
    /// Begins to cut what the programs of a device give it, in the device's namespace, which is the calling thread's. Where a
    /// path of a BPF file system is named, it stays until [`release`], and one of a former life goes on.
    ///
    /// # Errors
    /// Somebody else has devices of that name; the kernel's refusal; the path cannot be. Nothing is left then.
    pub fn start(device: &Device, programs: &PathPrograms, kept: Option<&Path>) -> Result<Self, Error> {
        let failed = |error| Error::Device(device.index, error);
        let former = match kept {
            None => Former::Refused,
            // One that no program was put on, whoever made it died.
            Some(path) if !path.exists() => Former::Replaced,
            Some(_) => Former::TakenOver,
        };
        let mut pair = Pair::make(names(device.index), mark(kept), former).map_err(failed)?;
        let [front, back] = pair.ends().map_err(failed)?;
        pair.start().map_err(failed)?;
        let table = programs.table(&path_names::CUTTERS)?;
        // Before the program is there, which would drop what a former one still let go on.
        table.set(&0, &Row { front, back, device: device.index })?;
        let again = match kept {
            Some(path) => programs.succeed(PathProgram::Again, back, path),
            None => programs.attach(PathProgram::Again, back),
        };
        let again = again.inspect_err(|_| {
            let _ = table.set(&0, &NOBODY);
        })?;
        if kept.is_some() {
            pair.keep();
        }
        Ok(Self { _pair: pair, _again: again })
    }
}

/// Takes away what a former life kept at a path for a device of the calling thread's namespace.
///
/// # Errors
/// The kernel's refusal.
pub fn release(device: u32, path: &Path) -> Result<(), Error> {
    let [front, back] = names(device);
    let back = cutting::index(&back).unwrap_or(0);
    release_path(PathProgram::Again, back, path)?;
    cutting::remove(&front, mark(Some(path))).map_err(|error| Error::Device(device, error))
}

/// Takes away pairs of the calling thread's namespace that nobody keeps, of an agent that died before it did. Of a device's
/// index it is asked at which path its pair would be kept.
///
/// # Errors
/// The kernel's refusal.
pub fn sweep(path: impl Fn(u32) -> PathBuf) -> io::Result<()> {
    let netlink = Netlink::open()?;
    for answer in netlink.dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))? {
        let RouteNetlinkMessage::NewLink(link) = answer else { continue };
        let name = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name),
            _ => None,
        });
        let device = name.and_then(|name| name.strip_prefix("cut")?.parse().ok());
        let Some((name, path)) = name.zip(device.map(&path)) else { continue };
        if !path.exists() {
            cutting::remove(name, mark(Some(&path)))?;
        }
    }
    Ok(())
}

/// The names of both ends.
fn names(device: u32) -> [String; 2] {
    [format!("cut{device}"), format!("cut{device}e")]
}

/// The mark of what is kept at a path, or of this process.
fn mark(kept: Option<&Path>) -> Mark {
    match kept {
        Some(path) => cutting::mark(path.as_os_str().as_bytes()),
        None => cutting::mark(&std::process::id().to_be_bytes()),
    }
}
