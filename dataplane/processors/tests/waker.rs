//! A waker begins where it is told to, says why it cannot, and goes with its handle.

use plait_dataplane_processors::{Waker, allowed};
use std::fs;
use std::os::fd::AsFd;
use std::thread::sleep;
use std::time::{Duration, Instant};

#[test]
fn a_waker_lives_as_long_as_its_handle() {
    let processor = allowed()[0];
    let waker = Waker::start(processor, None).unwrap();
    let folder = format!("/proc/{}", waker.id());
    assert_eq!(fs::read_to_string(format!("{folder}/comm")).unwrap().trim(), "plait-waker");
    drop(waker);
    assert!(!fs::exists(folder).unwrap());
}

#[test]
fn a_waker_lets_its_processor_look_around() {
    let waker = Waker::start(allowed()[0], None).unwrap();
    let slept = || {
        let status = fs::read_to_string(format!("/proc/{}/status", waker.id())).unwrap();
        let count = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:")).unwrap();
        count.trim().parse::<u64>().unwrap()
    };
    let before = slept();
    let start = Instant::now();
    // Only by sleeping does a process leave its processor of its own will, and 50 times by nothing that it does once.
    while slept() < before + 50 {
        assert!(start.elapsed() < Duration::from_secs(30), "it slept {} times", slept() - before);
        sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_waker_that_cannot_begin_says_why() {
    let nowhere = Waker::start(1000, None).unwrap_err();
    assert_eq!(nowhere.raw_os_error(), Some(libc::EINVAL));
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cgroup.procs"), "").unwrap();
    let unwritable = fs::File::open(folder.path().join("cgroup.procs")).unwrap();
    let refused = Waker::start(allowed()[0], Some(unwritable.as_fd())).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
}
