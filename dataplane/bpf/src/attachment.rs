//! Programs on devices: by TCX where the kernel has it (6.6), else by a clsact filter.

use crate::programs::{Error, Program, Programs};
use libbpf_rs::query::LinkTypeInfo;
use libbpf_rs::{AsRawLibbpf, Link, TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder};
use std::os::fd::AsFd;
use std::path::Path;
use std::ptr::NonNull;

/// A program on a device. It goes when this is dropped, unless it was kept.
pub struct Attachment {
    kind: Kind,
}

enum Kind {
    /// The link keeps itself.
    Tcx(Link),
    /// The filter is there until it is taken away.
    Clsact(TcHook, Keep),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    No,
    Yes,
}

impl Programs {
    /// Puts a program on a device, behind those that are there: for [`Program::Receive`] where it gets packets, for the
    /// others where they leave.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn attach(&self, program: Program, interface: u32) -> Result<Attachment, Error> {
        match self.attach_tcx(program, interface) {
            Ok(link) => Ok(Attachment { kind: Kind::Tcx(link) }),
            // A kernel before 6.6 knows no such kind of attachment.
            Err(Error::Bpf(error)) if error.kind() == libbpf_rs::ErrorKind::InvalidInput => {
                Ok(Attachment { kind: Kind::Clsact(self.attach_clsact(program, interface)?, Keep::No) })
            }
            Err(error) => Err(error),
        }
    }

    /// Puts a program in the place of one that a former life kept at a path; on a device where there is none, attaches
    /// it. No packet is without a program meanwhile. It is kept.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn succeed(&self, program: Program, interface: u32, path: &Path) -> Result<Attachment, Error> {
        if path.exists() {
            let mut link = Link::open(path)?;
            match link.update_prog(&*self.program(program)?) {
                Ok(()) => return Ok(Attachment { kind: Kind::Tcx(link) }),
                // Its device is gone, and another may have its number by now.
                Err(_) => {
                    drop(link);
                    std::fs::remove_file(path).map_err(|error| Error::Pin(path.to_owned(), error))?;
                }
            }
        }
        let mut attachment = self.attach(program, interface)?;
        attachment.keep(path)?;
        Ok(attachment)
    }

    fn attach_tcx(&self, program: Program, interface: u32) -> Result<Link, Error> {
        let program = self.program(program)?;
        let interface = i32::try_from(interface).map_err(|_| Error::Absent("such device"))?;
        // SAFETY: the program is one of a loaded object that outlives this call, and no options are given.
        let link = unsafe {
            libbpf_sys::bpf_program__attach_tcx(
                program.as_libbpf_object().as_ptr(),
                interface,
                std::ptr::null(),
            )
        };
        match NonNull::new(link) {
            // SAFETY: libbpf gave us this link, and nobody else has it.
            Some(link) => Ok(unsafe { Link::from_ptr(link) }),
            None => Err(Error::Bpf(std::io::Error::last_os_error().into())),
        }
    }

    fn attach_clsact(&self, program: Program, interface: u32) -> Result<TcHook, Error> {
        let found = self.program(program)?;
        let place = match program {
            Program::Transmit | Program::Guard => TC_EGRESS,
            Program::Receive => TC_INGRESS,
        };
        let builder = {
            let mut builder = TcHookBuilder::new(found.as_fd());
            // One of a former life has the same handle, and is replaced at once.
            builder.ifindex(interface as i32).replace(true).handle(1).priority(PRIORITY);
            builder
        };
        let mut hook = builder.hook(place);
        hook.create()?;
        Ok(hook.attach()?)
    }
}

/// Behind filters of those who were there before and chose low numbers.
const PRIORITY: u32 = 49_152;

impl Attachment {
    /// The device that a program is on which a former life kept at a path.
    pub fn kept_on(path: &Path) -> Option<u32> {
        match Link::open(path).ok()?.info().ok()?.info {
            LinkTypeInfo::Tcx(info) => Some(info.ifindex),
            _ => None,
        }
    }

    /// Lets it outlive this process, and be found at a path of a BPF file system.
    ///
    /// # Errors
    /// The path cannot be.
    pub fn keep(&mut self, path: &Path) -> Result<(), Error> {
        match &mut self.kind {
            Kind::Tcx(link) => Ok(link.pin(path)?),
            Kind::Clsact(_, keep) => {
                *keep = Keep::Yes;
                Ok(())
            }
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
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::Pin(path.to_owned(), error))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Kind::Clsact(hook, Keep::No) = &mut self.kind {
            // The qdisc stays: others may use it by now.
            let _ = hook.detach();
        }
    }
}
