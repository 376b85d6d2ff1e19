//! Which way a switch sends to each station: shortest paths through switches alone.
//!
//! Choice: tables are complete from the start, as after every station was heard once; nothing is flooded and nothing
//! learned. Where switches form a loop, the path with the fewest of them is taken, and the first link's of equals.

use super::{Builder, Kind};
use crate::fabric::DirectionNumber;
use std::collections::{HashMap, VecDeque};

/// For each node, if it is a switch, the direction to take to each station on its segment.
pub(super) fn tables(builder: &Builder) -> Vec<HashMap<u32, DirectionNumber>> {
    let mut tables = vec![HashMap::new(); builder.nodes.len()];
    let is_switch = |node: u32| builder.nodes[node as usize].kind == Kind::Switch;
    let far = |out: DirectionNumber| builder.links[(out / 2) as usize].ends[(1 - out % 2) as usize];
    for (number, node) in builder.nodes.iter().enumerate() {
        for &station in node.out.iter().filter(|&&out| !is_switch(number as u32) && is_switch(far(out))) {
            // Back from the station's interface, away from it through the switches.
            let mut queue = VecDeque::from([(far(station), station ^ 1)]);
            while let Some((switch, towards)) = queue.pop_front() {
                let table: &mut HashMap<u32, DirectionNumber> = &mut tables[switch as usize];
                if table.contains_key(&station) {
                    continue;
                }
                table.insert(station, towards);
                for &out in &builder.nodes[switch as usize].out {
                    if is_switch(far(out)) {
                        queue.push_back((far(out), out ^ 1));
                    }
                }
            }
        }
    }
    tables
}
