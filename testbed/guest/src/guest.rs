//! A running guest.

use crate::channel::{Channel, Ended};
use crate::identity;
use crate::image::Image;
use crate::machine::Machine;
use plait_model_quantity::ByteCount;
use plait_testbed_runtime::control::{Exited, Testbed};
use plait_testbed_runtime::kernel::files::Doing;
use plait_testbed_runtime::plan::OpenFlowState;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a guest may take to be up: more than ten times what it takes.
const BOOT: Duration = Duration::from_secs(300);
/// The time of a command for which none is given: an emulated processor beside others at work is slow.
const LIMIT: Duration = Duration::from_secs(180);

/// What a guest starts with.
#[derive(Debug, Clone)]
pub struct Equipment {
    /// What it boots.
    pub image: Image,
    /// Its memory, which holds its files too: 512 MiB unless said otherwise.
    pub memory: ByteCount,
    /// How many processors it has: 1 unless said otherwise.
    pub processors: u32,
    /// Whether its time is its own: each instruction takes a nanosecond, and waiting takes none of the host's
    /// time, so that nothing on the host disturbs what is measured inside. Such a guest keeps a processor of
    /// the host busy, and what it says to other nodes comes at no particular time. No unless said otherwise.
    pub virtual_time: bool,
    /// Files of the host that it gets: where they shall be, absolute, and where they are.
    pub files: Vec<(String, PathBuf)>,
}

impl Equipment {
    /// An image and nothing more.
    pub fn new(image: Image) -> Self {
        Self {
            image,
            memory: ByteCount::new(512 << 20),
            processors: 1,
            virtual_time: false,
            files: Vec::new(),
        }
    }

    /// A program or file of the host as well, at an absolute path in the guest.
    #[must_use]
    pub fn with_file(mut self, inside: &str, outside: impl Into<PathBuf>) -> Self {
        self.files.push((inside.to_owned(), outside.into()));
        self
    }
}

/// A node of a testbed with a kernel of its own. It ends when this is dropped, and with its testbed.
pub struct Guest {
    channel: Channel,
    machine: Machine,
    kernel: String,
    booted_in: Duration,
}

impl Guest {
    /// Boots a guest in the place of a node and waits until it is that node: a router forwards, a switch
    /// bridges. The node's own stack hears nothing from then on, and its programs, daemons and files stay
    /// outside, so that no node of the kinds `ovs` and `controller` is replaced.
    ///
    /// Takes about five seconds. The machine needs `qemu-system-x86_64`, `ip` and `tc`, and `/dev/net/tun`
    /// open to the testbed's owner.
    ///
    /// # Errors
    /// There is no such node, or it does not boot: the error ends with the last words of its console.
    pub fn start(testbed: &Testbed, node: &str, equipment: &Equipment) -> io::Result<Self> {
        let state = testbed.state()?;
        let known = state.nodes.get(node).ok_or_else(|| {
            io::Error::new(
                io::ErrorKind::NotFound,
                format!("there is no node `{node}` in {}", testbed.name()),
            )
        })?;
        if let Some(openflow) = &known.openflow {
            let kind = match openflow {
                OpenFlowState::Switch(_) => "ovs",
                OpenFlowState::Controller(_) => "controller",
            };
            let why = format!(
                "no guest can be the node `{node}` of the kind `{kind}`: what makes it one runs outside of guests; put \
                 the guest on a host, a router or a switch beside it"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
        }
        let started = Instant::now();
        let (machine, control) = Machine::start(testbed, node, known, equipment)?;
        let mut channel = Channel::new(control);
        let kernel = channel.greet(BOOT).map_err(|error| {
            // The last words may still be on their way.
            std::thread::sleep(Duration::from_millis(100));
            io::Error::new(
                error.kind(),
                format!("cannot boot a guest on {node}: {error}\n{}", machine.console().trim()),
            )
        })?;
        let mut guest = Self { channel, machine, kernel, booted_in: Duration::ZERO };
        guest
            .shell(&identity::script(&state, node, known))
            .doing(|| format!("make the guest the node {node}"))?;
        guest.booted_in = started.elapsed();
        Ok(guest)
    }

    /// Its kernel's version, as `uname -r` says.
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// How long it took until it was its node.
    pub fn booted_in(&self) -> Duration {
        self.booted_in
    }

    /// The last words of its console and of QEMU.
    pub fn console(&self) -> String {
        self.machine.console()
    }

    /// Runs a line or a script of shell, with some input, and kills it when its time is over. One runs at a
    /// time; what is left in the background lives on.
    ///
    /// # Errors
    /// The guest is gone, or does not answer. A program that fails is no error here.
    pub fn run(&mut self, script: &str, input: &[u8], limit: Duration) -> io::Result<Ended> {
        self.channel.run(script, input, limit)
    }

    /// Runs a line or a script of shell that must succeed within a minute; gives its output.
    ///
    /// # Errors
    /// It fails, and the error says what it said, or the guest is gone.
    pub fn shell(&mut self, script: &str) -> io::Result<String> {
        let ended = self.run(script, &[], LIMIT)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match ended.exited {
            Exited::Code(0) => Ok(text(&ended.stdout)),
            exited => {
                let said = format!("{}{}", text(&ended.stdout), text(&ended.stderr));
                Err(io::Error::other(format!("{exited:?} of `{script}` in the guest: {}", said.trim())))
            }
        }
    }

    /// Puts queueing disciplines on an interface, one inside the other, each as `tc` writes it: `netem delay
    /// 10ms`. A packet enters the first first. What was there is removed.
    ///
    /// Only netem and tbf hold another one this way; classes of htb are a matter of [`shell`](Self::shell).
    ///
    /// # Errors
    /// What `tc` refused.
    pub fn disciplines(&mut self, interface: &str, chain: &[&str]) -> io::Result<()> {
        let mut script = format!("set -e\ntc qdisc delete dev {interface} root 2>/dev/null || true\n");
        for (number, discipline) in chain.iter().enumerate() {
            let parent = if number == 0 { "root".to_owned() } else { format!("parent {number}:1") };
            script.push_str(&format!(
                "tc qdisc add dev {interface} {parent} handle {}: {discipline}\n",
                number + 1
            ));
        }
        self.shell(&script).map(drop)
    }

    /// Ends it, and waits until it is gone.
    pub fn stop(self) {}
}
