//! Results folders to pack, and archives of strangers.

#![allow(dead_code, reason = "each file of tests uses its part")]

use plait_model_quantity::ByteCount;
use plait_testbed_archive::{ArchiveError, Packed, Unpacked, pack, unpack};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use tar::{Builder, EntryType, Header};

pub const LINKS: &str = "time_s,link,direction,packets,bytes,lost,queue_dropped,marked,queue_packets,queue_bytes\n\
    0.000529,a-r,forward,4,228,0,0,0,0,0\n0.000529,a-r,reverse,18446744073709551615,174,0,0,0,0,0\n";

pub const TCP: &str = "time_s,node,local,remote,ssthresh_packets,srtt_ms,min_rtt_ms,application_limited\n\
    0.1,a,10.0.0.1:5201,10.0.0.2:4000,,12.345,,true\n-0.25,\"b, c\",[fd00::1]:1,[fd00::2]:2,7,0.001,0.5,\n\
    1e-7,ü,x,y,0,0.0,3.0,false\n";

/// A results folder of a run.
pub fn run(place: &Path) -> PathBuf {
    for (path, text) in [
        ("results.json", "{\"plait_results\": 1, \"network\": {\"name\": \"tiny\", \"seed\": 4}}\n"),
        ("network.yaml", "plait: 1\nname: tiny\n"),
        ("samples/links.csv", LINKS),
        ("samples/tcp.csv", TCP),
        ("samples/iperf3.csv", ""),
        ("commands/01-note/stdout", "said\n"),
        ("commands/01-note/stderr", ""),
        ("nodes/a/run/node/samples/own.csv", "x,y\n1,2\n"),
        ("report.html", "<html></html>\n"),
    ] {
        write(&place.join(path), text);
    }
    // A path that is too long for a header of tar.
    write(&place.join("nodes/a").join("n".repeat(120)).join("m".repeat(120)), "deep\n");
    fs::create_dir_all(place.join("captures")).unwrap();
    place.to_owned()
}

/// The folder of an experiment with two runs.
pub fn experiment(place: &Path) -> PathBuf {
    write(&place.join("experiment.json"), "{\"plait_experiment\": 1}\n");
    write(&place.join("runs.csv"), "cell,repeat\n1,1\n");
    run(&place.join("runs/c1-r1-a1"));
    run(&place.join("runs/c2-r1-a1"));
    place.to_owned()
}

pub fn write(path: &Path, bytes: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

pub fn packed(folder: &Path) -> Packed {
    pack(folder, None, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

pub fn refused(folder: &Path) -> String {
    pack(folder, None, &mut |_, _| ControlFlow::Continue(())).unwrap_err().to_string()
}

pub fn unpacked(archive: &Path, folder: &Path) -> Result<Unpacked, ArchiveError> {
    unpack(archive, Some(folder), ByteCount::new(1 << 20), &mut |_, _| ControlFlow::Continue(()))
}

/// The paths below a folder, sorted.
pub fn names(folder: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap().map(Result::unwrap) {
            names.push(entry.path().strip_prefix(folder).unwrap().to_owned());
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            }
        }
    }
    names.sort();
    names
}

/// An entry of a stranger's archive, with a name that no library would write.
pub fn entry(tar: &mut Vec<u8>, name: &[u8], kind: EntryType, link: &[u8], content: &[u8]) {
    let mut header = Header::new_gnu();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name);
    header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link);
    header.set_entry_type(kind);
    header.set_mode(0o4777);
    header.set_size(content.len() as u64);
    header.set_cksum();
    let mut builder = Builder::new(tar);
    builder.append(&header, content).unwrap();
    // A builder that is dropped closes its tar; one entry is not a whole one.
    let tar = builder.into_inner().unwrap();
    tar.truncate(tar.len() - 1024);
}

/// A tar that holds results so far.
pub fn begun() -> Vec<u8> {
    let mut tar = Vec::new();
    entry(&mut tar, b"r/results.json", EntryType::Regular, b"", b"{\"plait_results\": 1}");
    tar
}

/// A tar as an archive.
pub fn archive(place: &Path, mut tar: Vec<u8>) -> PathBuf {
    tar.extend([0; 1024]);
    let path = place.join("stranger.tar.zst");
    fs::write(&path, zstd::encode_all(&tar[..], 3).unwrap()).unwrap();
    path
}
