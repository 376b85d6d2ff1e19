//! A heap of keys, for what a calendar has no day for.

/// Keys, the least first, in a heap of four children a node, which is half as deep as a binary one and compares within a
/// cache line.
#[derive(Debug, Clone, Default)]
pub(super) struct Heap(Vec<u128>);

const CHILDREN: usize = 4;

impl Heap {
    /// The least key.
    #[inline]
    pub fn first(&self) -> Option<u128> {
        self.0.first().copied()
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds a key.
    pub fn push(&mut self, key: u128) {
        let mut hole = self.0.len();
        self.0.push(key);
        while hole > 0 {
            let parent = (hole - 1) / CHILDREN;
            if self.0[parent] <= key {
                break;
            }
            self.0[hole] = self.0[parent];
            hole = parent;
        }
        self.0[hole] = key;
    }

    /// Takes the least key out.
    pub fn pop(&mut self) -> Option<u128> {
        let last = self.0.pop()?;
        let Some(first) = self.0.first().copied() else { return Some(last) };
        self.sink(last);
        Some(first)
    }

    /// All keys, in no order.
    pub fn drain(&mut self) -> impl Iterator<Item = u128> + '_ {
        self.0.drain(..)
    }

    /// Puts a key where the root was, and the root's heirs in order.
    fn sink(&mut self, key: u128) {
        let heap = &mut self.0[..];
        let mut hole = 0;
        loop {
            let child = hole * CHILDREN + 1;
            let children = heap.get(child..(child + CHILDREN).min(heap.len())).unwrap_or_default();
            let Some((which, least)) = children.iter().copied().enumerate().min_by_key(|(_, key)| *key)
            else {
                break;
            };
            if key <= least {
                break;
            }
            heap[hole] = least;
            hole = child + which;
        }
        heap[hole] = key;
    }
}
