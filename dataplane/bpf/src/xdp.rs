//! XDP: programs in a device's driver, and which devices take packets from them.

use crate::programs::{Error, Programs};
use crate::table::{Table, names};
use libbpf_rs::ProgramMut;
use libbpf_sys::{
    BPF_XDP, XDP_FLAGS_DRV_MODE, bpf_link_create, bpf_link_create_opts, bpf_obj_pin, bpf_xdp_query,
    bpf_xdp_query_opts, size_t,
};
use std::collections::BTreeSet;
use std::ffi::CString;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A device sends what XDP redirects to it: NETDEV_XDP_ACT_NDO_XMIT of the kernel's `netdev` family.
const SENDS: u64 = 4;

/// Puts a program into a device's driver.
///
/// Choice: not where the kernel would run it behind the driver, on packets that it has made already: that costs more than
/// what comes next.
pub(crate) fn link(program: &ProgramMut<'_>, interface: u32) -> Result<OwnedFd, Error> {
    let number = i32::try_from(interface).map_err(|_| Error::Absent("such device"))?;
    let options = bpf_link_create_opts {
        sz: size_of::<bpf_link_create_opts>() as size_t,
        flags: XDP_FLAGS_DRV_MODE,
        ..Default::default()
    };
    // SAFETY: the program and the options outlive this call, and the options are as long as they say.
    let link = unsafe { bpf_link_create(program.as_fd().as_raw_fd(), number, BPF_XDP, &options) };
    match -link {
        libc::EOPNOTSUPP => Err(Error::NoXdp),
        refusal @ 1.. => Err(Error::Bpf(std::io::Error::from_raw_os_error(refusal).into())),
        // SAFETY: libbpf gave us this descriptor, and nobody else has it.
        _ => Ok(unsafe { OwnedFd::from_raw_fd(link) }),
    }
}

/// Names a link in a BPF file system, which keeps it.
pub(crate) fn pin(link: &OwnedFd, path: &Path) -> Result<(), Error> {
    let name = CString::new(path.as_os_str().as_bytes())
        .map_err(|error| Error::Pin(path.to_owned(), error.into()))?;
    // SAFETY: the descriptor and the name, which ends with a nought, outlive this call.
    match unsafe { bpf_obj_pin(link.as_raw_fd(), name.as_ptr()) } {
        0 => Ok(()),
        number => Err(Error::Pin(path.to_owned(), std::io::Error::from_raw_os_error(-number))),
    }
}

fn query(interface: u32) -> Result<bpf_xdp_query_opts, Error> {
    let number = i32::try_from(interface).map_err(|_| Error::Absent("such device"))?;
    let mut told = bpf_xdp_query_opts { sz: size_of::<bpf_xdp_query_opts>() as size_t, ..Default::default() };
    // SAFETY: the structure is as long as it says, and outlives this call.
    match unsafe { bpf_xdp_query(number, 0, &mut told) } {
        0 => Ok(told),
        number => Err(Error::Bpf(std::io::Error::from_raw_os_error(-number).into())),
    }
}

impl Programs {
    /// Lets relays send to a device if it takes packets from XDP, and keeps them from it if not. Whether it does.
    ///
    /// The kernel says so since 6.3; of an older one no device is known to, and only what leaves by the device that it came by
    /// is relayed by XDP.
    ///
    /// # Errors
    /// No such device; the kernel's refusal.
    pub fn set_exit(&self, interface: u32) -> Result<bool, Error> {
        let exits = self.table(&names::EXITS)?;
        let sends = query(interface)?.feature_flags & SENDS != 0;
        if sends {
            exits.set(&interface, &interface)?;
        } else {
            exits.remove(&interface)?;
        }
        Ok(sends)
    }

    /// Whether relays send to a device what came by others.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn is_exit(&self, interface: u32) -> Result<bool, Error> {
        Ok(self.table(&names::EXITS)?.get(&interface)?.is_some())
    }

    /// Keeps relays from sending to a device.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn close_exit(&self, interface: u32) -> Result<(), Error> {
        self.table(&names::EXITS)?.remove(&interface).map(drop)
    }
}

/// Keeps relays whose tables a former life named in a folder from sending to devices, but for some.
///
/// # Errors
/// The kernel's refusal.
pub fn close_exits(folder: &Path, kept: &BTreeSet<u32>) -> Result<(), Error> {
    if !folder.join(names::EXITS.name).exists() {
        return Ok(());
    }
    let exits = Table::pinned(folder, &names::EXITS)?;
    let closed: Vec<u32> = exits.keys().filter(|exit| !kept.contains(exit)).collect();
    closed.iter().try_for_each(|exit| exits.remove(exit).map(drop))
}
