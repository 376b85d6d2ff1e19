//! A world of one machine without a network: commands are real processes, links are a list of what was asked.

use plait_model_link::ConditionsSpec;
use plait_testbed_experiment::world::{
    AccuracyClass, Batch, Deliver, Description, Direction, Ended, Fates, Launch, LinkRow, Logger,
    LoggerSummary, Outcome, Running, Sampling, Stop, Verdict, Verification, World, WorldError,
};
use plait_testbed_runtime::sample::{InterfaceSampler, TcpSampler};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The world. What was asked of it, in order, stands in `log`.
pub struct Machine {
    pub origin: Instant,
    pub log: Arc<Mutex<Vec<String>>>,
    /// What `set_link` answers.
    pub refuses: Option<String>,
    /// Rows in each batch of link samples.
    pub rows: usize,
    /// Processes in whose network namespaces nodes live; other nodes live in ours.
    pub namespaces: Vec<(String, u32)>,
    /// Which node holds which address.
    pub addresses: Vec<(IpAddr, String)>,
}

impl Machine {
    pub fn new() -> Self {
        Self {
            origin: Instant::now(),
            log: Arc::default(),
            refuses: None,
            rows: 1,
            namespaces: Vec::new(),
            addresses: Vec::new(),
        }
    }

    #[allow(dead_code, reason = "each test file uses what it needs")]
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    fn note(&self, what: String) {
        self.log.lock().unwrap().push(what);
    }
}

impl World for Machine {
    fn describe(&self) -> Description {
        Description {
            kind: "testbed".into(),
            accuracy: Some(AccuracyClass::B),
            kept_awake: false,
            addresses: self.addresses.clone(),
            left_out: Vec::new(),
        }
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn wait_until(&self, instant: Duration, stop: &Stop) {
        while self.now() < instant && !stop.is_asked() {
            std::thread::sleep(instant.saturating_sub(self.now()).min(Duration::from_millis(5)));
        }
    }

    fn spawn(&self, launch: &Launch<'_>) -> Result<Box<dyn Running>, WorldError> {
        self.note(format!("spawn {} {}", launch.node, launch.command));
        let failed = |error: std::io::Error| WorldError::new(error.to_string());
        let inside = self.namespaces.iter().find(|(node, _)| node == launch.node);
        let mut command = match inside {
            None => Command::new("/bin/sh"),
            Some((_, process)) => {
                let mut command = Command::new("nsenter");
                command.args([&format!("--target={process}"), "--net", "/bin/sh"]);
                command
            }
        };
        let child = command
            .args(["-c", launch.command])
            .stdin(Stdio::null())
            .stdout(File::create(launch.stdout).map_err(failed)?)
            .stderr(File::create(launch.stderr).map_err(failed)?)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let deadline = self.now().checked_add(launch.timeout).unwrap_or(Duration::MAX);
        Ok(Box::new(Process {
            child,
            origin: self.origin,
            started: self.now(),
            deadline,
            cause: None,
            log: Arc::clone(&self.log),
        }))
    }

    fn set_link(&self, link: &str, direction: Direction, change: &ConditionsSpec) -> Result<(), WorldError> {
        self.note(format!("set {link} {direction:?} {}", serde_json::to_string(change).unwrap()));
        self.refuses.clone().map_or(Ok(()), |why| Err(WorldError::new(why)))
    }

    fn set_link_up(&self, link: &str, _: Direction, up: bool) -> Result<(), WorldError> {
        self.note(format!("link {link} {up}"));
        Ok(())
    }

    fn set_node_up(&self, node: &str, up: bool) -> Result<(), WorldError> {
        self.note(format!("node {node} {up}"));
        Ok(())
    }

    fn sample(&self, request: Sampling, mut deliver: Deliver) -> Result<Box<dyn Logger>, WorldError> {
        self.note("sample".into());
        let off = Arc::new(AtomicBool::new(false));
        let (origin, rows, stop) = (self.origin, self.rows, Arc::clone(&off));
        let interval = request.links.or(request.tcp).unwrap_or(Duration::from_millis(100));
        let opened: Vec<(String, File)> = self
            .namespaces
            .iter()
            .map(|(node, process)| (node.clone(), File::open(format!("/proc/{process}/ns/net")).unwrap()))
            .collect();
        let nodes: Vec<_> = opened.iter().map(|(node, file)| (node.clone(), file.as_fd())).collect();
        let mut tcp = TcpSampler::open(&nodes).unwrap();
        let mut interfaces = InterfaceSampler::open(&nodes).unwrap();
        // The samplers' clock is the system's, this world's begins with it.
        let boot = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        let boot = Duration::new(boot.tv_sec as u64, boot.tv_nsec as u32) - self.now();
        let thread = std::thread::spawn(move || {
            let mut packets = 0;
            while !stop.load(Ordering::Relaxed) {
                packets += 10;
                let row = LinkRow {
                    at: origin.elapsed(),
                    link: "a-b".into(),
                    direction: Direction::Forward,
                    packets,
                    bytes: packets * 1000,
                    lost: 0,
                    queue_dropped: 0,
                    marked: 0,
                    queue_packets: 1,
                    queue_bytes: 1000,
                };
                deliver(Batch::Links(vec![row; rows]));
                let mut rows = tcp.sample();
                rows.iter_mut().for_each(|row| row.at -= boot);
                deliver(Batch::Tcp(rows));
                let mut rows = interfaces.sample();
                rows.iter_mut().for_each(|row| row.at -= boot);
                deliver(Batch::Interfaces(rows));
                std::thread::sleep(interval);
            }
        });
        Ok(Box::new(Sampler { off, thread: Some(thread), log: Arc::clone(&self.log) }))
    }

    fn capture(&self, node: &str, interface: &str, into: &Path) -> Result<Box<dyn Logger>, WorldError> {
        self.note(format!("capture {node}:{interface}"));
        std::fs::write(into, b"packets").map_err(|error| WorldError::new(error.to_string()))?;
        let off = Arc::new(AtomicBool::new(false));
        Ok(Box::new(Sampler { off, thread: None, log: Arc::clone(&self.log) }))
    }

    fn collect(&self, node: &str, paths: &[String], into: &Path) -> Result<(), WorldError> {
        self.note(format!("collect {node} {}", paths.join(" ")));
        for path in paths {
            let place = into.join(path.trim_start_matches('/'));
            std::fs::create_dir_all(place.parent().unwrap()).unwrap();
            std::fs::write(place, format!("{path} of {node}\n")).unwrap();
        }
        Ok(())
    }

    fn verification(&self) -> Vec<Verification> {
        Vec::new()
    }

    fn verdict(&self, _: Duration) -> Verdict {
        Verdict::default()
    }

    fn plan(&self) -> serde_json::Value {
        serde_json::json!({})
    }

    fn fates(&self) -> Vec<Fates> {
        Vec::new()
    }

    fn link_report(&self) -> serde_json::Value {
        serde_json::json!({ "a-b": { "backend": "none" } })
    }
}

struct Sampler {
    off: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Logger for Sampler {
    fn stop(mut self: Box<Self>) -> Result<LoggerSummary, WorldError> {
        self.off.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().map_err(|_| WorldError::new("the sampler died"))?;
        }
        self.log.lock().unwrap().push("logger off".into());
        Ok(LoggerSummary { kept: 1, missed: 0 })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.off.store(true, Ordering::Relaxed);
    }
}

struct Process {
    child: Child,
    origin: Instant,
    started: Duration,
    deadline: Duration,
    /// Why it was told to end.
    cause: Option<Ended>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Process {
    fn end(&mut self, cause: Ended) {
        if self.cause.is_none() {
            self.cause = Some(cause);
            // The whole group, so that a shell's children go with it.
            let group = rustix::process::Pid::from_child(&self.child);
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        }
    }
}

impl Running for Process {
    fn outcome(&mut self) -> Result<Option<Outcome>, WorldError> {
        if self.origin.elapsed() > self.deadline {
            self.end(Ended::TimedOut);
        }
        let status = self.child.try_wait().map_err(|error| WorldError::new(error.to_string()))?;
        Ok(status.map(|status| Outcome {
            ended: self.cause.unwrap_or_else(|| match status.code() {
                Some(code) => Ended::Exit(code),
                None => Ended::Signal(status.signal().unwrap_or(0)),
            }),
            started: self.started,
            finished: self.origin.elapsed(),
        }))
    }

    fn stop(&mut self) -> Result<(), WorldError> {
        self.log.lock().unwrap().push("stop".into());
        self.end(Ended::Stopped);
        Ok(())
    }
}
