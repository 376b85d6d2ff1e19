//! The virtual machine: QEMU as a program of a node.

use crate::archive::Archive;
use crate::guest::Equipment;
use crate::identity;
use plait_testbed_runtime::control::{ExecRequest, Running, Testbed};
use plait_testbed_runtime::kernel::files::Doing;
use plait_testbed_runtime::plan::NodeState;
use rustix::fs::MemfdFlags;
use rustix::pipe::PipeFlags;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Puts TAPs in the place of the node's interfaces and becomes QEMU.
const JOIN: &str = include_str!("inside/join.sh");
/// Process 1.
const INIT: &str = include_str!("inside/init.sh");
/// How much of what the console said is kept, in bytes.
const CONSOLE: usize = 64 << 10;
/// How long a killed machine may take to be gone.
const END: Duration = Duration::from_secs(5);

/// A machine that was started. It ends when this is dropped.
pub struct Machine {
    running: Running,
    console: Arc<Mutex<VecDeque<u8>>>,
}

impl Machine {
    /// Starts a machine in the place of a node; gives the host's side of its control port.
    ///
    /// The three standard files carry everything: what to boot comes by standard input, the control port is
    /// standard output, and the console and QEMU's own words go to standard error.
    pub fn start(
        testbed: &Testbed,
        name: &str,
        node: &NodeState,
        equipment: &Equipment,
    ) -> io::Result<(Self, UnixStream)> {
        let (boot, kernel_size) = boot(equipment).doing(|| "put together what the guest boots".to_owned())?;
        let (ours, theirs) = UnixStream::pair()?;
        let (said, says) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        let mut command: Vec<String> = ["sh", "-c", JOIN, "guest"].map(str::to_owned).into();
        command.push(kernel_size.to_string());
        command.extend(identity::interfaces(node).map(|(name, _)| name.to_owned()));
        command.push("--".to_owned());
        command.extend(arguments(node, equipment));
        let request = ExecRequest { node: name.to_owned(), command, ..ExecRequest::default() };
        let running = testbed.exec(request, [boot.as_fd(), theirs.as_fd(), says.as_fd()])?;
        let console = Arc::new(Mutex::new(VecDeque::new()));
        let kept = console.clone();
        std::thread::Builder::new().name("guest-console".into()).spawn(move || keep(said.into(), &kept))?;
        Ok((Self { running, console }, ours))
    }

    /// The last words of the console and of QEMU.
    pub fn console(&self) -> String {
        let mut console = self.console.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(console.make_contiguous()).into_owned()
    }
}

impl Drop for Machine {
    /// Waits until it is gone, so that its node may be used again at once.
    fn drop(&mut self) {
        let mut waited = || {
            self.running.socket()?.set_read_timeout(Some(END))?;
            self.running.signal(rustix::process::Signal::KILL.as_raw())?;
            self.running.wait()
        };
        // Gone with its testbed, or not to be waited for: the supervisor kills what nobody asks for any more.
        let _ = waited();
    }
}

/// Kernel, root, process 1 and the equipment's files, in memory that nobody else sees; and the kernel's size.
fn boot(equipment: &Equipment) -> io::Result<(File, u64)> {
    let mut boot = File::from(rustix::fs::memfd_create("guest", MemfdFlags::CLOEXEC)?);
    let kernel_size = io::copy(&mut File::open(&equipment.image.kernel)?, &mut boot)?;
    io::copy(&mut File::open(&equipment.image.root)?, &mut boot)?;
    let mut archive = Archive::new(boot);
    archive.file("init", 0o755, INIT.len() as u64, INIT.as_bytes())?;
    for (inside, outside) in &equipment.files {
        let add = |archive: &mut Archive<File>| {
            let path = inside.trim_start_matches('/');
            for (at, _) in path.match_indices('/') {
                archive.folder(&path[..at], 0o755)?;
            }
            let file = File::open(outside)?;
            let metadata = file.metadata()?;
            archive.file(path, metadata.permissions().mode() & 0o777, metadata.len(), file)
        };
        add(&mut archive).doing(|| format!("copy {} into the guest", outside.display()))?;
    }
    let mut boot = archive.finish()?;
    boot.rewind()?;
    Ok((boot, kernel_size))
}

/// What QEMU is told beside kernel and root.
fn arguments(node: &NodeState, equipment: &Equipment) -> Vec<String> {
    let memory = equipment.memory.bytes() >> 20;
    let mut words: Vec<String> =
        "-no-user-config -nodefaults -display none -no-reboot -machine q35 -cpu max \
        -chardev file,id=console,path=/proc/self/fd/2,append=on -serial chardev:console \
        -chardev socket,id=control,fd=1 -device virtio-serial-pci \
        -device virtserialport,chardev=control,name=plait"
            .split_whitespace()
            .map(str::to_owned)
            .collect();
    let time: &[&str] = if equipment.virtual_time {
        // An instruction is a nanosecond, and whoever waits is woken at once.
        &["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off"]
    } else {
        &["-accel", "tcg,thread=multi"]
    };
    words.extend(time.iter().map(|&word| word.to_owned()));
    // The root is unpacked before anything else; a guest that panics ends.
    let line = "console=ttyS0 quiet panic=-1 rdinit=/init mitigations=off net.ifnames=0".to_owned();
    let sandbox = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny".to_owned();
    for (option, value) in [
        ("-m", format!("{memory}M")),
        ("-smp", equipment.processors.to_string()),
        ("-append", line),
        ("-sandbox", sandbox),
    ] {
        words.extend([option.to_owned(), value]);
    }
    for (number, (_, interface)) in identity::interfaces(node).enumerate() {
        words.extend([
            "-netdev".to_owned(),
            format!("tap,id=net{number},ifname=guest{number},script=no,downscript=no,vhost=off"),
            "-device".to_owned(),
            format!("virtio-net-pci,netdev=net{number},mac={},romfile=", identity::mac(interface)),
        ]);
    }
    words
}

/// Keeps the end of what is said, until nobody can say anything more.
fn keep(mut said: File, console: &Mutex<VecDeque<u8>>) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = said.read(&mut buffer) {
        let mut console = console.lock().unwrap_or_else(PoisonError::into_inner);
        console.extend(&buffer[..count]);
        let over = console.len().saturating_sub(CONSOLE);
        console.drain(..over);
    }
}
