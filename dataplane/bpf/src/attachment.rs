//! Programs on devices: by TCX where the kernel has it (6.6), else by a filter of clsact; the relay by XDP.

use crate::clsact::{Place, Side};
use crate::programs::{Error, Program, Programs};
use crate::xdp;
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{AsRawLibbpf, Link};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

/// How a program is on a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hook {
    /// By a link, which programs of others stand beside in an order (Linux 6.6).
    Tcx,
    /// By a filter of the clsact queueing discipline.
    Clsact,
    /// By XDP, in the device's driver.
    Xdp,
}

/// A program on a device. It goes when this is dropped, unless it was kept.
pub struct Attachment {
    kind: Kind,
}

enum Kind {
    /// The link, which is there as long as it is held or named.
    Tcx(#[allow(dead_code, reason = "it is held")] Link),
    /// Likewise.
    Xdp(#[allow(dead_code, reason = "it is held")] Link),
    /// Likewise, as the kernel gave it.
    Held(Hook, #[allow(dead_code, reason = "it is held")] OwnedFd),
    /// The filter is there until it is taken away.
    Clsact(Place, Keep),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    No,
    Yes,
}

impl Programs {
    /// Puts a program on a device, behind those that are there: for [`Program::Receive`] and [`Program::Relay`] where it gets
    /// packets, for the others where they leave. Of relays a device has one.
    ///
    /// # Errors
    /// No such device; the kernel's refusal; for a relay, a driver without XDP of its own.
    pub fn attach(&self, program: Program, interface: u32) -> Result<Attachment, Error> {
        if program == Program::Relay {
            return Attachment::in_driver(&self.program(program)?, interface);
        }
        let name = format!("plait-{}", std::process::id());
        put(&self.program(program)?, side(program), interface, 0, name)
    }

    /// Puts the sending program where a device gets packets, as if a network card did what it does: for measurements.
    ///
    /// # Errors
    /// No such device; a kernel without TCX.
    pub fn attach_behind(&self, interface: u32) -> Result<Attachment, Error> {
        let number = i32::try_from(interface).map_err(|_| Error::Absent("such device"))?;
        let program = self.program(Program::Transmit)?;
        let (fd, kind) = (program.as_fd().as_raw_fd(), libbpf_sys::BPF_TCX_INGRESS);
        // SAFETY: the descriptor is that of a program which outlives this call; without options nothing else is read.
        let link = unsafe { libbpf_sys::bpf_link_create(fd, number, kind, std::ptr::null()) };
        if link < 0 {
            return Err(Error::Bpf(std::io::Error::from_raw_os_error(-link).into()));
        }
        // SAFETY: libbpf gave us this descriptor, and nobody else has it.
        Ok(Attachment { kind: Kind::Held(Hook::Tcx, unsafe { OwnedFd::from_raw_fd(link) }) })
    }

    /// Puts a program in the place of one that a former life kept at a path of a BPF file system; on a device where there
    /// is none, attaches it. No packet is without a program meanwhile. It is kept there.
    ///
    /// # Errors
    /// No such device; the kernel's refusal; the path cannot be; for a relay, a driver without XDP of its own.
    pub fn succeed(&self, program: Program, interface: u32, path: &Path) -> Result<Attachment, Error> {
        if program == Program::Relay {
            let mut program = self.program(program)?;
            if let Some(link) = adopted(&mut program, path)? {
                return Ok(Attachment { kind: Kind::Xdp(link) });
            }
            let link = xdp::link(&program, interface)?;
            xdp::pin(&link, path)?;
            return Ok(Attachment { kind: Kind::Held(Hook::Xdp, link) });
        }
        succeed(&mut self.program(program)?, side(program), interface, path, false)
    }
}

/// The link that was kept at a path, if there is one, with another program.
fn adopted(program: &mut libbpf_rs::ProgramMut<'_>, path: &Path) -> Result<Option<Link>, Error> {
    if !path.exists() || is_program(path) {
        return Ok(None);
    }
    let mut link = Link::open(path)?;
    match link.update_prog(program) {
        Ok(()) => Ok(Some(link)),
        // Its device is gone, and another may have its number by now.
        Err(_) => {
            drop(link);
            std::fs::remove_file(path).map_err(|error| Error::Pin(path.to_owned(), error))?;
            Ok(None)
        }
    }
}

/// Puts a program in the place of one that was kept at a path, or on a device where there is none, and keeps it there: behind
/// those that are there, or before them.
pub(crate) fn succeed(
    program: &mut libbpf_rs::ProgramMut<'_>,
    side: Side,
    interface: u32,
    path: &Path,
    is_first: bool,
) -> Result<Attachment, Error> {
    if let Some(link) = adopted(program, path)? {
        return Ok(Attachment { kind: Kind::Tcx(link) });
    }
    match by_tcx(program, interface, if is_first { libbpf_sys::BPF_F_BEFORE } else { 0 }) {
        Err(Error::Bpf(error)) if is_no_tcx(&error) => {
            // The path tells of the filter, so that there is never one without it.
            pin(program, path)?;
            let place = place(side, interface, path);
            place.put(program.as_fd()).map_err(Error::Clsact)?;
            Ok(Attachment { kind: Kind::Clsact(place, Keep::Yes) })
        }
        link => {
            let mut link = link?;
            link.pin(path)?;
            Ok(Attachment { kind: Kind::Tcx(link) })
        }
    }
}

/// Has a path name a program, and no longer what it named before.
fn pin(program: &mut libbpf_rs::ProgramMut<'_>, path: &Path) -> Result<(), Error> {
    let new = PathBuf::from(format!("{}-new", path.display()));
    let _ = std::fs::remove_file(&new);
    program.pin(&new)?;
    std::fs::rename(&new, path).map_err(|error| Error::Pin(path.to_owned(), error))
}

/// Puts a program on a device before those that are there.
pub(crate) fn put_first(
    program: &libbpf_rs::ProgramMut<'_>,
    side: Side,
    interface: u32,
) -> Result<Attachment, Error> {
    // The kernel asks the filter first that came last.
    let name = format!("plait-{}-{}", std::process::id(), program.name().display());
    put(program, side, interface, libbpf_sys::BPF_F_BEFORE, name)
}

/// Puts a program on a device behind those that are there.
pub(crate) fn put_last(
    program: &libbpf_rs::ProgramMut<'_>,
    side: Side,
    interface: u32,
) -> Result<Attachment, Error> {
    let name = format!("plait-{}-{}", std::process::id(), program.name().display());
    put(program, side, interface, 0, name)
}

/// Puts a program on a device; by a filter of a name where the kernel has nothing better.
fn put(
    program: &libbpf_rs::ProgramMut<'_>,
    side: Side,
    interface: u32,
    flags: u32,
    name: String,
) -> Result<Attachment, Error> {
    match by_tcx(program, interface, flags) {
        Err(Error::Bpf(error)) if is_no_tcx(&error) => {
            let place = Place { interface, side, name };
            place.put(program.as_fd()).map_err(Error::Clsact)?;
            Ok(Attachment { kind: Kind::Clsact(place, Keep::No) })
        }
        link => Ok(Attachment { kind: Kind::Tcx(link?) }),
    }
}

fn by_tcx(program: &libbpf_rs::ProgramMut<'_>, interface: u32, flags: u32) -> Result<Link, Error> {
    let interface = i32::try_from(interface).map_err(|_| Error::Absent("such device"))?;
    let options = libbpf_sys::bpf_tcx_opts {
        sz: size_of::<libbpf_sys::bpf_tcx_opts>() as libbpf_sys::size_t,
        flags,
        ..Default::default()
    };
    // A refusal is what older kernels say, and nothing to complain about.
    let prints = libbpf_rs::set_print(None);
    // SAFETY: the program is one of a loaded object, and it and the options outlive this call.
    let link = unsafe {
        libbpf_sys::bpf_program__attach_tcx(program.as_libbpf_object().as_ptr(), interface, &options)
    };
    let refusal = std::io::Error::last_os_error();
    libbpf_rs::set_print(prints);
    match NonNull::new(link) {
        // SAFETY: libbpf gave us this link, and nobody else has it.
        Some(link) => Ok(unsafe { Link::from_ptr(link) }),
        None => Err(Error::Bpf(refusal.into())),
    }
}

/// Whether a kernel says that it knows no such kind of attachment, as those before 6.6 do.
fn is_no_tcx(error: &libbpf_rs::Error) -> bool {
    error.kind() == libbpf_rs::ErrorKind::InvalidInput
}

fn side(program: Program) -> Side {
    match program {
        Program::Transmit | Program::Guard => Side::Outgoing,
        Program::Receive | Program::Relay => Side::Incoming,
    }
}

/// Where the filter is whose program is kept at a path.
fn place(side: Side, interface: u32, path: &Path) -> Place {
    Place { interface, side, name: path.display().to_string() }
}

/// Whether a path names a program, which a filter has on its device; a link is named itself.
fn is_program(path: &Path) -> bool {
    libbpf_rs::Program::fd_from_pinned_path(path).is_ok()
}

/// Takes off a device what a former life kept at a path; and the path's name.
///
/// # Errors
/// It cannot be taken off, or the name cannot be removed.
pub fn release(program: Program, interface: u32, path: &Path) -> Result<(), Error> {
    take_off(side(program), interface, path)
}

/// As [`release`], of a program on a side of a device.
pub(crate) fn take_off(side: Side, interface: u32, path: &Path) -> Result<(), Error> {
    if is_program(path) {
        place(side, interface, path).clear().map_err(Error::Clsact)?;
    }
    remove_name(path)
}

fn remove_name(path: &Path) -> Result<(), Error> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::Pin(path.to_owned(), error)),
        _ => Ok(()),
    }
}

impl Attachment {
    /// Puts a program of XDP into a device's driver.
    pub(crate) fn in_driver(program: &libbpf_rs::ProgramMut<'_>, interface: u32) -> Result<Self, Error> {
        Ok(Self { kind: Kind::Held(Hook::Xdp, xdp::link(program, interface)?) })
    }

    /// Whether a program is on a device that a former life kept at a path.
    pub fn is_kept_on(program: Program, interface: u32, path: &Path) -> bool {
        if is_program(path) {
            return place(side(program), interface, path).is_taken();
        }
        let link = Link::open(path).and_then(|link| link.info());
        link.is_ok_and(|link| match link.info {
            LinkTypeInfo::Tcx(info) => info.ifindex == interface,
            LinkTypeInfo::Xdp(info) => info.ifindex == interface,
            _ => false,
        })
    }

    /// How it is on its device.
    pub fn hook(&self) -> Hook {
        match self.kind {
            Kind::Tcx(_) => Hook::Tcx,
            Kind::Xdp(_) => Hook::Xdp,
            Kind::Held(hook, _) => hook,
            Kind::Clsact(..) => Hook::Clsact,
        }
    }

    /// Takes the program off, and its name away.
    ///
    /// # Errors
    /// The name cannot be removed.
    pub fn remove(mut self, path: &Path) -> Result<(), Error> {
        if let Kind::Clsact(_, keep) = &mut self.kind {
            *keep = Keep::No;
        }
        drop(self);
        remove_name(path)
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Kind::Clsact(place, Keep::No) = &self.kind {
            // Where the device is gone, so is the filter.
            let _ = place.clear();
        }
    }
}
