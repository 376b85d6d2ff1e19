//! A waker begins where it is told to, says why it cannot, and goes with its handle.

use plait_dataplane_processors::{Waker, allowed, stay_on};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};
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

/// The other test's process, which is killed while it has a waker.
#[test]
#[ignore = "a part of another test"]
fn somebody_who_has_a_waker() {
    let waker = Waker::start(allowed()[0], None).unwrap();
    println!("waker {}", waker.id());
    sleep(Duration::from_secs(60));
}

#[test]
fn a_waker_ends_with_whoever_started_it_though_that_is_killed() {
    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "somebody_who_has_a_waker", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(other.stdout.take().unwrap()).lines();
    let id =
        lines.map_while(Result::ok).find_map(|line| line.split_once("waker ").map(|(_, id)| id.to_owned()));
    let folder = format!("/proc/{}", id.unwrap());
    assert_eq!(fs::read_to_string(format!("{folder}/comm")).unwrap().trim(), "plait-waker");
    other.kill().unwrap();
    other.wait().unwrap();
    let start = Instant::now();
    // Whoever takes over orphans may let their entries stand: one that has ended uses no processor.
    let lives = || fs::read_to_string(format!("{folder}/stat")).is_ok_and(|stat| !stat.contains(") Z "));
    while lives() {
        assert!(start.elapsed() < Duration::from_secs(30), "it goes on by itself");
        sleep(Duration::from_millis(10));
    }
}

/// Without a control group, too, it is beside whatever its session does as if it were not there.
#[test]
fn a_waker_gives_way_to_its_session() {
    let processor = allowed()[0];
    let own = || fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    let ran = || own().split(' ').next().unwrap().parse::<u64>().unwrap();
    let busy = |waker: Option<Waker>| {
        stay_on(processor).unwrap();
        let (start, before) = (Instant::now(), ran());
        while start.elapsed() < Duration::from_millis(300) {
            std::hint::spin_loop();
        }
        let ran = (ran() - before) as f64 / start.elapsed().as_nanos() as f64;
        drop(waker);
        ran
    };
    // Others of this machine may want it, too, with a waker or without one.
    let ratio = || busy(Some(Waker::start(processor, None).unwrap())) / busy(None);
    assert!((0..10).any(|_| ratio() > 0.9));
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
