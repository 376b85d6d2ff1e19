//! What all compiled programs have in common: constants before they are loaded, tables and runs behind that.

use crate::programs::{Error, Ran, Verdict};
use crate::table::{Table, TableName};
use libbpf_rs::{
    MapCore, MapFlags, MapHandle, MapType, Object, ObjectBuilder, OpenObject, ProgramInput, ProgramMut,
};
use std::ffi::OsStr;
use std::marker::PhantomData;

/// What the compiler made of constants, which each copy of the programs has for itself.
pub(crate) fn is_constant(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".rodata")
}

/// Compiled programs with their constants, not yet given to the kernel.
pub(crate) fn open(
    object: &[u8],
    name: &str,
    constants: &'static str,
    value: &[u8],
) -> Result<OpenObject, Error> {
    let mut open = ObjectBuilder::default().name(name)?.open_memory(object)?;
    let mut map = open.maps_mut().find(|map| is_constant(map.name())).ok_or(Error::Absent("constants"))?;
    let initial = map.initial_value_mut().ok_or(Error::Absent(constants))?;
    initial.get_mut(..value.len()).ok_or(Error::Absent(constants))?.copy_from_slice(value);
    Ok(open)
}

/// A table, untyped.
pub(crate) fn map(object: &Object, name: &'static str) -> Result<MapHandle, Error> {
    let map = object.maps().find(|map| map.name() == name).ok_or(Error::Absent(name))?;
    Ok(MapHandle::try_from(&map)?)
}

/// A table.
pub(crate) fn table<K, V>(object: &Object, name: &TableName<K, V>) -> Result<Table<K, V>, Error> {
    Ok(Table { map: map(object, name.name)?, types: PhantomData })
}

/// Empties all tables: they are as they were when they were loaded. Programs may run meanwhile, and see some emptied.
pub(crate) fn clear(object: &Object) -> Result<(), Error> {
    for map in object.maps().filter(|map| !is_constant(map.name())) {
        match map.map_type() {
            MapType::Array => {
                let zero = vec![0; map.value_size() as usize];
                for key in map.keys() {
                    map.update(&key, &zero, MapFlags::ANY)?;
                }
            }
            MapType::PercpuArray => {
                let zero = vec![vec![0; map.value_size() as usize]; libbpf_rs::num_possible_cpus()?];
                for key in map.keys() {
                    map.update_percpu(&key, &zero, MapFlags::ANY)?;
                }
            }
            _ => {
                for key in map.keys().collect::<Vec<_>>() {
                    match map.delete(&key) {
                        Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => {
                            return Err(error.into());
                        }
                        _ => {}
                    }
                }
            }
        }
    }
    Ok(())
}

/// A program of a name.
pub(crate) fn program<'a>(object: &'a Object, name: &'static str) -> Result<ProgramMut<'a>, Error> {
    object.progs_mut().find(|known| known.name() == name).ok_or(Error::Absent(name))
}

/// What a number means that a program on a device gives back.
pub(crate) fn verdict(returned: i32) -> Verdict {
    match returned {
        -1 => Verdict::Next,
        2 => Verdict::Dropped,
        7 => Verdict::Redirected,
        other => Verdict::Other(other),
    }
}

/// Where it stands in what programs of TC are told of a packet (`struct __sk_buff`) by which interface that came in.
const CAME_BY: usize = 36;
/// And to how many bytes each a superpacket's payload is cut.
const SEGMENT: usize = 176;

/// Sends a packet through a program, by no device.
pub(crate) fn run(
    program: &ProgramMut<'_>,
    packet: &[u8],
    verdict: fn(i32) -> Verdict,
) -> Result<Ran, Error> {
    run_with(program, packet, None, verdict)
}

/// The same as if it had come in by an interface before.
pub(crate) fn run_from(program: &ProgramMut<'_>, packet: &[u8], interface: u32) -> Result<Ran, Error> {
    run_told(program, packet, CAME_BY, interface)
}

/// The same as if it were a superpacket.
pub(crate) fn run_superpacket(program: &ProgramMut<'_>, packet: &[u8], segment: u32) -> Result<Ran, Error> {
    run_told(program, packet, SEGMENT, segment)
}

fn run_told(program: &ProgramMut<'_>, packet: &[u8], at: usize, number: u32) -> Result<Ran, Error> {
    let mut told = vec![0; at];
    told.extend_from_slice(&number.to_ne_bytes());
    run_with(program, packet, Some(&mut told), verdict)
}

fn run_with(
    program: &ProgramMut<'_>,
    packet: &[u8],
    told: Option<&mut [u8]>,
    verdict: fn(i32) -> Verdict,
) -> Result<Ran, Error> {
    let mut out = vec![0; packet.len() + 1024];
    let run = program.test_run(ProgramInput {
        data_in: Some(packet),
        data_out: Some(&mut out),
        context_in: told,
        ..ProgramInput::default()
    })?;
    let (length, returned) = (run.data.map_or(0, |data| data.len()), run.return_value as i32);
    out.truncate(length);
    Ok(Ran { verdict: verdict(returned), packet: out })
}
