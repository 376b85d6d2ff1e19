//! The kernel's token bucket, for links of which nothing but a rate is asked: exact, and without a detour through user
//! space.
//!
//! Choice: TBF and never HTB. Under BBR, HTB gave 3 to 8 % of the rate at 1 to 10 Mbit/s where TBF gave
//! 96 %: TBF cuts packets of many frames, while HTB hands them whole to a queue that may have no room for one
//! (studies/vito, E4).

use crate::netlink::Route;
use crate::sys::interface_index;
use crate::traffic_control::{KIND, OPTIONS, ROOT, request};
use plait_model_quantity::{Bandwidth, ByteCount};
use std::io;

const PARMS: u16 = 1;
const RATE64: u16 = 4;
const BURST: u16 = 6;

/// Shapes what a device of the calling thread's namespace sends. `burst` is how much may leave back to back, see
/// [`plait_model_link::tbf_burst`]; `limit` how much may wait. Replaces a bucket that is there.
pub fn attach(ifname: &str, rate: Bandwidth, burst: ByteCount, limit: ByteCount) -> io::Result<()> {
    let bytes_per_second = rate.bits_per_second().div_ceil(8);
    let limit = u32::try_from(limit.bytes()).unwrap_or(u32::MAX);
    let message = request(
        libc::RTM_NEWQDISC,
        libc::NLM_F_CREATE | libc::NLM_F_REPLACE,
        interface_index(ifname)?,
        0,
        ROOT,
        0,
    )
    .text(KIND, "tbf")
    .nest(OPTIONS, |options| {
        let options = options
            .attribute(PARMS, &parameters(bytes_per_second, limit))
            .attribute(BURST, &u32::try_from(burst.bytes()).unwrap_or(u32::MAX).to_ne_bytes());
        match u32::try_from(bytes_per_second) {
            Ok(_) => options,
            Err(_) => options.attribute(RATE64, &bytes_per_second.to_ne_bytes()),
        }
    });
    Route::open()?.request(message)
}

/// Takes away the bucket, or whatever else shapes the device; what waits in it is gone. No error if there is none.
pub fn detach(ifname: &str) -> io::Result<()> {
    let message = request(libc::RTM_DELQDISC, 0, interface_index(ifname)?, 0, ROOT, 0);
    match Route::open()?.request(message) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

/// `struct tc_tbf_qopt`: a rate, no peak rate, the limit. The link layer is given, so the kernel wants no rate table.
fn parameters(bytes_per_second: u64, limit: u32) -> [u8; 36] {
    const ETHERNET: u8 = 1;
    let mut bytes = [0; 36];
    bytes[1] = ETHERNET;
    bytes[8..12].copy_from_slice(&u32::try_from(bytes_per_second).unwrap_or(u32::MAX).to_ne_bytes());
    bytes[24..28].copy_from_slice(&limit.to_ne_bytes());
    bytes
}
