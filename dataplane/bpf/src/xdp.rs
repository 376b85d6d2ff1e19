//! XDP: programs in a device's driver, and which devices take packets from them.

use crate::programs::{Error, Programs};
use crate::table::names;
use libbpf_rs::{Link, ProgramMut};
use libbpf_sys::{XDP_ATTACHED_DRV, bpf_xdp_query, bpf_xdp_query_opts, size_t};

/// A device sends what XDP redirects to it: NETDEV_XDP_ACT_NDO_XMIT of the kernel's `netdev` family.
const SENDS: u64 = 4;

/// Puts a program into a device's driver.
///
/// Choice: not where the kernel would run it behind the driver, on packets that it has made already: that costs more than
/// what comes next.
pub(crate) fn link(program: &ProgramMut<'_>, interface: u32) -> Result<Link, Error> {
    let number = i32::try_from(interface).map_err(|_| Error::Absent("such device"))?;
    let link = program.attach_xdp(number)?;
    match query(interface) {
        Ok(told) if u32::from(told.attach_mode) == XDP_ATTACHED_DRV => Ok(link),
        Ok(_) => Err(Error::NoXdp),
        Err(error) => Err(error),
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
}
