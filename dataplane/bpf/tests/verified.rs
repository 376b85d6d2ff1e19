//! What the kernel says of programs that it has taken: how long its verifier looked at each, for which an agent waits when it starts
//! and with each device, and which tables they look into.

mod support;

use libbpf_rs::MapType;
use libbpf_rs::query::{MapInfoIter, ProgInfoIter, ProgInfoQueryOptions, ProgramInfo};
use plait_dataplane_bpf::Program;
use plait_dataplane_reference::tables::driver;
use support::Node;

/// Choice: a tenth of what the kernel allows. Where each way to a place in a program is looked at anew, it was twice as much.
const STEPS: u32 = 100_000;

#[test]
fn a_verifier_is_soon_through_with_each_program() {
    // Of what is loaded before this, some may be another version's.
    let known = ProgInfoIter::default().map(|program| program.id).max().unwrap_or(0);
    for driver in [driver::ETHERNET, driver::IP, driver::BITS, driver::PAYLOAD] {
        let Some(_node) = Node::new(Program::ALL, driver) else { return };
        for ours in Program::ALL {
            let steps: Vec<u32> = ProgInfoIter::default()
                .filter(|program| program.id > known && program.name == *ours.name())
                .map(|program| program.verified_insns)
                .collect();
            assert!(
                !steps.is_empty() && steps.iter().all(|steps| (1..STEPS).contains(steps)),
                "{ours:?}: {steps:?}"
            );
        }
    }
}

/// Tables by hash that a program's own function names, as often as it does, by their names.
fn hash_tables(program: &ProgramInfo) -> Vec<String> {
    /// A load of 64 bits, of which a table's number is one kind; and a call, of which one of a function below is one kind.
    const LOAD: u8 = 0x18;
    const OF_TABLE: u8 = 1;
    const CALL: u8 = 0x85;
    const OF_FUNCTION: u8 = 1;
    let instructions: Vec<(u8, u8, i16, i32)> = program
        .xlated_prog_insns
        .chunks_exact(8)
        .map(|bytes| {
            let number = i32::from_ne_bytes(bytes[4..].try_into().expect("four bytes"));
            // Of a call below it is how far that is away.
            let offset = i16::from_ne_bytes([bytes[2], bytes[3]]);
            (bytes[0], bytes[1] >> 4, offset, number)
        })
        .collect();
    assert!(instructions.len() > 100, "the kernel does not say what the program is");
    let functions = instructions.iter().enumerate();
    let functions = functions.filter(|(_, (code, source, ..))| (*code, *source) == (CALL, OF_FUNCTION));
    let own =
        functions.filter_map(|(at, (_, _, away, _))| (at + 1).checked_add_signed(isize::from(*away))).min();
    let own = own.unwrap_or(instructions.len());
    // A function ends with an exit, or goes back.
    let ends = |code: u8| [0x95, 0x05, 0x06].contains(&code);
    assert!(
        own > 100 && ends(instructions[own - 1].0),
        "no function begins at {own} of {}",
        instructions.len()
    );
    let tables: Vec<_> = MapInfoIter::default().filter(|table| program.map_ids.contains(&table.id)).collect();
    let named = instructions[..own].iter().filter_map(|(code, source, _, number)| {
        let is_table = (*code, *source) == (LOAD, OF_TABLE);
        tables.iter().find(|table| is_table && table.id == *number as u32)
    });
    let is_hash = |kind| {
        matches!(kind, MapType::Hash | MapType::LruHash | MapType::PercpuHash | MapType::LruPercpuHash)
    };
    let mut names: Vec<String> = named
        .filter(|table| is_hash(table.ty))
        .map(|table| table.name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn one_hash_lookup_leads_from_an_identifier_to_the_wire() {
    let known = ProgInfoIter::default().map(|program| program.id).max().unwrap_or(0);
    for driver in [driver::ETHERNET, driver::IP, driver::BITS, driver::PAYLOAD] {
        let Some(_node) = Node::new([Program::Transmit], driver) else { return };
        let options = ProgInfoQueryOptions::default().include_xlated_prog_insns(true).include_map_ids(true);
        let transmit = ProgInfoIter::with_query_opts(options)
            .filter(|program| program.id > known && program.name == *Program::Transmit.name())
            .max_by_key(|program| program.id)
            .expect("it was loaded");
        // Whence a packet came is asked for a group's copies alone.
        assert_eq!(hash_tables(&transmit), ["fib", "locators"], "{driver}");
    }
}
