//! The supervisor: process 1 of a sandbox, which builds a testbed, answers for it, and takes it down.
//!
//! ```text
//!                    ┌─ accept ──► one thread a connection ─┐
//! control socket ────┤                                      ├─► Builder (one lock) ─► kernel
//! SIGTERM, lease ────┴─ ending                              │
//! dead children ─────── reaper ──► who waits for them ◄─────┘
//! ```

mod awake;
mod change;
mod check;
mod deputy;
mod exec;
mod failure;
mod live;
mod log;
mod metrics;
mod names;
mod report;
mod samples;
mod serve;

use crate::build::{Builder, Means, kill_all};
use crate::children::Children;
use crate::control::{Directory, Line, Reply};
use crate::kernel::files::Doing;
use crate::kernel::process::InsideAs;
use crate::kernel::{mount, namespace};
use crate::limits::Groups;
use crate::plan::{State, plan};
use crate::sandbox::{Birth, Lifeline, build_host_view, cover_sockets, host_sockets, spawn};
use crate::uplink::Gate;
use failure::Failures;
use rustix::thread::UnshareFlags;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use deputy::{serve as serve_as_deputy, start_by};

/// What a testbed is started with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartOptions {
    /// Its name, unique among the user's.
    pub name: String,
    /// The network file as the user gave it, for reports.
    pub file: String,
    /// Version of the program, for reports.
    pub version: String,
    /// What shall be built.
    pub desired: State,
    /// Whether the testbed ends with the caller.
    pub leased: bool,
    /// Whether every link may change while it is up.
    pub live: bool,
    /// Whether control planes of overlays write down what they are told and do.
    #[serde(default)]
    pub record: bool,
}

/// Starts a testbed: forks its supervisor, waits until all is built, and returns the line that a leased testbed
/// lives by. The calling process must have one thread.
///
/// # Errors
/// Why it could not be built; nothing is left of it then.
pub fn start(options: StartOptions, progress: &mut dyn FnMut(usize, usize)) -> io::Result<Lifeline> {
    // Found out here, so that the message comes before anything is made.
    let directory = Directory::open()?;
    let groups = Groups::find();
    // Choice: FRR's ospfd refuses any user but 0 (`ospf_main.c`), so a user whose nodes run FRR is called root inside.
    // Other testbeds keep the user's own name, because tcpdump and others give up rights that a mapped root lacks.
    let daemons = options.desired.nodes.values().any(|node| node.frr.is_some());
    let inside = if daemons { InsideAs::Root } else { InsideAs::Itself };
    let mut line = Line::new(spawn(inside, |birth| run(birth, &directory, groups, options))?);
    loop {
        match line.receive::<Reply>()? {
            Some(Reply::Progress(done, total)) => progress(done, total),
            Some(Reply::Done(_)) => return Ok(line.socket),
            Some(Reply::Failed(reason)) => return Err(io::Error::other(reason)),
            Some(Reply::Row(_)) => {}
            None => {
                return Err(io::Error::other(
                    "the supervisor died while building; see `dmesg` for out-of-memory kills",
                ));
            }
        }
    }
}

pub(crate) struct Supervisor {
    options: StartOptions,
    birth_pid: i32,
    started: Instant,
    builder: Mutex<Builder>,
    failures: Mutex<Failures>,
    /// Held while a plan is made and carried out.
    changing: Mutex<()>,
    /// Held while a link is measured.
    checking: Mutex<()>,
    children: Children,
    /// Wakes who decides routes.
    rerouting: Sender<()>,
    ready: AtomicBool,
    ending: AtomicBool,
}

impl Supervisor {
    /// The builder; a thread that panicked while it held it left nothing half-recorded, because state follows effect.
    pub fn builder(&self) -> MutexGuard<'_, Builder> {
        self.builder.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets control applications, if any decide, look at links again, which are others now. Does not wait for them.
    fn reroute(&self) {
        let _ = self.rerouting.send(());
    }

    /// How long it has been there.
    pub fn up_for(&self) -> Duration {
        self.started.elapsed()
    }

    fn status(&self) -> &'static str {
        match (self.ready.load(Ordering::Acquire), self.ending.load(Ordering::Acquire)) {
            (_, true) => "stopping",
            (true, false) => "running",
            (false, false) => "starting",
        }
    }
}

/// Everything a supervisor does, from birth to its exit code.
fn run(birth: Birth, directory: &Directory, groups: Groups, options: StartOptions) -> i32 {
    let Birth { host_pid, start_time, root, parent, .. } = birth;
    let parent = Line::new(parent);
    let refuse = |error: io::Error| {
        let _ = parent.send(&Reply::Failed(error.to_string()), &[]);
        1
    };
    // First of all: process 1 ignores a signal that comes before.
    let signals = match live::keep_signals() {
        Ok(signals) => signals,
        Err(error) => return refuse(error),
    };
    let (listener, own_socket) = match directory.bind(&options.name, host_pid, start_time) {
        Ok(bound) => bound,
        Err(error) => return refuse(error),
    };
    let groups = groups.of(host_pid, start_time);
    let children = Children::default();
    let home = crate::sandbox::home();
    let uplinks = options.desired.nodes.values().any(|node| node.uplink);
    // Before this process has a network of its own.
    let sockets = host_sockets();
    let prepared = || {
        detach()?;
        // Before the sandbox's own folders cover the host's.
        let program = crate::overlay::own_program();
        // While there is one thread and the host's network around.
        let gate =
            if uplinks { Some(Gate::open().doing(|| "prepare for uplinks".to_owned())?) } else { None };
        namespace::renew(UnshareFlags::NEWNET).doing(|| "make a network namespace".to_owned())?;
        build_host_view()?;
        hide(&directory.path)?;
        Builder::new(Means {
            root,
            home,
            name: options.name.clone(),
            groups,
            children: children.clone(),
            gate,
            program,
            record: options.record,
        })
    };
    let builder = match prepared() {
        Ok(builder) => builder,
        Err(error) => return refuse(error),
    };
    log::start(&options.name);
    cover_sockets(&sockets);
    if let Err(error) = children.watch() {
        return refuse(error);
    }
    tracing::info!(pid = host_pid, root, version = options.version, "supervisor started");
    let leased = options.leased;
    let desired = options.desired.clone();
    let (rerouting, woken) = channel();
    let supervisor = Arc::new(Supervisor {
        options,
        birth_pid: host_pid,
        started: Instant::now(),
        builder: Mutex::new(builder),
        failures: Mutex::default(),
        changing: Mutex::new(()),
        checking: Mutex::new(()),
        children,
        rerouting,
        ready: AtomicBool::new(false),
        ending: AtomicBool::new(false),
    });
    if let Err(error) = crate::routing::start(&supervisor, woken) {
        return refuse(error);
    }
    let served = serve_until_end(&supervisor, listener, signals, &parent, desired, leased);
    // Before the caller hears of a failure: when it ends, nothing shall be left.
    drop(own_socket);
    let ended = match served {
        Ok(()) => 0,
        Err(error) => refuse(error),
    };
    tracing::info!("supervisor ended");
    ended
}

/// Builds, says so, and waits for the end.
fn serve_until_end(
    supervisor: &Arc<Supervisor>,
    listener: UnixListener,
    signals: impl Fn() -> io::Result<i32> + Send + 'static,
    parent: &Line,
    desired: State,
    leased: bool,
) -> io::Result<()> {
    let end = serve::listen(supervisor, listener)?;
    live::end_on_signal(signals, end.clone())?;
    live::end_early(supervisor, parent.socket.try_clone()?, end.clone())?;
    let mut told = Instant::now();
    let built = {
        let _one_at_a_time = supervisor.changing();
        let steps = plan(&desired, &supervisor.builder().state);
        supervisor.carry_out(&steps, &parent.socket, &mut |done, total| {
            if told.elapsed().as_millis() >= 50 {
                told = Instant::now();
                let _ = parent.send(&Reply::Progress(done, total), &[]);
            }
        })
    };
    if let Err(error) = built {
        tracing::error!(%error, "the testbed could not be built");
        teardown(supervisor, &mut |_, _| {});
        if end.is_asked()
            && let Some(asker) = end.wait()
        {
            let _ = asker.send(&Reply::Done(serde_json::Value::Null), &[]);
        }
        return Err(io::Error::other(error));
    }
    // Only now that all links are there and nothing runs: the measurement wants a quiet machine.
    if let Some(engine) = supervisor.builder().engine().cloned() {
        match engine.calibrate() {
            Ok(calibration) => tracing::info!(?calibration, "link engine calibrated"),
            Err(error) => tracing::warn!(%error, "link engine not calibrated"),
        }
    }
    supervisor.ready.store(true, Ordering::Release);
    tracing::info!(took_ms = supervisor.started.elapsed().as_millis() as u64, "testbed is up");
    // A caller that was interrupted meanwhile does not want it any more.
    parent
        .send(&Reply::Done(serde_json::Value::Null), &[])
        .inspect_err(|_| teardown(supervisor, &mut |_, _| {}))?;
    if leased {
        live::end_with_lease(parent.socket.try_clone()?, end.clone());
    } else {
        let _ = parent.socket.shutdown(std::net::Shutdown::Both);
    }
    let asker = end.wait();
    let mut told = Instant::now();
    teardown(supervisor, &mut |done, total| {
        if let Some(asker) = &asker
            && (told.elapsed().as_millis() >= 50 || done == total)
        {
            told = Instant::now();
            let _ = asker.send(&Reply::Progress(done, total), &[]);
        }
    });
    if let Some(asker) = &asker {
        let _ = asker.send(&Reply::Done(serde_json::Value::Null), &[]);
    }
    Ok(())
}

fn teardown(supervisor: &Supervisor, progress: &mut dyn FnMut(usize, usize)) {
    supervisor.ending.store(true, Ordering::Release);
    let started = Instant::now();
    // Twice: a change that waits for a program holds the builder, and lets go of it when the program dies.
    kill_all();
    let mut builder = supervisor.builder();
    kill_all();
    builder.stop(progress);
    tracing::info!(took_ms = started.elapsed().as_millis() as u64, "testbed is down");
}

/// Covers the folder of control sockets. A read-only mount keeps nobody from connecting to a socket, and the usual
/// places below `/run` and `/tmp` are covered already, but `XDG_RUNTIME_DIR` may say any other.
fn hide(sockets: &Path) -> io::Result<()> {
    if !sockets.exists() {
        return Ok(());
    }
    mount::tmpfs(sockets, 0o700).doing(|| format!("cover {}", sockets.display()))
}

/// Lets go of the caller's terminal and files.
fn detach() -> io::Result<()> {
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    for fd in 0..3 {
        crate::kernel::process::replace_standard(&null, fd)?;
    }
    std::env::set_current_dir("/")
}
