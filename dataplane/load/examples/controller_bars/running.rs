//! A controller's process, which ends with this one, however that ends.

#[path = "../../tests/support/listens.rs"]
mod listens;

use listens::listens;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Where a controller listens whose command has no place for a port: OpenFlow's own.
const OPENFLOW: u16 = 6653;

/// What this program is called with to become a controller: the process that it ends with, and the command.
pub const CHILD: &str = "--child-of";

/// A controller's process, ended with the value.
pub struct Running {
    child: Child,
    /// What it was started by.
    command: String,
    /// Where it listens.
    pub address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Running {
    /// Starts a command, `{port}` of which is a free port of 127.0.0.1, and waits until it listens there.
    pub fn start(command: &str) -> std::io::Result<Self> {
        let port = if command.contains("{port}") { 0 } else { OPENFLOW };
        let address = TcpListener::bind(("127.0.0.1", port))?.local_addr()?;
        let folder = tempfile::tempdir()?;
        let child = Command::new(std::env::current_exe()?)
            .arg(CHILD)
            .arg(std::process::id().to_string())
            .arg(format!("exec {}", command.replace("{port}", &address.port().to_string())))
            .env("OVS_RUNDIR", folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let mut running = Self { child, command: command.to_owned(), address, _folder: folder };
        let until = Instant::now() + Duration::from_secs(10);
        while !listens(address.port()) {
            if let Some(status) = running.child.try_wait()? {
                return Err(std::io::Error::other(format!("it ended: {status}")));
            }
            if Instant::now() > until {
                return Err(std::io::Error::other("it does not listen"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        // Who listens may not be done with starting.
        std::thread::sleep(Duration::from_secs(1));
        Ok(running)
    }

    /// Of answers that a controller of this project has written, with a bound on latency, the share of those that were late.
    pub fn late(&self) -> std::io::Result<f64> {
        let mut words = self.command.split_whitespace();
        let program = words.next().unwrap_or_default();
        let name = words.skip_while(|word| *word != "--name").nth(1).unwrap_or("default");
        let told = Command::new(program).args(["controller", "stats", "--name", name, "--json"]).output()?;
        let told: serde_json::Value = serde_json::from_slice(&told.stdout)?;
        let count = |what: &str| {
            let workers = told["workers"].as_array().into_iter().flatten();
            workers.filter_map(|worker| worker[what].as_u64()).sum::<u64>()
        };
        match count("answers") {
            0 => Err(std::io::Error::other(format!("{program} tells of no answers"))),
            answers => Ok(count("late") as f64 / answers as f64),
        }
    }

    /// Processor time that it has used (proc(5), in ticks of 10 ms).
    pub fn processor(&self) -> Duration {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let after = text.rsplit(')').next().unwrap_or_default();
        let ticks: u64 = after.split_whitespace().skip(11).take(2).flat_map(str::parse::<u64>).sum();
        Duration::from_millis(ticks * 10)
    }
}

/// Becomes a controller that is killed when the process that started it ends, by a signal, too: nobody else would end it.
pub fn become_child(parent: &str, command: &str) -> ! {
    let why = match set_parent_process_death_signal(Some(Signal::KILL)) {
        Err(why) => why.into(),
        // It may have ended before.
        Ok(())
            if getppid().map(Pid::as_raw_nonzero).map(|pid| pid.to_string()).as_deref() != Some(parent) =>
        {
            std::io::Error::other("whoever started it has ended")
        }
        Ok(()) => Command::new("sh").arg("-c").arg(command).exec(),
    };
    eprintln!("no controller runs: {why}");
    std::process::exit(1);
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
