//! Blocks taken from a pool.

use super::block::{Family, block_bits, number, prefix_length};
use super::layout::{Layout, Step, align};
use super::segment::Segment;
use crate::diagnostic::Diagnostic;
use crate::network::AddressPools;
use ipnet::IpNet;

/// The pool of one IP version.
pub(super) struct Pool {
    family: Family,
    prefix: IpNet,
}

impl Pool {
    pub fn all(pools: &AddressPools) -> impl Iterator<Item = Self> {
        let ipv4 = pools.ipv4.map(|net| Self { family: Family::V4, prefix: IpNet::V4(net) });
        let ipv6 = pools.ipv6.map(|net| Self { family: Family::V6, prefix: IpNet::V6(net) });
        ipv4.into_iter().chain(ipv6)
    }

    /// Gives every segment without a prefix of this version the next free block in the layout's order.
    pub fn fill(
        &self,
        segments: &[Segment],
        reserved: &[IpNet],
        layout: &Layout,
        padded: bool,
        filled: &mut [Vec<IpNet>],
    ) -> Result<(), Diagnostic> {
        let family = self.family;
        let (first, end) = (number(self.prefix.network()), number(self.prefix.broadcast()));
        let room = family.bits() - self.prefix.prefix_len();
        let needs: Vec<Option<u8>> = segments
            .iter()
            .zip(filled.iter())
            .map(|(segment, prefixes)| {
                let has = prefixes.iter().any(|prefix| Family::of(prefix) == family);
                let bits = || block_bits(family, segment.point_to_point, segment.ports.len());
                (!has && !segment.ports.is_empty()).then(bits)
            })
            .collect();
        // A pool too small for a /64 for every link still has room for a /127.
        let tight = |segment: usize| {
            let length = |bits| prefix_length(family, segments[segment].point_to_point, bits);
            needs[segment].map(|bits| family.bits() - length(bits))
        };
        let roomy = |segment: usize| needs[segment];
        let (mut steps, mut total) = layout.steps(&roomy, padded);
        let mut sizes: &dyn Fn(usize) -> Option<u8> = &roomy;
        if total > room {
            (steps, total) = layout.steps(&tight, false);
            sizes = &tight;
        }
        let mut taken: Vec<(u128, u128)> = reserved
            .iter()
            .filter(|net| Family::of(net) == family && super::overlaps(net, &self.prefix))
            .map(|net| (number(net.network()), number(net.broadcast())))
            .collect();
        taken.sort_unstable();
        // Choice: begin one whole layout into the pool where it is large enough, so that its blocks are aligned and
        // 10.0.0.0, which looks like a network's own address, is nobody's.
        let start = 1u128.checked_shl(total.max(family.bits().saturating_sub(24).min(8)).into());
        let start = start.filter(|_| total + 1 < room).unwrap_or(0);
        let mut cursor = start;
        let mut next = 0;
        for step in steps {
            match step {
                Step::Align(bits) => cursor = align(cursor, bits),
                Step::Place(segment) => {
                    let Some(bits) = sizes(segment) else { continue };
                    let size = 1u128.checked_shl(bits.into()).unwrap_or(u128::MAX);
                    cursor = align(cursor, bits);
                    while let Some(&(from, to)) = taken.get(next) {
                        if to < first.saturating_add(cursor) {
                            next += 1;
                        } else if from <= first.saturating_add(cursor).saturating_add(size - 1) {
                            cursor = align((to - first).saturating_add(1), bits);
                        } else {
                            break;
                        }
                    }
                    let block = first
                        .checked_add(cursor)
                        .filter(|block| block.checked_add(size - 1).is_some_and(|last| last <= end));
                    let Some(block) = block else {
                        return Err(self.used_up(&segments[segment]));
                    };
                    let length = prefix_length(family, segments[segment].point_to_point, bits);
                    filled[segment].push(family.net(block, length));
                    cursor += size;
                }
            }
        }
        Ok(())
    }

    fn used_up(&self, segment: &Segment) -> Diagnostic {
        let (version, key) = match self.family {
            Family::V4 => ("IPv4", "ipv4"),
            Family::V6 => ("IPv6", "ipv6"),
        };
        Diagnostic::new(
            segment.span,
            format!("the {version} pool {} has no room left for `{}`", self.prefix, segment.key),
        )
        .help(format!("give a larger pool: `defaults: {{{key}: PREFIX}}`"))
    }
}
