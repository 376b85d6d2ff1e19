//! Who is designated on a link with many routers, RFC 2328 section 9.4, as seen by one that never is.

use super::neighbor::Neighbor;
use std::net::Ipv4Addr;

const NOBODY: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// The designated router's address and its backup's: of those who say it of themselves the one with the highest priority,
/// then the highest ID. Where none is designated, the backup is.
///
/// Choice: where there is no backup either, nobody is. Others that are eligible will say who is, and this node follows.
pub(super) fn designated<'a>(neighbors: impl Iterator<Item = &'a Neighbor> + Clone) -> (Ipv4Addr, Ipv4Addr) {
    let best = |says: fn(&Neighbor) -> Ipv4Addr| {
        let candidates =
            neighbors.clone().filter(|of| of.hears_us() && of.priority > 0 && says(of) == of.address);
        candidates.max_by_key(|of| (of.priority, of.id)).map(|of| of.address)
    };
    let backup = {
        let candidates = neighbors.clone().filter(|of| {
            of.hears_us() && of.priority > 0 && of.backup == of.address && of.designated != of.address
        });
        candidates.max_by_key(|of| (of.priority, of.id)).map(|of| of.address)
    };
    let designated = best(|of| of.designated).or(backup);
    (designated.unwrap_or(NOBODY), backup.unwrap_or(NOBODY))
}
