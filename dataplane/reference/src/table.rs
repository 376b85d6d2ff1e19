//! A table as the walk sees it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

/// Where a table finds what does not stand in it.
type Source<K, V> = Arc<dyn Fn(&K) -> Option<V> + Send + Sync>;

/// A table: what stands here, and before it perhaps another that is only read. What the walk writes stands here alone,
/// so that a packet can be walked by the tables of a kernel without leaving a trace in them.
#[derive(Clone)]
pub struct Table<K, V> {
    entries: HashMap<K, V>,
    source: Option<Source<K, V>>,
}

impl<K: Hash + Eq + Copy, V: Copy> Table<K, V> {
    /// An empty table before another.
    pub fn before(source: impl Fn(&K) -> Option<V> + Send + Sync + 'static) -> Self {
        Self { entries: HashMap::new(), source: Some(Arc::new(source)) }
    }

    /// The value of a key.
    pub fn get(&self, key: &K) -> Option<V> {
        let below = || self.source.as_ref().and_then(|source| source(key));
        self.entries.get(key).copied().or_else(below)
    }

    /// The value of a key, to be changed here.
    pub fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        if !self.entries.contains_key(key)
            && let Some(value) = self.get(key)
        {
            self.entries.insert(*key, value);
        }
        self.entries.get_mut(key)
    }

    /// Whether there is a value of a key.
    pub fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Self { entries: HashMap::new(), source: None }
    }
}

impl<K: Hash + Eq, V> FromIterator<(K, V)> for Table<K, V> {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(entries: T) -> Self {
        Self { entries: entries.into_iter().collect(), source: None }
    }
}

/// What stands here.
impl<K, V> Deref for Table<K, V> {
    type Target = HashMap<K, V>;

    fn deref(&self) -> &HashMap<K, V> {
        &self.entries
    }
}

impl<K, V> DerefMut for Table<K, V> {
    fn deref_mut(&mut self) -> &mut HashMap<K, V> {
        &mut self.entries
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.entries.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_stands_here_and_what_is_before_is_only_read() {
        let mut table = Table::before(|key: &u32| Some(*key * 10).filter(|_| *key < 5));
        assert_eq!((table.get(&3), table.get(&7)), (Some(30), None));
        assert!(table.is_empty(), "reading writes nothing");
        *table.get_mut(&3).unwrap() += 1;
        table.insert(7, 1);
        assert_eq!((table.get(&3), table.get(&7), table.len()), (Some(31), Some(1), 2));
        assert!(table.get_mut(&9).is_none() && !table.contains_key(&9) && table.contains_key(&4));
    }
}
