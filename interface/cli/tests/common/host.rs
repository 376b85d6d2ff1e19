//! Hosts of an overlay: each a network namespace with a `/run` and a BPF file system of its own, as a machine has.

use super::{Ended, Person, Running, eventually};
use rustix::process::Signal;
use serde_json::Value;

/// A host. It ends with this.
pub struct Host<'a> {
    person: &'a Person,
    /// Its number, which ends its addresses.
    pub number: u8,
    keeper: Running,
    agent: Option<Running>,
}

impl<'a> Host<'a> {
    /// A host without any link.
    pub fn new(person: &'a Person, number: u8) -> Self {
        let mut command = person.command("unshare");
        command.args(["--net", "--mount"]);
        Self::start_with(person, number, command)
    }

    /// A host in the network of a process that is there.
    pub fn beside(person: &'a Person, number: u8, process: i32) -> Self {
        let mut command = person.command("nsenter");
        command.args(["--target", &process.to_string(), "--net", "--", "unshare", "--mount"]);
        Self::start_with(person, number, command)
    }

    fn start_with(person: &'a Person, number: u8, mut command: std::process::Command) -> Self {
        let line = "mount -t bpf bpf /sys/fs/bpf && mount -t tmpfs tmpfs /run && ip link set lo up && touch /run/ready \
                    && exec sleep 100000";
        command.args(["sh", "-c", line]);
        let keeper = Running::start(&mut command, "a host".to_owned());
        let host = Self { person, number, keeper, agent: None };
        assert!(eventually(|| host.exec(&["test", "-e", "/run/ready"]).code() == Some(0)));
        host
    }

    /// Hosts in a row, each linked to the next: `eth1` of one to `eth0` of the other, 192.0.2.0/24 at all where there
    /// are two, else 198.51.100.(4 i)/30 between them.
    pub fn two(person: &'a Person) -> [Self; 2] {
        let hosts = [1, 2].map(|number| Self::new(person, number));
        hosts[0].link("eth0", &hosts[1], "eth0");
        for host in &hosts {
            host.sh(&format!("ip addr add {}/24 dev eth0", host.locator()));
        }
        hosts
    }

    /// Two hosts with agents on two networks: as [`two`](Self::two), and by `eth1` with 198.51.100.N, too.
    pub fn two_on_two_networks(person: &'a Person) -> [Self; 2] {
        let mut hosts = Self::two(person);
        hosts[0].link("eth1", &hosts[1], "eth1");
        for host in &mut hosts {
            host.sh(&format!("ip addr add 198.51.100.{}/24 dev eth1", host.number));
            host.start_agent();
        }
        hosts
    }

    /// Hosts on one network, 192.0.2.0/24 by `eth0`, and what joins them.
    pub fn on_one_network<const COUNT: usize>(
        person: &'a Person,
        numbers: [u8; COUNT],
    ) -> ([Self; COUNT], Self) {
        let (hosts, hub) = (numbers.map(|number| Self::new(person, number)), Self::new(person, 0));
        hub.sh("ip link add br0 type bridge && ip link set br0 up");
        for host in &hosts {
            let port = format!("p{}", host.number);
            host.link("eth0", &hub, &port);
            hub.sh(&format!("ip link set {port} master br0"));
            host.sh(&format!("ip addr add {}/24 dev eth0", host.locator()));
        }
        (hosts, hub)
    }

    /// Hosts with agents, each with a network to the next: `right` of one to `left` of the other, where the left one's
    /// address ends in 1, the right one's in 2.
    pub fn in_a_row<const COUNT: usize>(person: &'a Person, numbers: [u8; COUNT]) -> [Self; COUNT] {
        let mut hosts = numbers.map(|number| Self::new(person, number));
        for left in 0..COUNT - 1 {
            hosts[left].link("right", &hosts[left + 1], "left");
            hosts[left].sh(&format!("ip addr add 192.0.{left}.1/24 dev right"));
            hosts[left + 1].sh(&format!("ip addr add 192.0.{left}.2/24 dev left"));
        }
        hosts.iter_mut().for_each(Self::start_agent);
        hosts
    }

    /// The process whose namespaces are its own.
    pub fn pid(&self) -> i32 {
        self.keeper.pid()
    }

    /// Its locator where there is one network.
    pub fn locator(&self) -> String {
        format!("192.0.2.{}", self.number)
    }

    /// Its identity.
    pub fn id(&self) -> String {
        format!("10.0.0.{}", self.number)
    }

    /// Its address in the overlay.
    pub fn inner(&self) -> String {
        format!("10.1.0.{}", self.number)
    }

    /// Makes a link to another host, with devices of these names, both up.
    pub fn link(&self, here: &str, other: &Self, there: &str) {
        let pid = other.keeper.pid();
        self.sh(&format!(
            "ip link add {here} type veth peer name {there} netns {pid} && ip link set {here} up"
        ));
        other.sh(&format!("ip link set {there} up"));
    }

    fn words<'w>(&self, pid: &'w str, words: &[&'w str]) -> Vec<&'w str> {
        [&["-t", pid, "--net", "--mount", "--"], words].concat()
    }

    /// Runs a program.
    pub fn exec(&self, words: &[&str]) -> Ended {
        self.start(words).wait()
    }

    /// Starts a program.
    pub fn start(&self, words: &[&str]) -> Running {
        let pid = self.keeper.pid().to_string();
        let mut command = self.person.command("nsenter");
        command.args(self.words(&pid, words));
        Running::start(&mut command, words.join(" "))
    }

    /// Runs a line of shell that must succeed.
    #[track_caller]
    pub fn sh(&self, line: &str) -> String {
        self.exec(&["sh", "-c", line]).fine()
    }

    /// Takes the BPF file system away, however many there are one over the other: this host's may lie over the machine's.
    pub fn without_bpf_file_system(&self) {
        self.sh("while umount /sys/fs/bpf 2>/dev/null; do :; done");
    }

    /// `plait overlay …`, which must succeed.
    #[track_caller]
    pub fn overlay(&self, words: &str) -> String {
        self.try_overlay(words).fine()
    }

    /// `plait overlay …`.
    pub fn try_overlay(&self, words: &str) -> Ended {
        self.plait(&format!("overlay {words}"))
    }

    /// `plait …`.
    pub fn plait(&self, words: &str) -> Ended {
        let program = self.person.program();
        let words: Vec<&str> = words.split_whitespace().collect();
        self.exec(&[&[program.to_str().unwrap()], &words[..]].concat())
    }

    /// What a command of the overlay says in JSON.
    #[track_caller]
    pub fn json(&self, words: &str) -> Value {
        serde_json::from_str(&self.overlay(&format!("--json {words}"))).unwrap()
    }

    /// Starts the agent, and waits until it answers.
    pub fn start_agent(&mut self) {
        self.start_agent_with(&[]);
    }

    /// Starts the agent with options, and waits until it answers.
    pub fn start_agent_with(&mut self, options: &[&str]) {
        let program = self.person.program();
        self.agent = Some(self.start(&[&[program.to_str().unwrap(), "overlay", "agent"], options].concat()));
        let answers = eventually(|| self.try_overlay("config show").code() == Some(0));
        assert!(answers, "{:?}", self.agent.take().map(|mut agent| (agent.is_running(), agent.wait())));
    }

    /// Kills the agent as nothing else ends it. What it said.
    pub fn kill_agent(&mut self) -> Ended {
        let agent = self.agent.take().expect("an agent");
        agent.signal(Signal::KILL);
        agent.wait()
    }

    /// Gives this node its identity and its locator.
    pub fn identify(&self, locator: &str) {
        self.overlay(&format!("id set {}", self.id()));
        self.overlay(&format!("locator add {locator}"));
    }

    /// Adds another node and its way.
    pub fn know(&self, other: &Self, locator: &str) {
        self.overlay(&format!("node add {} {locator}", other.id()));
        self.overlay(&format!("route add {} --via {}", other.id(), other.id()));
        self.overlay(&format!("route add 224.0.0.1 --via {}", other.id()));
        self.overlay(&format!("route add 224.0.0.1 --via {}", self.id()));
    }

    /// Adds `ov0` with its address.
    pub fn device(&self, more: &str) {
        self.overlay(&format!("config device ov0 {more}"));
        self.sh(&format!("ip addr add {}/24 dev ov0", self.inner()));
    }

    /// Whether another answers through the overlay.
    pub fn reaches(&self, other: &Self) -> bool {
        self.exec(&["ping", "-c", "1", "-W", "1", &other.inner()]).code() == Some(0)
    }

    /// Packets dropped for a reason.
    pub fn dropped(&self, reason: &str) -> u64 {
        self.json("stats")["drops"][reason].as_u64().unwrap_or_default()
    }
}
