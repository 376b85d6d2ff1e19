//! In what order segments take their blocks, so that what is near in the network is near in number.
//!
//! A layout is a tree of groups. Groups and segments take blocks one after another; with padding, a group begins and
//! ends on a multiple of the power of two that holds it, so that one prefix covers it and nothing else.

use super::segment::Segment;
use std::collections::VecDeque;

/// One thing to do with the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Move to the next multiple of 2^bits.
    Align(u8),
    /// Give the segment the next block.
    Place(usize),
}

enum Child {
    Group(usize),
    Segment(usize),
}

/// A tree of groups. Group 0 is the root, and children have higher numbers than their parents.
pub(super) struct Layout {
    groups: Vec<Vec<Child>>,
}

impl Layout {
    /// As the file lists links and LANs.
    pub fn in_file_order(segments: &[Segment]) -> Self {
        Self { groups: vec![(0..segments.len()).map(Child::Segment).collect()] }
    }

    /// As the file lists nodes: each segment stands with the first node on it. Rows of grids stay together this way,
    /// however their links are listed.
    pub fn in_node_order(segments: &[Segment]) -> Self {
        let mut order: Vec<usize> = (0..segments.len()).collect();
        order.sort_by_key(|&segment| segments[segment].ports.iter().map(|port| port.node).min());
        Self { groups: vec![order.into_iter().map(Child::Segment).collect()] }
    }

    /// Breadth-first trees from the middle of each component; each node's subtree is a group, with the segment that
    /// leads up from it. On trees every node then needs one route for each child and one for the rest.
    pub fn as_trees(plugs: &Plugs, segments: &[Segment]) -> Self {
        let mut groups = vec![Vec::new()];
        let mut owner = vec![None; segments.len()];
        let mut visited = vec![false; plugs.of_node.len()];
        for start in 0..plugs.of_node.len() {
            if visited[start] || plugs.of_node[start].is_empty() {
                continue;
            }
            // The middle of a longest shortest path, by two sweeps.
            let far = *plugs.sweep(start, segments).0.last().expect("the start itself");
            let (order, parent) = plugs.sweep(far, segments);
            let mut middle = *order.last().expect("the start itself");
            let mut path = vec![middle];
            while let Some(up) = parent[middle] {
                middle = up;
                path.push(up);
            }
            let root = path[path.len() / 2];
            let (order, parent) = plugs.sweep(root, segments);
            let mut group_of = vec![0; plugs.of_node.len()];
            for &node in &order {
                visited[node] = true;
                let above = parent[node].map_or(0, |up| group_of[up]);
                groups.push(Vec::new());
                group_of[node] = groups.len() - 1;
                let group = groups.len() - 1;
                groups[above].push(Child::Group(group));
                for &segment in &plugs.of_node[node] {
                    // Segments go to the node that reaches them last, which is the child of a tree edge.
                    owner[segment] = Some(group);
                }
            }
        }
        for (segment, owner) in owner.into_iter().enumerate() {
            groups[owner.unwrap_or(0)].push(Child::Segment(segment));
        }
        Self { groups }
    }

    /// Nested dissection: the nodes nearer to one end of the network and those nearer to the other, halved again and
    /// again.
    pub fn in_halves(plugs: &Plugs, segments: &[Segment]) -> Self {
        let nodes: Vec<usize> =
            (0..plugs.of_node.len()).filter(|&node| !plugs.of_node[node].is_empty()).collect();
        let mut groups = vec![Vec::new()];
        let mut taken = vec![false; segments.len()];
        let mut side = vec![usize::MAX; plugs.of_node.len()];
        let mut round = 0;
        let mut open = vec![(0usize, nodes)];
        while let Some((group, nodes)) = open.pop() {
            if let [node] = nodes[..] {
                for &segment in &plugs.of_node[node] {
                    if !std::mem::replace(&mut taken[segment], true) {
                        groups[group].push(Child::Segment(segment));
                    }
                }
                continue;
            }
            for &node in &nodes {
                side[node] = round;
            }
            let far = *plugs.sweep_among(nodes.iter().copied(), &side, round, segments).last().unwrap_or(&0);
            let from_far = [far].into_iter().chain(nodes.iter().copied());
            let order = plugs.sweep_among(from_far, &side, round, segments);
            round += 1;
            let mut near = order;
            let rest = near.split_off(near.len().div_ceil(2));
            for half in [near, rest] {
                if !half.is_empty() {
                    groups.push(Vec::new());
                    let child = groups.len() - 1;
                    groups[group].push(Child::Group(child));
                    open.push((child, half));
                }
            }
        }
        for (segment, taken) in taken.into_iter().enumerate() {
            if !taken {
                groups[0].push(Child::Segment(segment));
            }
        }
        Self { groups }
    }

    /// The walk over the tree for segments of these sizes, and the bits of block it fills from an aligned start.
    pub fn steps(&self, bits: &dyn Fn(usize) -> Option<u8>, padded: bool) -> (Vec<Step>, u8) {
        // Bottom up: how large each group is, in bits.
        let mut group_bits = vec![0u8; self.groups.len()];
        let size_of = |child: &Child, group_bits: &[u8]| match child {
            Child::Group(group) => Some(group_bits[*group]).filter(|&bits| bits > 0),
            Child::Segment(segment) => bits(*segment),
        };
        let mut orders: Vec<Vec<usize>> = Vec::with_capacity(self.groups.len());
        for group in (0..self.groups.len()).rev() {
            let children = &self.groups[group];
            let mut order: Vec<usize> = (0..children.len()).collect();
            if padded {
                // Largest first leaves no holes between aligned blocks.
                order.sort_by_key(|&child| std::cmp::Reverse(size_of(&children[child], &group_bits)));
            }
            let mut cursor = 0u128;
            for &child in &order {
                if let Some(bits) = size_of(&children[child], &group_bits) {
                    cursor = align(cursor, bits)
                        .saturating_add(1u128.checked_shl(bits.into()).unwrap_or(u128::MAX));
                }
            }
            group_bits[group] =
                if cursor <= 1 { cursor as u8 } else { 128 - (cursor - 1).leading_zeros() as u8 };
            orders.push(order);
        }
        orders.reverse();
        let mut steps = Vec::new();
        let mut open = vec![(0usize, 0usize)];
        while let Some((group, at)) = open.pop() {
            if at == 0 && padded {
                steps.push(Step::Align(group_bits[group]));
            }
            match orders[group].get(at).map(|&child| &self.groups[group][child]) {
                Some(child) => {
                    open.push((group, at + 1));
                    match child {
                        Child::Group(inner) => open.push((*inner, 0)),
                        Child::Segment(segment) => {
                            steps.extend(bits(*segment).map(|_| Step::Place(*segment)))
                        }
                    }
                }
                None if padded => steps.push(Step::Align(group_bits[group])),
                None => (),
            }
        }
        let total = group_bits[0];
        (steps, total)
    }
}

/// The next multiple of 2^bits; the highest number when there is none.
pub(super) fn align(cursor: u128, bits: u8) -> u128 {
    let Some(size) = 1u128.checked_shl(bits.into()) else {
        return if cursor == 0 { 0 } else { u128::MAX };
    };
    cursor.checked_add(size - 1).map_or(u128::MAX, |up| up & !(size - 1))
}

/// Which segments each node is plugged into.
pub(super) struct Plugs {
    of_node: Vec<Vec<usize>>,
}

impl Plugs {
    pub fn new(nodes: usize, segments: &[Segment]) -> Self {
        let mut of_node = vec![Vec::new(); nodes];
        for (index, segment) in segments.iter().enumerate() {
            for port in &segment.ports {
                of_node[port.node].push(index);
            }
        }
        Self { of_node }
    }

    /// Nodes breadth first from one, and who found each.
    fn sweep(&self, start: usize, segments: &[Segment]) -> (Vec<usize>, Vec<Option<usize>>) {
        let mut parent = vec![None; self.of_node.len()];
        let mut seen = vec![false; self.of_node.len()];
        let mut crossed = vec![false; segments.len()];
        seen[start] = true;
        let mut order = vec![start];
        let mut at = 0;
        while let Some(&node) = order.get(at) {
            at += 1;
            for &segment in &self.of_node[node] {
                if std::mem::replace(&mut crossed[segment], true) {
                    continue;
                }
                for port in &segments[segment].ports {
                    if !std::mem::replace(&mut seen[port.node], true) {
                        parent[port.node] = Some(node);
                        order.push(port.node);
                    }
                }
            }
        }
        (order, parent)
    }

    /// All nodes of one side, breadth first from the first of `starts`, then from the next not yet seen.
    fn sweep_among(
        &self,
        starts: impl Iterator<Item = usize>,
        side: &[usize],
        round: usize,
        segments: &[Segment],
    ) -> Vec<usize> {
        let mut seen = std::collections::HashSet::new();
        let mut crossed = std::collections::HashSet::new();
        let mut order = Vec::new();
        let mut queue = VecDeque::new();
        for start in starts {
            if seen.insert(start) {
                queue.push_back(start);
            }
            while let Some(node) = queue.pop_front() {
                order.push(node);
                for &segment in &self.of_node[node] {
                    if crossed.insert(segment) {
                        for port in &segments[segment].ports {
                            if side[port.node] == round && seen.insert(port.node) {
                                queue.push_back(port.node);
                            }
                        }
                    }
                }
            }
        }
        order
    }
}
