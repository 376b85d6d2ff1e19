//! Bridges of Open vSwitch in one node, joined, and hosts behind them.

use super::*;

/// Bridges with the ports that join them, and the bridge of each host.
pub struct Fabric {
    pub bridges: usize,
    /// Between bridges, each from 1.
    pub links: Vec<(usize, usize)>,
    pub hosts: Vec<usize>,
}

impl Fabric {
    /// A fat tree of four pods: bridges 1 to 4 are the core, then two of aggregation and two of the edge in each pod.
    pub fn fat_tree() -> Self {
        let (mut links, mut hosts) = (Vec::new(), Vec::new());
        for pod in 0..4 {
            let (aggregation, edge) = (5 + pod * 4, 7 + pod * 4);
            for which in 0..2 {
                links.extend([(aggregation + which, 1 + which * 2), (aggregation + which, 2 + which * 2)]);
                links.extend([(edge, aggregation + which), (edge + 1, aggregation + which)]);
            }
            hosts.extend([edge, edge, edge + 1, edge + 1]);
        }
        Self { bridges: 20, links, hosts }
    }

    pub fn ring(size: usize) -> Self {
        let links = (1..=size).map(|bridge| (bridge, bridge % size + 1)).collect();
        Self { bridges: size, links, hosts: (1..=size).collect() }
    }

    /// The network file. Hosts share a prefix, which Plait would not assign.
    pub fn file(&self) -> String {
        let mut text = "plait: 1\nname: fabric\nrouting: none\nnodes:\n  s: host\n".to_owned();
        for host in 1..=self.hosts.len() {
            let command = format!("ip address add 10.9.0.{host}/24 dev eth0");
            let _ = writeln!(text, "  h{host}: {{commands: ['{command}']}}");
        }
        text.push_str("links:\n");
        for host in 1..=self.hosts.len() {
            let _ = writeln!(text, "  - {{endpoints: [s:eth{host}, h{host}:eth0]}}");
        }
        text
    }

    /// Starts the switches. Those of even numbers speak 1.0, the others 1.3.
    pub fn start(&self) -> String {
        let tell = "ovs-vsctl --db=unix:$OVS_RUNDIR/db.sock --timeout=30";
        let mut script = [START_OPEN_VSWITCH, tell].concat();
        (1..=self.bridges).for_each(|bridge| script.push_str(&Self::bridge(bridge)));
        self.links.iter().for_each(|(one, other)| script.push_str(&Self::link(*one, *other)));
        (1..=self.bridges).for_each(|bridge| script.push_str(&self.ports_of_hosts(bridge)));
        script
    }

    pub fn bridge(bridge: usize) -> String {
        let protocol = if bridge.is_multiple_of(2) { "OpenFlow10" } else { "OpenFlow13" };
        format!(
            " -- add-br b{bridge} -- set bridge b{bridge} datapath_type=netdev fail-mode=secure \
             protocols={protocol} other-config:datapath-id={bridge:016x} other-config:disable-in-band=true \
             -- set-controller b{bridge} tcp:127.0.0.1:6653"
        )
    }

    pub fn link(one: usize, other: usize) -> String {
        let port = |(here, there)| {
            format!(
                " -- add-port b{here} p{here}-{there} -- set interface p{here}-{there} type=patch \
                 options:peer=p{there}-{here}"
            )
        };
        [(one, other), (other, one)].map(port).concat()
    }

    pub fn ports_of_hosts(&self, bridge: usize) -> String {
        let hosts = (1..).zip(&self.hosts).filter(|(_, at)| **at == bridge);
        hosts.map(|(host, _)| format!(" -- add-port b{bridge} eth{host}")).collect()
    }

    /// A switch dies. Its neighbours' ports stay, without a peer.
    pub fn kill_switch(testbed: &Testbed, bridge: usize) {
        vsctl(testbed, &format!("del-br b{bridge}"));
    }

    /// It is there again, with no flow.
    pub fn revive_switch(&self, testbed: &Testbed, bridge: usize) {
        let mut words = Self::bridge(bridge) + &self.ports_of_hosts(bridge);
        for (one, other) in self.links.iter().filter(|(one, other)| [*one, *other].contains(&bridge)) {
            let peer = if *one == bridge { *other } else { *one };
            // The neighbour's port has waited.
            let _ = write!(
                words,
                " -- add-port b{bridge} p{bridge}-{peer} -- set interface p{bridge}-{peer} type=patch \
                 options:peer=p{peer}-{bridge}"
            );
        }
        vsctl(testbed, &words);
    }

    pub fn kill_link(testbed: &Testbed, one: usize, other: usize) {
        vsctl(testbed, &format!("del-port p{one}-{other} -- del-port p{other}-{one}"));
    }

    pub fn revive_link(testbed: &Testbed, one: usize, other: usize) {
        vsctl(testbed, &Self::link(one, other));
    }

    pub fn up<'a>(&self, person: &'a Person) -> Testbed<'a> {
        let testbed = person.up(&self.file());
        testbed.shell("s", &self.start()).fine();
        // What is built in a folder of somebody's own is not to be seen in a node.
        let words = testbed.words("s", &["sh", "-c", "cat > /run/plait && chmod +x /run/plait"]);
        let program = std::fs::File::open(person.program()).unwrap();
        assert!(person.prepare(&words).stdin(program).status().unwrap().success());
        testbed
    }

    /// Whether every host reaches every other.
    pub fn all_reach_all(&self, testbed: &Testbed) -> bool {
        self.all_but_one_reach_all(testbed, 0)
    }

    /// Whether every host but this one reaches every other, but this one.
    pub fn all_but_one_reach_all(&self, testbed: &Testbed, but: usize) -> bool {
        let hosts = || (1..=self.hosts.len()).filter(|host| *host != but);
        let addresses: Vec<String> = hosts().map(|host| format!("10.9.0.{host}")).collect();
        // Who was not answered asks again: on a crowded machine a first packet, for which ways are set up, may take longer.
        let line = format!("fping -q -r 4 -B 1 -t 700 {} 2>/dev/null", addresses.join(" "));
        hosts().all(|host| testbed.shell(&format!("h{host}"), &line).code() == Some(0))
    }
}
