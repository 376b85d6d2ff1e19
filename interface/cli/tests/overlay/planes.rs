//! Control planes: their change under traffic, and one of a hundred lines.

use super::*;

/// Starts an agent with a device, for a control plane whose key it has.
fn begin(host: &mut Host<'_>) {
    host.sh("umask 077 && echo a key that all nodes share > /run/key");
    host.start_agent();
    host.overlay("config application ethernet --group 224.0.0.1");
    host.identify(&host.locator());
    host.device("--vni 1");
}

#[test]
fn control_planes_find_all_and_change_under_traffic() {
    let Some(person) = Person::root() else { return };
    let (mut hosts, _hub) = Host::on_one_network(&person, [1, 2, 3]);
    for host in &mut hosts {
        begin(host);
        host.overlay("config control mesh --key /run/key --seed 192.0.2.1 --interval 500");
    }
    let [a, _, c] = &hosts;
    assert!(eventually(|| hosts.iter().all(|host| host.json("node show").as_object().unwrap().len() == 2)));
    assert!(eventually(|| a.reaches(c)));
    let ping = a.start(&["ping", "-i", "0.02", "-c", "200", "-W", "5", &c.inner()]);
    for host in &hosts {
        host.overlay("config control delay --key /run/key --seed 192.0.2.1 --interval 1500");
    }
    let said = Pinged::read(&ping.wait().fine());
    assert_eq!(said.answered.len(), 200, "no packet was lost");
    assert!(
        eventually(|| a.json("route show").as_object().unwrap().len() == 3),
        "{}",
        a.overlay("route show")
    );
    // Agents start again, one after the other, and nobody misses them.
    let ping = hosts[0].start(&["ping", "-i", "0.02", "-c", "200", "-W", "5", &hosts[2].inner()]);
    for host in [2, 0] {
        hosts[host].kill_agent();
        hosts[host].start_agent();
        std::thread::sleep(std::time::Duration::from_millis(700));
    }
    let said = Pinged::read(&ping.wait().fine());
    assert_eq!(said.answered.len(), 200, "no packet was lost: {}", stats(&hosts));
    // Who is silent is gone.
    let [a, _, mut c] = hosts;
    c.kill_agent();
    c.sh("ip link set eth0 down");
    assert!(eventually(|| a.json("node show").as_object().unwrap().len() == 1), "{}", a.overlay("node show"));
}

#[test]
fn a_full_disk_keeps_no_control_plane_from_being_followed() {
    let Some(person) = Person::root() else { return };
    let mut hosts = Host::two(&person);
    for host in &mut hosts {
        begin(host);
    }
    let [a, b] = &hosts;
    let join = "config control mesh --key /run/key --seed 192.0.2.1 --interval 500";
    a.overlay(join);
    a.sh("mount -o remount,size=1m /run && ! dd if=/dev/zero of=/run/fill bs=1k 2>/dev/null");
    // Behind what the journal's last page has left.
    let is_refused = |last: u8| {
        let ended = a.try_overlay(&format!("node add 10.0.0.77 203.0.113.{last}"));
        ended.code() != Some(0) && ended.stderr.contains("No space left on device")
    };
    assert!((1..200).any(is_refused));
    b.overlay(join);
    assert!(eventually(|| a.reaches(b) && b.reaches(a)), "{}", stats(&hosts));
    let journal = || a.sh("cat /run/plait-overlay/default/journal.jsonl");
    assert!(!journal().contains("192.0.2.2"), "there was no room for it: {}", journal());
    // What found no room is there with the next line that does.
    a.sh("rm /run/fill");
    a.overlay("locator add 198.51.100.77");
    assert!(journal().contains("192.0.2.2"), "{}", journal());
}

#[test]
fn a_control_plane_of_a_hundred_lines_makes_a_chain() {
    let Some(person) = Person::root() else { return };
    let chain = person.program().with_file_name("examples/chain");
    if !chain.exists() {
        return common::skip("the example `chain` is not built: test the whole workspace");
    }
    let hosts = Host::in_a_row(&person, [1, 2, 3]);
    let lines = ["10.0.0.1 192.0.0.1", "10.0.0.2 192.0.0.2 192.0.1.1", "10.0.0.3 192.0.1.2"];
    person.file("nodes", lines[..2].join("\n"));
    let nodes = person.work().join("nodes");
    let controls: Vec<_> = hosts
        .iter()
        .zip(lines)
        .map(|(host, line)| {
            host.overlay("config application ethernet --group 224.0.0.1");
            line.split(' ').skip(1).for_each(|locator| drop(host.overlay(&format!("locator add {locator}"))));
            let control = host.start(&[chain.to_str().unwrap(), nodes.to_str().unwrap(), &host.id()]);
            assert!(eventually(|| host.try_overlay("id show").stdout.contains(&host.id())));
            host.device("--vni 1");
            control
        })
        .collect();
    let [a, b, c] = &hosts;
    assert!(eventually(|| a.reaches(b)), "{}", stats(&hosts));
    assert!(!a.reaches(c));
    // A node that the file has now is reached over the one between; one that it has no more, is not.
    person.file("nodes", lines.join("\n"));
    assert!(eventually(|| a.reaches(c)), "{}", stats(&hosts));
    person.file("nodes", lines[1..].join("\n"));
    assert!(eventually(|| !b.reaches(a)), "{}", stats(&hosts));
    assert!(eventually(|| b.reaches(c)), "{}", stats(&hosts));
    drop(controls);
}
