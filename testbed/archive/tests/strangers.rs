//! Archives of strangers do no harm.

mod support;

use plait_model_quantity::ByteCount;
use plait_testbed_archive::{ArchiveError, unpack};
use proptest::prelude::*;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;
use support::{archive, begun, entry, names, packed, run, unpacked};
use tar::EntryType;

/// Unpacks a stranger's tar into an empty folder. What is refused leaves nothing.
fn refused(tar: Vec<u8>, why: &str) {
    let home = tempfile::tempdir().unwrap();
    let archive = archive(home.path(), tar);
    let said = unpacked(&archive, &home.path().join("out")).unwrap_err().to_string();
    assert!(said.contains(why), "{said}");
    assert_eq!(names(home.path()), [Path::new("stranger.tar.zst")], "{said}");
}

#[test]
fn no_path_leads_out_of_the_folder() {
    for name in [&b"../evil"[..], b"r/../../evil", b"/etc/evil", b"r/x/../../../evil", b"..", b"/", b"."] {
        let mut tar = begun();
        entry(&mut tar, name, EntryType::Regular, b"", b"evil");
        refused(tar, "leads out of the folder");
        let mut tar = begun();
        entry(&mut tar, name, EntryType::Directory, b"", b"");
        refused(tar, "leads out of the folder");
        // The same by a long name.
        let mut tar = begun();
        entry(&mut tar, b"././@LongLink", EntryType::GNULongName, b"", name);
        entry(&mut tar, b"r/fine", EntryType::Regular, b"", b"evil");
        refused(tar, "leads out of the folder");
    }
}

#[test]
fn links_devices_and_whatever_else_is_refused() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Block,
        EntryType::Fifo,
        EntryType::GNUSparse,
        EntryType::GNULongLink,
        EntryType::XHeader,
        EntryType::XGlobalHeader,
    ] {
        let mut tar = begun();
        entry(&mut tar, b"r/x", kind, b"../..", b"");
        entry(&mut tar, b"r/x/evil", EntryType::Regular, b"", b"evil");
        refused(tar, "neither a file nor a folder");
    }
}

#[test]
fn names_that_cannot_be_are_refused() {
    let with = |name: &[u8], kind| {
        let mut tar = begun();
        entry(&mut tar, name, kind, b"", b"");
        tar
    };
    refused(with(b"other/x", EntryType::Regular), "beside the folder");
    refused(with(b"r/results.json", EntryType::Regular), "twice");
    refused(with(b"r/results.json/x", EntryType::Regular), "twice");
    refused(with(b"r/results.json", EntryType::Directory), "twice");
    refused(with(b"r", EntryType::Regular), "a file and no folder");
    let mut long = begun();
    entry(&mut long, b"././@LongLink", EntryType::GNULongName, b"", &[b'x'; 5000]);
    refused(long, "longer than 4096 bytes");
}

#[test]
fn what_is_no_results_folder_or_a_newer_one_is_refused() {
    let with = |text: &[u8]| {
        let mut tar = Vec::new();
        entry(&mut tar, b"r/results.json", EntryType::Regular, b"", text);
        tar
    };
    refused(with(b"{\"plait_results\": 8}"), "results format 8");
    refused(with(b"["), "damaged");
    refused(Vec::new(), "neither results.json nor experiment.json");
    let mut tar = begun();
    tar.extend([0; 1024]);
    entry(&mut tar, b"r/late", EntryType::Regular, b"", b"");
    refused(tar, "after its end");
}

#[test]
fn what_is_unpacked_has_no_rights_but_the_usual() {
    let home = tempfile::tempdir().unwrap();
    let out = home.path().join("out");
    unpacked(&archive(home.path(), begun()), &out).unwrap();
    let mode = fs::metadata(out.join("results.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7000, 0, "{mode:o}");
}

#[test]
fn a_small_file_that_becomes_a_large_one_is_stopped_and_the_remedy_named() {
    let mut tar = begun();
    entry(&mut tar, b"r/zeros", EntryType::Regular, b"", &vec![0; 4 << 20]);
    refused(tar, "--limit");
    // Many small files are large too.
    let mut tar = begun();
    for at in 0..300 {
        entry(&mut tar, format!("r/{at}").as_bytes(), EntryType::Regular, b"", b"");
    }
    refused(tar, "--limit");
    // And so is nothing at all.
    let mut tar = begun();
    tar.extend(vec![0; 4 << 20]);
    refused(tar, "--limit");
}

#[test]
fn a_folder_that_is_there_is_untouched_and_a_stop_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let archive = packed(&run(&home.path().join("tiny"))).archive;
    let before = names(home.path());
    let said = unpacked(&archive, &home.path().join("tiny")).unwrap_err();
    assert!(matches!(said, ArchiveError::Exists(_)), "{said}");
    let stop = &mut |_, _| ControlFlow::Break(());
    let said = unpack(&archive, Some(&home.path().join("out")), ByteCount::new(1 << 20), stop).unwrap_err();
    assert!(matches!(said, ArchiveError::Stopped), "{said}");
    let nameless = home.path().join("tiny.zip");
    fs::write(&nameless, "").unwrap();
    let said = unpack(&nameless, None, ByteCount::new(1), &mut |_, _| ControlFlow::Continue(())).unwrap_err();
    assert!(said.to_string().contains("--output"), "{said}");
    fs::remove_file(nameless).unwrap();
    assert_eq!(names(home.path()), before);
}

/// The bytes of an archive, and of the tar in it.
fn genuine() -> &'static (Vec<u8>, Vec<u8>) {
    static GENUINE: OnceLock<(Vec<u8>, Vec<u8>)> = OnceLock::new();
    GENUINE.get_or_init(|| {
        let home = tempfile::tempdir().unwrap();
        let bytes = fs::read(packed(&run(&home.path().join("tiny"))).archive).unwrap();
        let tar = zstd::decode_all(&bytes[..]).unwrap();
        (bytes, tar)
    })
}

/// Unpacks bytes. Either there is a whole folder or nothing, and nothing beside it.
fn unpack_bytes(bytes: &[u8]) -> bool {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("x.tar.zst");
    fs::write(&file, bytes).unwrap();
    let done = unpacked(&file, &home.path().join("a/out")).is_ok();
    let beside = fs::read_dir(home.path()).unwrap().count();
    let inside = fs::read_dir(home.path().join("a")).unwrap().count();
    assert_eq!((beside, inside), (2, usize::from(done)));
    done
}

#[test]
fn an_archive_cut_anywhere_is_never_half_a_folder() {
    let (bytes, _) = genuine();
    assert!(unpack_bytes(bytes));
    for length in (0..bytes.len()).step_by(bytes.len() / 200 + 1).chain([bytes.len() - 1]) {
        assert!(!unpack_bytes(&bytes[..length]), "cut at {length}");
    }
}

proptest! {
    #[test]
    fn no_bytes_of_an_archive_do_harm(changes in prop::collection::vec((0usize..1 << 20, 0u8..), 1..6)) {
        let mut bytes = genuine().0.clone();
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        unpack_bytes(&bytes);
    }

    /// Heads whose sums are right again are what a stranger would write.
    #[test]
    fn no_bytes_of_a_tar_do_harm(
        changes in prop::collection::vec((0usize..64, 0usize..512, prop::sample::select(&b"\0./0123456789LKxg7S\x80\xff"[..])), 1..8),
        cut in 0usize..1 << 16,
    ) {
        let mut tar = genuine().1.clone();
        let blocks = tar.len() / 512;
        for (block, at, value) in changes {
            let start = block % blocks * 512;
            tar[start + at] = value;
            let head = &mut tar[start..start + 512];
            head[148..156].fill(b' ');
            let sum: u32 = head.iter().map(|byte| u32::from(*byte)).sum();
            head[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        }
        tar.truncate(tar.len().saturating_sub(cut.saturating_sub(1 << 15)));
        unpack_bytes(&zstd::encode_all(&tar[..], 1).unwrap());
    }
}
