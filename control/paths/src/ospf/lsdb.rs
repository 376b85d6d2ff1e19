//! Link state advertisements: the newest instance of each.

use plait_model_wire::ospf::{Contents, DO_NOT_AGE, Lsa, LsaHeader, LsaKey, MAX_AGE};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::time::Duration;

/// So many bytes of advertisements are kept, besides. Choice: those of ten thousand switches of 48 ports have a tenth of it.
const MOST_BYTES: usize = 64 << 20;

/// The newest instance of each advertisement, and how old it is.
#[derive(Debug, Clone, Default)]
pub struct Lsdb {
    entries: BTreeMap<LsaKey, Entry>,
    version: u64,
    /// What bodies of all take.
    bytes: usize,
    /// The first moment at which one may be too old.
    next_expiry: Option<Duration>,
}

#[derive(Debug, Clone)]
struct Entry {
    lsa: Lsa,
    contents: Contents,
    since: Duration,
}

/// What became of an advertisement that was offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// It is newer than what was known, and was taken.
    Taken,
    /// It is what is known.
    Known,
    /// Something newer is known: this.
    Older(Box<Lsa>),
    /// It cannot be: a wrong checksum, an unknown kind, contents that cannot be read.
    Refused,
    /// As many are kept as may be: it is left out.
    NoRoom,
}

impl Lsdb {
    /// So many advertisements are kept; further ones are left out. Choice: those of a fabric have a hundred times fewer.
    pub const MOST: usize = 100_000;

    /// A number that is another whenever what the advertisements say is another. Instances that only repeat it do not count.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What each says.
    pub fn contents(&self) -> impl Iterator<Item = (&LsaKey, &Contents)> {
        self.entries.iter().map(|(key, entry)| (key, &entry.contents))
    }

    /// Whether there is one.
    pub fn contains(&self, key: &LsaKey) -> bool {
        self.entries.contains_key(key)
    }

    /// An advertisement as it is now.
    pub fn get(&self, key: &LsaKey, now: Duration) -> Option<Lsa> {
        self.entries.get(key).map(|entry| entry.aged(now))
    }

    /// Which instance is newer: that with this header, or the known one; greater with none known.
    pub fn compare(&self, header: &LsaHeader, now: Duration) -> Ordering {
        match self.entries.get(&header.key) {
            Some(entry) => header.newer(&entry.header(now)),
            None => Ordering::Greater,
        }
    }

    /// Takes an advertisement if it is new. One that is flushed is not kept: it takes away what is known.
    pub fn offer(&mut self, lsa: Lsa, now: Duration) -> Offer {
        let key = lsa.header.key;
        let is_known_kind = matches!(key.kind, 1..=5 | 7 | 9..=11);
        let contents = lsa.contents();
        let (true, true, Ok(contents)) = (is_known_kind, lsa.is_intact(), contents) else {
            return Offer::Refused;
        };
        match self.compare(&lsa.header, now) {
            Ordering::Less => return Offer::Older(Box::new(self.entries[&key].aged(now))),
            Ordering::Equal => return Offer::Known,
            Ordering::Greater => {}
        }
        if lsa.header.seconds() == MAX_AGE {
            self.remove(&key);
            return Offer::Taken;
        }
        let known = self.entries.get(&key);
        let bytes = self.bytes + lsa.body.len() - known.map_or(0, |known| known.lsa.body.len());
        if known.is_none() && self.entries.len() >= Self::MOST || bytes > MOST_BYTES.max(self.bytes) {
            return Offer::NoRoom;
        }
        self.bytes = bytes;
        if known.is_none_or(|known| known.contents != contents) {
            self.version += 1;
        }
        let entry = Entry { lsa, contents, since: now };
        if let Some(expiry) = entry.expiry() {
            self.next_expiry = Some(self.next_expiry.map_or(expiry, |next| next.min(expiry)));
        }
        self.entries.insert(key, entry);
        Offer::Taken
    }

    /// Takes an advertisement away.
    pub fn remove(&mut self, key: &LsaKey) {
        if let Some(gone) = self.entries.remove(key) {
            self.bytes -= gone.lsa.body.len();
            self.version += 1;
        }
    }

    /// Takes all away.
    pub fn clear(&mut self) {
        self.version += u64::from(!self.entries.is_empty());
        self.entries.clear();
        self.bytes = 0;
        self.next_expiry = None;
    }

    /// When the next may be too old.
    pub fn next_expiry(&self) -> Option<Duration> {
        self.next_expiry
    }

    /// Takes away what is too old, and was not repeated by its router.
    pub fn expire(&mut self, now: Duration) {
        if self.next_expiry.is_none_or(|next| next > now) {
            return;
        }
        let before = self.entries.len();
        self.entries.retain(|_, entry| entry.expiry().is_none_or(|expiry| expiry > now));
        self.version += u64::from(self.entries.len() != before);
        self.bytes = self.entries.values().map(|entry| entry.lsa.body.len()).sum();
        self.next_expiry = self.entries.values().filter_map(Entry::expiry).min();
    }
}

impl Entry {
    fn header(&self, now: Duration) -> LsaHeader {
        let header = self.lsa.header;
        let grown = match header.age & DO_NOT_AGE {
            0 => now.saturating_sub(self.since).as_secs().min(MAX_AGE.into()) as u16,
            _ => 0,
        };
        LsaHeader { age: header.age & DO_NOT_AGE | (header.seconds() + grown).min(MAX_AGE), ..header }
    }

    fn aged(&self, now: Duration) -> Lsa {
        Lsa { header: self.header(now), body: self.lsa.body.clone() }
    }

    fn expiry(&self) -> Option<Duration> {
        let left = Duration::from_secs((MAX_AGE - self.lsa.header.seconds()).into());
        (self.lsa.header.age & DO_NOT_AGE == 0).then(|| self.since + left)
    }
}
