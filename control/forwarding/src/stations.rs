//! Where stations are: the state `stations`, and the stream `learned` that it grows from.

use crate::frame::is_station;
use crate::line::{Line, PART};
use crate::shards::{Seek, Shards};
use plait_control_openflow::Port;
use plait_control_runtime::{Kind, Mismatch, Type, Value, View, Wit, wit};
use plait_model_wire::ethernet::Mac;
use rpds::RedBlackTreeMapSync;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Of each switch, by which port it reaches which station. A copy costs nothing; two look-ups answer a request.
#[derive(Debug, Clone, Default)]
pub struct Stations {
    tables: Shards<Option<Arc<Table>>>,
    /// That of switch 0, which is no number of the others.
    zero: Option<Arc<Table>>,
    /// How many stations of all switches are known.
    all: usize,
}

/// Stations of all switches that are known at most, but for [`FEW`] of each. Choice: four million take some 200 MB; a
/// thousand switches that each see four thousand stations have as many.
const MOST: usize = 1 << 22;
/// Stations that a switch may have though there is no room for more.
const FEW: usize = 64;

/// The stations of one switch.
#[derive(Debug, Clone, Default)]
pub struct Table {
    stations: Shards<Station>,
    behind: RedBlackTreeMapSync<Port, Behind>,
    /// The number of the next that is learned.
    next: u32,
}

/// The stations behind a port.
#[derive(Debug, Clone, Default)]
struct Behind {
    /// How many there are.
    count: usize,
    /// Places and stations in the order in which they were learned, of those that are there and of some that are not any more.
    learned: Line<(u32, u64)>,
}

/// Where a station is. Choice: in eight bytes, so that four stations lie in a cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Station {
    /// Behind this port.
    pub port: Port,
    /// Its place in the order in which they were learned.
    learned: u32,
}

impl Default for Station {
    fn default() -> Self {
        Self { port: Port::ANY, learned: 0 }
    }
}

impl Stations {
    /// The stations of a switch.
    #[inline]
    pub fn of(&self, switch: u64) -> Option<&Table> {
        let table = if switch == 0 { &self.zero } else { self.tables.get(switch)? };
        table.as_deref()
    }

    /// All switches' tables, in no order.
    fn all(&self) -> impl Iterator<Item = (u64, &Table)> {
        let zero = self.zero.iter().map(|table| (0, &**table));
        zero.chain(self.tables.iter().filter_map(|(switch, table)| Some((switch, table.as_deref()?))))
    }

    /// The switches of which any are known, in no order.
    pub(crate) fn switches(&self) -> impl Iterator<Item = u64> {
        self.all().map(|(switch, _)| switch)
    }

    /// The ports of a switch behind which any are known.
    pub(crate) fn ports(&self, switch: u64) -> impl Iterator<Item = Port> {
        self.of(switch).into_iter().flat_map(|table| table.behind.keys().copied())
    }

    /// How many stations of a switch are known.
    pub fn count(&self, switch: u64) -> usize {
        self.of(switch).map_or(0, |table| table.stations.count())
    }

    /// Learns that a station is behind a port. At most `most` stations of a switch are known, and no
    /// group is one. Gives the port that it was
    /// behind, if that was another one; nothing changes if it is known to be there.
    ///
    /// Choice: where there is no room, the port with the most stations loses the one that it learned first. So a flood
    /// of addresses costs the stations of the port that it comes by, and no other port's; and where all switches together know
    /// as many as may be, no other switch's.
    pub fn learn(&mut self, switch: u64, station: Mac, port: Port, most: usize) -> Option<Port> {
        self.learn_within(switch, station, port, most, MOST)
    }

    /// The same, with at most so many of all switches.
    fn learn_within(
        &mut self,
        switch: u64,
        station: Mac,
        port: Port,
        most: usize,
        of_all: usize,
    ) -> Option<Port> {
        if !is_station(station) {
            return None;
        }
        let key = number(station);
        if self.of(switch).is_none() {
            self.put(switch, Arc::default());
        }
        let all = self.all;
        let table = self.table(switch)?;
        let others = all - table.stations.count();
        let before = table.stations.get(key).copied();
        if before.is_some_and(|known| known.port == port) {
            return None;
        }
        if let Some(known) = before {
            table.remove(key, known);
        }
        let count = table.stations.count();
        // Where all are full together, it goes on with as many as it had.
        if before.is_none() && (FEW..most).contains(&count) && others + count >= of_all {
            table.lose();
        }
        while table.stations.count() >= most.max(1) && table.lose() {}
        let learned = table.number();
        table.put(key, Station { port, learned });
        let count = table.stations.count();
        self.all = others + count;
        before.map(|known| known.port)
    }

    /// Forgets all of a switch. Says whether there was anything.
    pub fn forget_switch(&mut self, switch: u64) -> bool {
        let was = self.of(switch).is_some();
        self.all -= self.count(switch);
        if switch == 0 {
            self.zero = None;
        } else {
            self.tables.remove(switch);
        }
        was
    }

    /// Forgets all behind a port. Says whether there was anything.
    pub fn forget_port(&mut self, switch: u64, port: Port) -> bool {
        let Some(mut table) = self.of(switch).cloned() else { return false };
        let Some(behind) = table.behind.get(&port).cloned() else { return false };
        for (learned, key) in behind.learned.iter() {
            if table.is_at(*key, Station { port, learned: *learned }) {
                table.stations.remove(*key);
            }
        }
        self.all -= behind.count;
        table.behind.remove_mut(&port);
        self.put(switch, Arc::new(table));
        true
    }

    fn put(&mut self, switch: u64, table: Arc<Table>) {
        if switch == 0 {
            self.zero = Some(table);
        } else {
            self.tables.insert(switch, Some(table));
        }
    }

    /// A table to change: what a copy of this holds, too, is copied first.
    fn table(&mut self, switch: u64) -> Option<&mut Table> {
        let table = if switch == 0 { &mut self.zero } else { self.tables.get_mut(switch)? };
        table.as_mut().map(Arc::make_mut)
    }
}

impl Table {
    /// The port by which the switch reaches a station.
    #[inline]
    pub fn port(&self, station: Mac) -> Option<Port> {
        self.stations.get(number(station)).map(|station| station.port)
    }

    #[inline]
    pub(crate) fn seek(&self, station: Mac) -> Seek<'_, Station> {
        self.stations.seek(number(station))
    }

    /// Whether a station is where it was learned to be then.
    fn is_at(&self, key: u64, then: Station) -> bool {
        self.stations.get(key) == Some(&then)
    }

    /// The port with the most stations loses the one that it learned first. Whether there was any.
    fn lose(&mut self) -> bool {
        let crowded = self.behind.iter().max_by_key(|(_, behind)| behind.count);
        let Some(port) = crowded.map(|(port, _)| *port) else { return false };
        while let Some((learned, key)) = self.behind.get_mut(&port).and_then(|behind| behind.learned.pop()) {
            let known = Station { port, learned };
            if self.is_at(key, known) {
                self.remove(key, known);
                return true;
            }
        }
        false
    }

    /// The place of a station that is learned now. When there are no more numbers, places are numbered from 0 again.
    fn number(&mut self) -> u32 {
        if self.next == u32::MAX {
            let order: BTreeMap<u32, (u64, Port)> =
                self.stations.iter().map(|(key, known)| (known.learned, (key, known.port))).collect();
            self.behind = RedBlackTreeMapSync::new_sync();
            self.next = 0;
            for (key, port) in order.into_values() {
                let learned = self.next;
                self.next += 1;
                self.put(key, Station { port, learned });
            }
        }
        self.next += 1;
        self.next - 1
    }

    fn put(&mut self, key: u64, station: Station) {
        self.stations.insert(key, station);
        if self.behind.get(&station.port).is_none() {
            self.behind.insert_mut(station.port, Behind::default());
        }
        if let Some(behind) = self.behind.get_mut(&station.port) {
            behind.count += 1;
            behind.learned.push((station.learned, key));
        }
    }

    fn remove(&mut self, key: u64, known: Station) {
        self.stations.remove(key);
        let Some(behind) = self.behind.get_mut(&known.port) else { return };
        behind.count -= 1;
        if behind.count == 0 {
            self.behind.remove_mut(&known.port);
        } else if behind.learned.len() > 2 * behind.count + PART {
            // More have gone than are there.
            let all = std::mem::take(&mut behind.learned);
            let (stations, port) = (&self.stations, known.port);
            let is_there = |(learned, key): &&(u32, u64)| {
                stations.get(*key) == Some(&Station { port, learned: *learned })
            };
            behind.learned.extend(all.iter().filter(is_there).copied());
        }
    }
}

/// An address as a number, which is hashed in one step.
#[inline]
pub(crate) fn number(Mac([a, b, c, d, e, f]): Mac) -> u64 {
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}

fn address(number: u64) -> [u8; 6] {
    let [_, _, a, b, c, d, e, f] = number.to_be_bytes();
    [a, b, c, d, e, f]
}

type Plain = Vec<(u64, Vec<([u8; 6], Port)>)>;

/// `list<tuple<switch, list<tuple<address, port>>>>`, stations in the order in which they were learned.
impl Wit for Stations {
    fn schema() -> Type {
        Plain::schema()
    }
    fn to_value(&self) -> Value {
        let table = |table: &Table| {
            let all: BTreeMap<u32, ([u8; 6], Port)> = table
                .stations
                .iter()
                .map(|(key, station)| (station.learned, (address(key), station.port)))
                .collect();
            all.into_values().collect::<Vec<_>>()
        };
        let all: BTreeMap<u64, _> = self.all().map(|(switch, own)| (switch, table(own))).collect();
        all.into_iter().collect::<Plain>().to_value()
    }
    fn from_value(value: &Value) -> Result<Self, Mismatch> {
        let mut all = Self::default();
        for (switch, stations) in Plain::from_value(value)? {
            for (station, port) in stations {
                all.learn_within(switch, Mac(station), port, usize::MAX, usize::MAX);
            }
        }
        Ok(all)
    }
}

impl View for Stations {
    const NAME: &'static str = "stations";
}

/// Stations that are new or that moved, each once: the stream `learned`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Learned {
    /// What was seen, in order.
    pub list: Vec<Seen>,
}
wit!(struct Learned { list });

impl View for Learned {
    const NAME: &'static str = "learned";
    const KIND: Kind = Kind::Stream;
}

/// A station was seen behind a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// By which switch.
    pub switch: u64,
    /// The switch's version as headers have it.
    pub version: u8,
    /// The station.
    pub station: [u8; 6],
    /// Behind this port.
    pub port: Port,
}
wit!(struct Seen { switch, version, station, port });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_may_be_number_nought() {
        let (mut all, mac) = (Stations::default(), Mac([2, 0, 0, 0, 0, 1]));
        for switch in [0, 1, u64::MAX] {
            all.learn(switch, mac, Port(3), 16);
        }
        let again = Stations::from_value(&all.to_value()).unwrap();
        let before = all.clone();
        for switch in [0, 1, u64::MAX] {
            assert_eq!(again.of(switch).unwrap().port(mac), Some(Port(3)));
            assert!(all.forget_port(switch, Port(3)) && all.count(switch) == 0);
            assert!(all.forget_switch(switch) && !all.forget_switch(switch));
            assert_eq!((all.count(switch), before.count(switch)), (0, 1));
        }
    }

    /// Switches that know as many together as may be: who learns more forgets its own, but each may have some.
    #[test]
    fn all_switches_together_know_no_more_than_may_be() {
        const ALL: usize = 1000;
        let mut all = Stations::default();
        let learn = |all: &mut Stations, switch: u64, count: u16| {
            for station in 0..count {
                let [high, low] = station.to_be_bytes();
                let port = Port(u32::from(station % 3));
                all.learn_within(switch, Mac([2, 0, 0, 0, high, low]), port, 600, ALL);
            }
        };
        for switch in 0..4 {
            learn(&mut all, switch, 700);
        }
        let counts = |all: &Stations| [0, 1, 2, 3].map(|switch| all.count(switch));
        assert_eq!(counts(&all), [600, 400, FEW, FEW]);
        // They are a few more than may be now; those who learn go on with as many as they had.
        for switch in 0..4 {
            all.learn_within(switch, Mac([2, 9, 9, 9, 9, 9]), Port(7), 600, ALL);
            assert!(all.of(switch).unwrap().port(Mac([2, 9, 9, 9, 9, 9])).is_some());
            all.learn_within(switch, Mac([2, 9, 9, 9, 9, 9]), Port(8), 600, ALL);
        }
        assert_eq!(counts(&all), [600, 400, FEW, FEW]);
        // What one forgets is room for another.
        assert!(all.forget_port(0, Port(1)) && all.forget_switch(1));
        learn(&mut all, 3, 700);
        let left = counts(&all);
        assert_eq!(left, [400, 0, FEW, ALL - 400 - FEW]);
        assert_eq!(all.all, left.iter().sum::<usize>());
    }

    /// Stations that move to and fro leave nothing behind, and the port that is crowded loses who is there, not who was.
    #[test]
    fn who_moves_leaves_nothing_behind() {
        let mut all = Stations::default();
        let mac = |number: u16| Mac([2, 0, 0, 0, number.to_be_bytes()[0], number.to_be_bytes()[1]]);
        for turn in 0..400u32 {
            for number in 0..40 {
                all.learn(7, mac(number), Port(1 + (turn + u32::from(number)) % 2), 40);
            }
        }
        let table = all.of(7).unwrap();
        assert_eq!(table.behind.iter().map(|(_, behind)| behind.count).collect::<Vec<_>>(), [20, 20]);
        assert!(table.behind.values().all(|behind| behind.learned.len() <= 2 * 20 + PART));
        // All go to one port, and one more comes: of them the first is lost.
        for number in (0..40).rev() {
            all.learn(7, mac(number), Port(3), 40);
        }
        all.learn(7, mac(40), Port(4), 40);
        let table = all.of(7).unwrap();
        let lost: Vec<u16> = (0..=40).filter(|number| table.port(mac(*number)).is_none()).collect();
        assert_eq!((lost, table.behind.size()), (vec![39], 2));
        assert!(all.forget_port(7, Port(3)));
        assert_eq!((all.count(7), all.all), (1, 1));
    }

    #[test]
    fn places_are_numbered_anew_when_there_are_no_more_numbers() {
        let mut all = Stations::default();
        let mac = |last| Mac([2, 0, 0, 0, 0, last]);
        for last in 1..=4 {
            all.learn(7, mac(last), Port(u32::from(last % 2)), 16);
        }
        all.table(7).unwrap().next = u32::MAX;
        all.learn(7, mac(5), Port(1), 16);
        let table = all.of(7).unwrap();
        assert_eq!((table.next, table.stations.count()), (5, 5));
        assert!((1..=5).all(|last| table.port(mac(last)) == Some(Port(u32::from(last % 2)))));
        // The port with the most loses its first.
        all.learn(7, mac(6), Port(2), 5);
        assert_eq!(all.of(7).unwrap().port(mac(1)), None);
        assert!(all.of(7).unwrap().port(mac(3)).is_some());
    }
}
