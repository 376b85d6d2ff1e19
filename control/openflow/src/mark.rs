//! What tells a controller's own flows from all others: the cookies that it gives them.
//!
//! ```text
//!   63                              32 31                    8 7          0
//!  +----------------------------------+-----------------------+------------+
//!  |          506c6169, `Plai`        |   whose, by its name  |   number   |
//!  +----------------------------------+-----------------------+------------+
//! ```

use std::fmt;

/// The upper half of the cookies of all Plait's controllers.
const PLAIT: u64 = 0x506c_6169 << 32;

/// The mark of one controller. Another of the same name has the same: one that is started again goes on with the flows of the one
/// before, and of two that command the same switches one must have another name, or both delete what is the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark(u64);

impl Mark {
    /// The bits of a cookie that a mark has. The others are a number of the application's.
    pub const MASK: u64 = !0xff;

    /// That of a controller of this name, which says where it runs, too, if controllers elsewhere have the same. Choice: 24 bits of a
    /// hash (FNV-1a of 32 bits, folded), the same in every release: two names have one mark once in sixteen million.
    pub fn of(name: &str) -> Self {
        let hash = name
            .bytes()
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let folded = (hash >> 24) ^ (hash & 0x00ff_ffff);
        Self(PLAIT | u64::from(folded) << 8)
    }

    /// The cookie of a flow that is this controller's own, with a number of the application's.
    pub const fn cookie(self, number: u8) -> u64 {
        self.0 | number as u64
    }
}

impl Default for Mark {
    /// That of a controller that nobody named.
    fn default() -> Self {
        Self::of("")
    }
}

impl fmt::Display for Mark {
    /// As a cookie whose number is nought.
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_its_names_in_every_release_and_tells_its_cookies_from_all_others() {
        assert_eq!(Mark::of("default").to_string(), "506c61693b5b4d00");
        assert_eq!(Mark::default().to_string(), "506c61691c9d4400");
        let (one, two) = (Mark::of("one"), Mark::of("two"));
        assert_eq!((one.cookie(7) ^ one.cookie(255)) & Mark::MASK, 0);
        assert_ne!((one.cookie(7) ^ two.cookie(7)) & Mark::MASK, 0);
        assert_ne!((one.cookie(7) ^ 7) & Mark::MASK, 0);
    }
}
