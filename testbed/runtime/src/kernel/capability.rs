//! Linux capabilities: which of them a node's programs keep.

use std::io;

/// A capability by its kernel number (`linux/capability.h`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Capability {
    /// Change file owners.
    Chown = 0,
    /// Bypass file permission checks.
    DacOverride = 1,
    /// Bypass ownership checks.
    Fowner = 3,
    /// Keep set-id bits.
    Fsetid = 4,
    /// Signal any process of the sandbox.
    Kill = 5,
    /// Change group IDs.
    Setgid = 6,
    /// Change user IDs.
    Setuid = 7,
    /// Drop capabilities.
    Setpcap = 8,
    /// Ports below 1024.
    NetBindService = 10,
    /// Broadcast and multicast.
    NetBroadcast = 11,
    /// Configure the node's own network.
    NetAdmin = 12,
    /// Raw and packet sockets.
    NetRaw = 13,
    /// Lock memory.
    IpcLock = 14,
    /// Change root.
    SysChroot = 18,
    /// Mounts and namespaces; only for programs that Plait itself starts.
    SysAdmin = 21,
    /// Scheduling priority.
    SysNice = 23,
    /// eBPF programs that the kernel trusts with pointers; only for programs that Plait itself starts.
    Perfmon = 38,
    /// eBPF; only for programs that Plait itself starts.
    Bpf = 39,
}

const LAST: u8 = 63;

/// What programs in a node keep: everything over their own network and files, nothing that reaches the host.
///
/// Choice: a list of what stays, not of what goes, so that a capability that a newer kernel adds is dropped.
/// `CAP_SYS_ADMIN` goes too, because with it a root node could make the read-only view of the host writable.
pub const NODE: &[Capability] = &[
    Capability::Chown,
    Capability::DacOverride,
    Capability::Fowner,
    Capability::Fsetid,
    Capability::Kill,
    Capability::Setgid,
    Capability::Setuid,
    Capability::Setpcap,
    Capability::NetBindService,
    Capability::NetBroadcast,
    Capability::NetAdmin,
    Capability::NetRaw,
    Capability::IpcLock,
    Capability::SysChroot,
];

/// What routing daemons keep beyond [`NODE`]: zebra asks for it at start (`privs_init`).
pub const DAEMON_MORE: &[Capability] = &[Capability::SysAdmin, Capability::SysNice];

/// What overlay agents keep beyond [`NODE`]: the kernel takes no eBPF program from others.
pub const AGENT_MORE: &[Capability] = &[Capability::Perfmon, Capability::Bpf];

/// A set of capabilities as the kernel's bit mask.
pub fn mask(set: &[Capability]) -> u64 {
    set.iter().fold(0, |mask, capability| mask | 1 << *capability as u8)
}

/// What the calling process may do now, as [`mask`].
pub fn effective() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Limits the calling process for good: the bounding set becomes `keep`, and with `ambient` the same set is handed to
/// programs that a user other than root runs.
///
/// Only makes system calls, so it may run between `fork` and `exec`.
pub fn limit(keep: u64, ambient: bool) -> io::Result<()> {
    for capability in 0..=LAST {
        if keep & (1 << capability) != 0 {
            continue;
        }
        // SAFETY: plain integers; dropping what is not there is an error that is looked at below.
        let done = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(capability), 0, 0, 0) };
        if done != 0 {
            let error = io::Error::last_os_error();
            // EINVAL: the kernel has no capability of that number.
            if error.raw_os_error() == Some(libc::EINVAL) {
                break;
            }
            return Err(error);
        }
    }
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Data {
        effective: u32,
        permitted: u32,
        inheritable: u32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    let header = Header { version: VERSION_3, pid: 0 };
    let half = |bits: u64| Data { effective: bits as u32, permitted: bits as u32, inheritable: bits as u32 };
    let data = [half(keep & 0xffff_ffff), half(keep >> 32)];
    // SAFETY: both structs have the layout of capset(2), version 3, and live until the call returns.
    if unsafe { libc::syscall(libc::SYS_capset, &header, data.as_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if ambient {
        for capability in (0..=LAST).filter(|capability| keep & (1 << capability) != 0) {
            // SAFETY: plain integers.
            let done = unsafe {
                libc::prctl(
                    libc::PR_CAP_AMBIENT,
                    libc::PR_CAP_AMBIENT_RAISE as libc::c_ulong,
                    libc::c_ulong::from(capability),
                    0,
                    0,
                )
            };
            if done != 0 {
                return Err(io::Error::last_os_error());
            }
        }
    }
    Ok(())
}
