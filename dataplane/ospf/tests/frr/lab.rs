//! Routers that run FRR in namespaces of their own. When the test ends, however it ends, the kernel removes them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until something holds.
pub fn wait<T>(what: &str, look: impl FnMut() -> Option<T>) -> T {
    wait_or(look, || format!("{what} did not come"))
}

/// Waits until something holds, or says why it does not.
pub fn wait_or<T>(mut look: impl FnMut() -> Option<T>, why: impl Fn() -> String) -> T {
    let started = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(started.elapsed() < PATIENCE, "{}", why());
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Namespaces of a node: network, mounts and processes. Its first process sleeps; when that ends, all others do.
pub struct Node {
    holder: Child,
    pid: u32,
    folder: PathBuf,
}

impl Node {
    pub fn new(folder: &Path, name: &str) -> Self {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).unwrap();
        let holder = Command::new("setpriv")
            .args([
                "--pdeathsig",
                "KILL",
                "unshare",
                "--net",
                "--mount",
                "--pid",
                "--fork",
                "--kill-child=KILL",
            ])
            .args(["sleep", "300"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let children = format!("/proc/{0}/task/{0}/children", holder.id());
        let pid = wait("the node", || {
            let pid: u32 = fs::read_to_string(&children).ok()?.trim().parse().ok()?;
            // It is in the new namespaces once it is another program.
            (fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim() == "sleep").then_some(pid)
        });
        let node = Self { holder, pid, folder };
        node.run("ip link set lo up");
        node
    }

    pub fn pid(&self) -> u32 {
        self.pid
    }

    fn command(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-t", &self.pid.to_string(), "-n", "-m", "-p", "--"]);
        command
    }

    /// Runs a command inside, and gives what it says.
    pub fn run(&self, line: &str) -> String {
        let done = self.command().args(line.split_whitespace()).output().unwrap();
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).into_owned()
    }

    /// Starts FRR with a configuration of its ospfd.
    pub fn start_frr(&self, config: &str) {
        self.start_daemon("zebra", "", &[]);
        self.start_daemon("ospfd", config, &["-a"]);
    }

    /// Starts one of FRR's daemons.
    pub fn start_daemon(&self, name: &str, config: &str, more: &[&str]) {
        let socket = format!("{}/zserv", self.folder.display());
        let file = self.folder.join(format!("{name}.conf"));
        fs::write(&file, format!("log file {}/{name}.log\n{config}", self.folder.display())).unwrap();
        // FRR's own user reads and writes here.
        for of in [&self.folder, &file] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
            fs::set_permissions(of, mode).unwrap();
        }
        let folder = self.folder.to_str().unwrap();
        let running = self
            .command()
            .arg(format!("/usr/lib/frr/{name}"))
            .args([
                "-f",
                file.to_str().unwrap(),
                "-i",
                &format!("{folder}/{name}.pid"),
                "--vty_socket",
                folder,
            ])
            .args(["-z", &socket, "-A", "127.0.0.1", "-d"])
            .args(more)
            .output()
            .unwrap();
        assert!(running.status.success(), "{name}: {}", String::from_utf8_lossy(&running.stderr));
    }

    /// Ends its ospfd, which says no goodbye.
    pub fn kill_ospfd(&self) {
        let id = fs::read_to_string(self.folder.join("ospfd.pid")).unwrap();
        self.run(&format!("kill -KILL {}", id.trim()));
    }

    /// What FRR answers.
    pub fn ask(&self, question: &str) -> String {
        let done = self
            .command()
            .args(["vtysh", "--vty_socket", self.folder.to_str().unwrap(), "-d", "ospfd", "-c", question])
            .output()
            .unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// A cable between two nodes' interfaces.
pub fn cable((a, ours): (&Node, &str), (b, theirs): (&Node, &str)) {
    let (of, to) = (a.pid(), b.pid());
    // Named where it is made, so that no other test's names are in the way.
    let line = format!("ip link add name {ours} type veth peer name {theirs} netns /proc/{to}/ns/net");
    let made = Command::new("nsenter")
        .args(["-t", &of.to_string(), "-n", "--"])
        .args(line.split_whitespace())
        .output()
        .unwrap();
    assert!(made.status.success(), "{line}: {}", String::from_utf8_lossy(&made.stderr));
    a.run(&format!("ip link set dev {ours} up"));
    b.run(&format!("ip link set dev {theirs} up"));
}
