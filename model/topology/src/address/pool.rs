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

    /// Gives every segment without a prefix of this version the next free block in the layout's order; where the pool
    /// is too small for that, the largest first wherever they fit.
    pub fn fill(
        &self,
        segments: &[Segment],
        reserved: &[IpNet],
        layout: &Layout,
        padded: bool,
        filled: &mut [Vec<IpNet>],
    ) -> Result<(), Diagnostic> {
        let family = self.family;
        let room = family.bits() - self.prefix.prefix_len();
        let length = |segment: usize, bits| prefix_length(family, segments[segment].point_to_point, bits);
        let needs: Vec<Option<u8>> = segments
            .iter()
            .zip(filled.iter())
            .map(|(segment, prefixes)| {
                let has = prefixes.iter().any(|prefix| Family::of(prefix) == family);
                let bits = || block_bits(family, segment.point_to_point, segment.ports.len());
                (!has && !segment.ports.is_empty()).then(bits)
            })
            .collect();
        let mut taken: Vec<(u128, u128)> = reserved
            .iter()
            .filter(|net| Family::of(net) == family && super::overlaps(net, &self.prefix))
            .map(|net| (number(net.network()), number(net.broadcast())))
            .collect();
        taken.sort_unstable();

        let (steps, total) = layout.steps(&|segment| needs[segment], padded);
        // Choice: begin one whole layout into the pool where it is large enough, so that its blocks are aligned and
        // 10.0.0.0, which looks like a network's own address, is nobody's.
        let ahead = total.max(8);
        let starts = [Some(1u128.checked_shl(ahead.into()).unwrap_or(0)).filter(|_| ahead < room), Some(0)];
        let mut placed = Err(0);
        for start in starts.into_iter().flatten() {
            placed = placed.or_else(|_| self.place(&steps, &needs, start, &taken));
        }
        // A pool too small for a /64 for every link still has room for a /127.
        let placed = placed.or_else(|_| {
            let tight: Vec<Option<u8>> = needs
                .iter()
                .enumerate()
                .map(|(at, bits)| bits.map(|bits| family.bits() - length(at, bits)))
                .collect();
            self.squeeze(&tight, taken)
        });
        for (segment, block) in placed.map_err(|segment| self.used_up(&segments[segment]))? {
            let bits = needs[segment].unwrap_or_default();
            filled[segment].push(family.net(block, length(segment, bits)));
        }
        Ok(())
    }

    /// Blocks in the order of the steps, from a start within the pool, around what is taken; else the segment that
    /// finds no room.
    fn place(
        &self,
        steps: &[Step],
        bits: &[Option<u8>],
        start: u128,
        taken: &[(u128, u128)],
    ) -> Result<Vec<(usize, u128)>, usize> {
        let (first, end) = (number(self.prefix.network()), number(self.prefix.broadcast()));
        let mut blocks = Vec::new();
        let mut cursor = start;
        let mut next = 0;
        for step in steps {
            let segment = match *step {
                Step::Align(bits) => {
                    cursor = align(cursor, bits);
                    continue;
                }
                Step::Place(segment) => segment,
            };
            let Some(bits) = bits[segment] else { continue };
            let last = 1u128.checked_shl(bits.into()).ok_or(segment)? - 1;
            cursor = align(cursor, bits);
            while let Some(&(from, to)) = taken.get(next) {
                if to < first.saturating_add(cursor) {
                    next += 1;
                } else if from <= first.saturating_add(cursor).saturating_add(last) {
                    if to >= end {
                        return Err(segment);
                    }
                    cursor = align(to - first + 1, bits);
                } else {
                    break;
                }
            }
            let fits = |block: &u128| block.checked_add(last).is_some_and(|last| last <= end);
            blocks.push((segment, first.checked_add(cursor).filter(fits).ok_or(segment)?));
            cursor = cursor.saturating_add(last).saturating_add(1);
        }
        Ok(blocks)
    }

    /// The largest blocks first, each size from the beginning of the pool: if aligned blocks fit at all, they fit this
    /// way.
    fn squeeze(
        &self,
        bits: &[Option<u8>],
        mut taken: Vec<(u128, u128)>,
    ) -> Result<Vec<(usize, u128)>, usize> {
        let mut sizes: Vec<u8> = bits.iter().flatten().copied().collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut blocks = Vec::new();
        for size in sizes.into_iter().rev() {
            let steps = (0..bits.len()).filter(|&segment| bits[segment] == Some(size)).map(Step::Place);
            let placed = self.place(&steps.collect::<Vec<_>>(), bits, 0, &taken)?;
            taken.extend(placed.iter().map(|&(_, block)| (block, block + ((1 << size) - 1))));
            taken.sort_unstable();
            blocks.extend(placed);
        }
        Ok(blocks)
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
