//! What will be read soon.

/// Has what begins here come into the processor's near memory, and does not wait for it.
///
/// Choice: by an instruction that only asks, and not by a read whose value nobody wants: a processor retires nothing behind such
/// a read until it is there. Where there is no such instruction, nothing is asked.
#[inline]
pub(crate) fn prefetch<T>(what: &T) {
    #[cfg(target_arch = "x86_64")]
    safe_arch::prefetch_t0(what);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = what;
}
