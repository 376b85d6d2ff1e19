//! What is packed, what is not, and that it comes back.

mod support;

use plait_testbed_archive::{ArchiveError, pack};
use rustix::fs::{CWD, FileType, FlockOperation, Mode, flock, mknodat};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use support::{experiment, names, packed, refused, run, unpacked, write};

#[test]
fn what_is_unpacked_is_what_was_packed_with_parquet_beside_the_samples() {
    let home = tempfile::tempdir().unwrap();
    for (name, make, runs) in [
        ("one", run as fn(&Path) -> _, &["samples"][..]),
        ("many", experiment, &["runs/c1-r1-a1/samples", "runs/c2-r1-a1/samples"]),
    ] {
        let folder = make(&home.path().join(name));
        let said = packed(&folder);
        assert_eq!(said.archive, home.path().join(format!("{name}.tar.zst")));
        assert!(said.left_out.is_empty(), "{said:?}");
        let back = home.path().join(format!("{name}-back"));
        let unpacked = unpacked(&said.archive, &back).unwrap();
        assert_eq!((unpacked.files, unpacked.bytes), (said.files, said.bytes));
        let mut expected = names(&folder);
        for samples in runs {
            expected.extend(["links.parquet", "tcp.parquet"].map(|name| Path::new(samples).join(name)));
        }
        expected.sort();
        assert_eq!(names(&back), expected);
        for path in names(&folder).iter().filter(|path| folder.join(path).is_file()) {
            assert_eq!(fs::read(back.join(path)).unwrap(), fs::read(folder.join(path)).unwrap(), "{path:?}");
        }
    }
}

#[test]
fn the_same_folder_gives_the_same_bytes_wherever_and_whenever_it_is_packed() {
    let home = tempfile::tempdir().unwrap();
    let first = packed(&run(&home.path().join("here/tiny")));
    let other = run(&home.path().join("there/tiny"));
    fs::set_permissions(other.join("network.yaml"), fs::Permissions::from_mode(0o600)).unwrap();
    File::open(other.join("network.yaml")).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
    let bytes = |path: &Path| fs::read(path).unwrap();
    assert_eq!(bytes(&first.archive), bytes(&packed(&other).archive));
    // A folder that was unpacked holds Parquet already, and is packed to the same bytes again.
    let again = home.path().join("again/tiny");
    unpacked(&first.archive, &again).unwrap();
    assert_eq!(bytes(&first.archive), bytes(&packed(&again).archive));
}

#[test]
fn links_sockets_and_fifos_are_left_out_and_told() {
    let home = tempfile::tempdir().unwrap();
    write(&home.path().join("secret/key"), "not yours\n");
    let folder = run(&home.path().join("tiny"));
    symlink(home.path().join("secret/key"), folder.join("nodes/a/key")).unwrap();
    symlink("../../secret", folder.join("nodes/outside")).unwrap();
    mknodat(CWD, folder.join("nodes/pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
    let _listening = UnixListener::bind(folder.join("nodes/a/socket")).unwrap();
    let said = packed(&folder);
    let told: Vec<_> =
        said.left_out.iter().map(|left| (left.path.to_str().unwrap(), left.why.as_str())).collect();
    let link = "a symbolic link";
    assert_eq!(
        told,
        [
            ("nodes/a/key", link),
            ("nodes/a/socket", "a socket"),
            ("nodes/outside", link),
            ("nodes/pipe", "a FIFO")
        ]
    );
    let back = home.path().join("back");
    unpacked(&said.archive, &back).unwrap();
    assert!(!names(&back).iter().any(|path| path.ends_with("key") || path.ends_with("outside")));
}

#[test]
fn a_run_that_never_became_whole_is_left_out_of_its_experiment() {
    let home = tempfile::tempdir().unwrap();
    let folder = experiment(&home.path().join("many"));
    write(&folder.join("runs/c3-r1-a1.partial-77/network.yaml"), "half");
    let said = packed(&folder);
    assert_eq!(said.left_out.len(), 1);
    assert_eq!(said.left_out[0].path, Path::new("runs/c3-r1-a1.partial-77"));
}

#[test]
fn only_results_of_known_versions_at_rest_are_packed() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("folder");
    fs::create_dir(&folder).unwrap();
    assert!(refused(&folder).contains("no results folder"));
    assert!(refused(&home.path().join("nowhere")).contains("no results folder"));
    for (manifest, text, words) in [
        ("results.json", "{\"plait_results\": 7}", "results format 7, this plait reads up to 1"),
        ("experiment.json", "{\"plait_experiment\": 9}", "format 9"),
        ("results.json", "{}", "names no version"),
        ("results.json", "{\"plait_results\"", "damaged"),
    ] {
        write(&folder.join(manifest), text);
        let said = refused(&folder);
        assert!(said.contains(words) && said.contains(manifest), "{said}");
        fs::remove_file(folder.join(manifest)).unwrap();
    }
    let many = experiment(&home.path().join("many"));
    let working = File::open(many.join("experiment.json")).unwrap();
    flock(&working, FlockOperation::LockExclusive).unwrap();
    assert!(refused(&many).contains("another plait is at work"));
    assert_eq!(names(home.path()).iter().filter(|path| path.to_string_lossy().contains("zst")).count(), 0);
}

#[test]
fn nothing_is_written_over_and_nothing_half_is_left() {
    let home = tempfile::tempdir().unwrap();
    let folder = run(&home.path().join("tiny"));
    let output = home.path().join("tiny.tar.zst");
    fs::write(&output, "mine").unwrap();
    assert!(refused(&folder).contains("--output"));
    assert_eq!(fs::read(&output).unwrap(), b"mine");
    fs::remove_file(&output).unwrap();
    let inside = pack(&folder, Some(&folder.join("x.tar.zst")), &mut |_, _| ControlFlow::Continue(()));
    assert!(matches!(inside, Err(ArchiveError::Inside(_))), "{inside:?}");
    let before = names(home.path());
    let stopped = pack(&folder, None, &mut |_, _| ControlFlow::Break(()));
    assert!(matches!(stopped, Err(ArchiveError::Stopped)), "{stopped:?}");
    assert_eq!(names(home.path()), before);
}

#[test]
fn samples_that_are_none_stay_csv_and_are_told() {
    let home = tempfile::tempdir().unwrap();
    let folder = run(&home.path().join("tiny"));
    write(&folder.join("samples/links.csv"), "time_s,packets\n0.5,7\n0.6,many\n");
    let said = packed(&folder);
    assert_eq!(said.left_out.len(), 1);
    assert!(said.left_out[0].why.contains("line 3: packets is `many`"), "{said:?}");
    let back = home.path().join("back");
    unpacked(&said.archive, &back).unwrap();
    assert!(back.join("samples/links.csv").exists() && !back.join("samples/links.parquet").exists());
}
