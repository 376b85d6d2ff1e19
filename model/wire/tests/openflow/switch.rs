//! The distribution's Open vSwitch in a folder of its own, with devices that exist in its memory only. It needs no root,
//! touches no network of the machine, and ends with the test however that ends.

use plait_model_wire::openflow::{Hello, Message, chop, v10, v13};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where the daemons are, which is not in everybody's path.
const DATABASE: &str = "/usr/sbin/ovsdb-server";
const DAEMON: &str = "/usr/sbin/ovs-vswitchd";
const PATIENCE: Duration = Duration::from_secs(30);

/// A switch with two ports, p1 and p2, and the listener that it calls as its controller.
pub struct Switch {
    folder: TempDir,
    daemons: Vec<Child>,
    controller: UnixListener,
}

impl Switch {
    /// Starts one that speaks a version; nothing, if it is not installed.
    pub fn speaking(protocol: &str) -> Option<Self> {
        if !Path::new(DAEMON).exists() {
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let controller = UnixListener::bind(folder.path().join("controller")).unwrap();
        let mut switch = Self { folder, daemons: Vec::new(), controller };
        switch.run("ovsdb-tool", &["create", &switch.path("db"), "/usr/share/openvswitch/vswitch.ovsschema"]);
        switch.start(
            DATABASE,
            &[
                &switch.path("db"),
                &format!("--remote=punix:{}", switch.path("db.socket")),
                &format!("--unixctl={}", switch.path("db.control")),
                "--no-chdir",
            ],
        );
        switch.wait_for("db.socket");
        switch.configure(&["--no-wait", "init"]);
        switch.start(
            DAEMON,
            &[
                &format!("unix:{}", switch.path("db.socket")),
                "--enable-dummy",
                "--disable-system",
                "--no-chdir",
                &format!("--unixctl={}", switch.path("control")),
            ],
        );
        switch.configure(&[
            "--timeout=30",
            "add-br",
            "br0",
            "--",
            "set",
            "bridge",
            "br0",
            "datapath_type=dummy",
            "fail-mode=secure",
            &format!("protocols={protocol}"),
            "--",
            "add-port",
            "br0",
            "p1",
            "--",
            "set",
            "interface",
            "p1",
            "type=dummy",
            "ofport_request=1",
            "--",
            "add-port",
            "br0",
            "p2",
            "--",
            "set",
            "interface",
            "p2",
            "type=dummy",
            "ofport_request=2",
            "--",
            "set-controller",
            "br0",
            &format!("unix:{}", switch.path("controller")),
        ]);
        Some(switch)
    }

    /// A file of its own.
    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    fn wait_for(&self, name: &str) {
        let (path, began) = (PathBuf::from(self.path(name)), Instant::now());
        while !path.exists() {
            assert!(began.elapsed() < PATIENCE, "{name} does not come");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn start(&mut self, program: &str, arguments: &[&str]) {
        let mut daemon = Command::new("setpriv");
        daemon.args(["--pdeathsig", "KILL", program]).args(arguments).env("OVS_RUNDIR", self.folder.path());
        daemon.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(daemon.spawn().unwrap());
    }

    /// Runs one of its tools, and gives what that says.
    pub fn run(&self, program: &str, arguments: &[&str]) -> String {
        let done =
            Command::new(program).args(arguments).env("OVS_RUNDIR", self.folder.path()).output().unwrap();
        assert!(done.status.success(), "{program} {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    }

    /// Has its database changed.
    pub fn configure(&self, arguments: &[&str]) {
        let database = format!("--db=unix:{}", self.path("db.socket"));
        self.run("ovs-vsctl", &[&[&database[..]], arguments].concat());
    }

    /// A frame comes by a port.
    pub fn receive(&self, port: &str, frame: &[u8]) {
        let digits: String = frame.iter().map(|byte| format!("{byte:02x}")).collect();
        self.run("ovs-appctl", &["-t", &self.path("control"), "netdev-dummy/receive", port, &digits]);
    }

    /// What `ovs-ofctl` says of its flows, counts aside, in order.
    pub fn flows(&self, protocol: &str) -> Vec<String> {
        let bridge = format!("unix:{}", self.path("br0.mgmt"));
        let said =
            self.run("ovs-ofctl", &["-O", protocol, "--no-stats", "--no-names", "dump-flows", &bridge]);
        let mut flows: Vec<_> = said.lines().map(|line| line.trim().to_owned()).collect();
        flows.sort();
        flows
    }

    /// Somebody else takes a port down.
    pub fn set_down(&self, protocol: &str, port: &str) {
        let bridge = format!("unix:{}", self.path("br0.mgmt"));
        self.run("ovs-ofctl", &["-O", protocol, "mod-port", &bridge, port, "down"]);
    }

    /// The connection that it makes to its controller.
    pub fn accept(&self) -> Connection {
        Connection::new(self.controller.accept().unwrap().0)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// One side of a conversation.
pub struct Connection {
    stream: UnixStream,
    waiting: Vec<u8>,
    /// Every message that has come.
    pub received: Vec<Vec<u8>>,
    /// The transaction of the next message to be sent.
    pub xid: u32,
}

impl Connection {
    pub fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { stream, waiting: Vec::new(), received: Vec::new(), xid: 0x1000 }
    }

    /// The next message's bytes; nothing when the other side has gone.
    pub fn next_bytes(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some((frame, rest)) = chop(&self.waiting).unwrap() {
                let length = 8 + frame.body().len();
                assert_eq!(length + rest.len(), self.waiting.len());
                let bytes: Vec<u8> = self.waiting.drain(..length).collect();
                self.received.push(bytes.clone());
                return Some(bytes);
            }
            let mut buffer = [0; 65_536];
            match self.stream.read(&mut buffer) {
                Ok(0) => return None,
                Ok(read) => self.waiting.extend_from_slice(&buffer[..read]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("{error}: nothing comes"),
            }
        }
    }

    pub fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// The other side's greeting, answered in a version. Whether there was one.
    pub fn greet(&mut self, version: u8) -> bool {
        let Some(theirs) = self.next_bytes() else { return false };
        assert_eq!(theirs[1], 0, "the first message is a hello");
        assert!(Hello::of(&theirs[8..]).speaks(theirs[0], version));
        let hello = match version {
            v10::VERSION => Message::V10(v10::Message { xid: 1, body: v10::Body::Hello(Hello::default()) }),
            _ => Message::V13(v13::Message { xid: 1, body: v13::Body::Hello(Hello::speaking(&[version])) }),
        };
        self.write(&hello.emit().unwrap());
        true
    }

    fn next_xid(&mut self) -> u32 {
        self.xid += 1;
        self.xid
    }

    /// The next message of 1.0 that is no echo.
    pub fn next_of_1_0(&mut self) -> v10::Message {
        loop {
            let message = v10::Message::parse(&self.next_bytes().expect("the switch has gone")).unwrap();
            let v10::Body::EchoRequest(data) = message.body else { return message };
            let reply = v10::Message { xid: message.xid, body: v10::Body::EchoReply(data) };
            self.write(&reply.emit().unwrap());
        }
    }

    /// The next message of 1.3 that is no echo.
    pub fn next_of_1_3(&mut self) -> v13::Message {
        loop {
            let message = v13::Message::parse(&self.next_bytes().expect("the switch has gone")).unwrap();
            let v13::Body::EchoRequest(data) = message.body else { return message };
            let reply = v13::Message { xid: message.xid, body: v13::Body::EchoReply(data) };
            self.write(&reply.emit().unwrap());
        }
    }

    /// Sends a message of 1.0 and a barrier, and gives what comes before the barrier's reply.
    pub fn ask_1_0(&mut self, body: v10::Body) -> Vec<v10::Body> {
        let message = v10::Message { xid: self.next_xid(), body };
        let barrier = v10::Message { xid: self.next_xid(), body: v10::Body::BarrierRequest };
        self.write(&[message.emit().unwrap(), barrier.emit().unwrap()].concat());
        let mut answers = Vec::new();
        loop {
            let message = self.next_of_1_0();
            match message.body {
                v10::Body::BarrierReply if message.xid == barrier.xid => return answers,
                body => answers.push(body),
            }
        }
    }

    /// Sends a message of 1.3 and a barrier, and gives what comes before the barrier's reply.
    pub fn ask_1_3(&mut self, body: v13::Body) -> Vec<v13::Body> {
        let message = v13::Message { xid: self.next_xid(), body };
        let barrier = v13::Message { xid: self.next_xid(), body: v13::Body::BarrierRequest };
        self.write(&[message.emit().unwrap(), barrier.emit().unwrap()].concat());
        let mut answers = Vec::new();
        loop {
            let message = self.next_of_1_3();
            match message.body {
                v13::Body::BarrierReply if message.xid == barrier.xid => return answers,
                body => answers.push(body),
            }
        }
    }
}
