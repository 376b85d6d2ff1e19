//! What an agent leaves that died in the middle of something is put in order by the next one, or goes with it.

mod row;

use plait_dataplane_paths::agent::{Agent, AgentOptions, LAYOUT, Places, remove};
use plait_dataplane_paths::protocol::Request;
use row::Row;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

/// A folder with a BPF file system of the test's own, which goes when this is dropped.
struct Home(TempDir);

impl Drop for Home {
    fn drop(&mut self) {
        let _ = unmount(self.pins(), UnmountFlags::DETACH);
    }
}

impl Home {
    fn pins(&self) -> PathBuf {
        self.0.path().join("pins")
    }
}

/// Those of an agent of one test.
fn places() -> Option<(Places, Home)> {
    let home = Home(tempfile::tempdir().unwrap());
    fs::create_dir(home.pins()).unwrap();
    if let Err(error) = mount("bpf", home.pins(), "bpf", MountFlags::empty(), None) {
        println!("skipped: no BPF file system can be mounted: {error}");
        return None;
    }
    Some((Places { run: home.0.path().join("agents/run"), pins: home.pins().join("own") }, home))
}

/// An agent of the first node steers a device, does what is asked, and dies.
fn lives(row: &Row, places: &Places, device: &str, request: Option<Request>) {
    row.within(0, || {
        let options = AgentOptions { devices: vec![device.to_owned()], ..AgentOptions::new(places.clone()) };
        let mut agent = Agent::start(options).unwrap();
        if let Some(request) = request {
            agent.handle(request).unwrap();
        }
    });
}

#[test]
fn a_pair_that_nobody_keeps_is_made_anew_and_goes_with_the_agent() {
    let Some(row) = Row::new(2) else { return };
    let Some((places, _home)) = places() else { return };
    let device = row.device(0, "r0");
    let pair = format!("cut{device}");
    let pin = places.pins.join(format!("layout-{LAYOUT}")).join(format!("cut-{device}"));
    let is_there = |name: &str| row.try_sh(0, &format!("ip link show {name}")).0;
    let agent = || lives(&row, &places, "r0", None);
    let remove = || row.within(0, || remove(&places)).unwrap();
    agent();
    assert!(pin.exists());
    let first = row.device(0, &pair);
    agent();
    assert_eq!(row.device(0, &pair), first, "one that is kept goes on");
    // As if the agent had died before it kept what it made.
    fs::remove_file(&pin).unwrap();
    agent();
    assert_ne!(row.device(0, &pair), first, "one that is not is made anew");
    assert!(pin.exists(), "and kept");
    // And the next one never came. Somebody else has a pair as well.
    fs::remove_file(&pin).unwrap();
    row.sh(0, "ip link add cut9999 type veth peer name cut9999e");
    remove();
    assert!(!is_there(&pair) && is_there("cut9999"));
    // Who has a pair of that name keeps it.
    row.sh(0, &format!("ip link add {pair} type veth peer name {pair}e"));
    let theirs = row.device(0, &pair);
    agent();
    assert!(!pin.exists(), "nothing is cut by what is another's");
    remove();
    assert_eq!(row.device(0, &pair), theirs);
}

#[test]
fn what_an_agent_limited_as_it_began_is_set_back() {
    let Some(row) = Row::new(2) else { return };
    let Some((places, _home)) = places() else { return };
    row.sh(0, "ip link add d0 type veth peer name d0e");
    let before = ["r0", "d0"].map(|device| row.segments(0, device));
    assert!(before.iter().all(|segments| *segments > 1));
    let relays = vec![row.relay(1); 2];
    let add = Request::Add { prefix: row.prefix(), relays, encapsulation: None, policy: None, weight: None };
    lives(&row, &places, "r0", Some(add));
    assert_eq!(row.segments(0, "r0"), 1);
    // The next one steers another device, by what it finds.
    lives(&row, &places, "d0", None);
    assert_eq!([row.segments(0, "r0"), row.segments(0, "d0")], [before[0], 1]);
    row.within(0, || remove(&places)).unwrap();
    assert_eq!(["r0", "d0"].map(|device| row.segments(0, device)), before);
}
