//! People who type `plait` on this machine, each with a home and a runtime folder that nobody else has.
//!
//! Everything goes through the built command, as a person would use it. Whatever a test leaves running dies with its
//! [`Person`].
#![allow(dead_code, reason = "every test file uses its own part of this")]

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a crowded machine; what takes longer hangs.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Debian's `nobody`: a user without any right.
const NOBODY: u32 = 65534;

/// Somebody who types `plait`.
pub struct Person {
    folder: tempfile::TempDir,
    /// The user to become before anything is run; none runs as whoever runs the tests.
    becomes: Option<u32>,
}

/// Says why a test did not run.
pub fn skip(reason: &str) {
    println!("skipped: {reason}");
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Person {
    /// Root, where the tests are run by root.
    pub fn root() -> Option<Self> {
        if !is_root() {
            skip("needs root");
            return None;
        }
        Some(Self::within(&std::env::temp_dir(), None))
    }

    /// A user without privileges: `nobody` where the tests are run by root, else the user who runs them.
    pub fn user() -> Option<Self> {
        if !user_namespaces() {
            skip("this kernel gives users no namespaces");
            return None;
        }
        Some(Self::within(&std::env::temp_dir(), is_root().then_some(NOBODY)))
    }

    /// Like the first two, with everything of theirs below another folder.
    pub fn within(place: &Path, becomes: Option<u32>) -> Self {
        let folder = tempfile::Builder::new().prefix("plait-test-").tempdir_in(place).unwrap();
        let person = Self { folder, becomes };
        fs::set_permissions(person.folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        if let Some(user) = becomes {
            chown(person.folder.path(), Some(user), Some(user)).unwrap();
        }
        for (name, mode) in [("home", 0o700), ("runtime", 0o700), ("work", 0o755)] {
            let path = person.folder.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            if let Some(user) = becomes {
                chown(&path, Some(user), Some(user)).unwrap();
            }
        }
        person
    }

    /// Whether this is root of the machine.
    pub fn is_root(&self) -> bool {
        is_root() && self.becomes.is_none()
    }

    /// Another person who is the same user of the machine.
    pub fn twin(&self) -> Self {
        Self::within(&std::env::temp_dir(), self.becomes)
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    /// Where commands are typed, and where their files lie.
    pub fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Where control sockets are.
    pub fn sockets(&self) -> PathBuf {
        self.folder.path().join("runtime/plait")
    }

    /// The names of the control sockets there are.
    pub fn socket_names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.sockets()).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    }

    /// The socket of a testbed.
    pub fn socket(&self, testbed: &str) -> PathBuf {
        let start = format!("{testbed}.");
        let name = self.socket_names().into_iter().find(|name| name.starts_with(&start));
        self.sockets().join(name.expect("a socket of that testbed"))
    }

    /// A file in the working folder.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(name);
        fs::write(&path, content).unwrap();
        if let Some(user) = self.becomes {
            chown(&path, Some(user), Some(user)).unwrap();
        }
        path
    }

    /// Any program, as this person, in the working folder.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        // Whoever started the tests in the background may have had SIGINT ignored, which programs inherit.
        let mut command = Command::new("/usr/bin/env");
        command
            .arg("--default-signal=INT,QUIT,TERM,HUP")
            .arg(program.as_ref())
            .current_dir(self.work())
            .env_clear()
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", self.home())
            .env("XDG_RUNTIME_DIR", self.folder.path().join("runtime"))
            .stdin(Stdio::null());
        if let Some(user) = self.becomes {
            command.uid(user).gid(user);
        }
        command
    }

    /// `plait` with arguments, not started yet.
    pub fn prepare<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = self.command(self.program());
        command.args(arguments);
        command
    }

    /// `plait` with arguments, run to its end.
    pub fn plait<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ended {
        self.start(arguments).wait()
    }

    /// `plait` with arguments, running.
    pub fn start<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Running {
        let words: Vec<_> =
            arguments.iter().map(|word| word.as_ref().to_string_lossy().into_owned()).collect();
        let mut command = self.prepare(arguments);
        Running::start(&mut command, format!("plait {}", words.join(" ")))
    }

    /// Starts a testbed from a network's text and returns its name.
    pub fn up(&self, text: &str) -> Testbed<'_> {
        self.up_with(text, &[])
    }

    /// Starts a testbed with further arguments.
    pub fn up_with(&self, text: &str, more: &[&str]) -> Testbed<'_> {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("net{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let file = self.file(&format!("{name}.yaml"), text);
        let mut arguments = vec!["up", file.to_str().unwrap(), "--name", &name];
        arguments.extend(more);
        self.plait(&arguments).fine();
        Testbed { person: self, name, file }
    }

    /// `plait` with arguments, as this person, after a shell line that root does in the same process: in a mount namespace
    /// of its own, so that what it mounts ends with the command.
    pub fn plait_after<S: AsRef<OsStr>>(&self, line: &str, arguments: &[S]) -> Ended {
        let becomes = self
            .becomes
            .map_or(String::new(), |user| format!("setpriv --reuid {user} --regid {user} --clear-groups "));
        let line = format!("{line} && exec {becomes}{} \"$@\"", self.program().display());
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", &line, "sh"]).args(arguments);
        command.current_dir(self.work()).stdin(Stdio::null());
        let own = self.command("env");
        command.env_clear().envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
        Running::start(&mut command, line).wait()
    }

    /// What `ls --json` says.
    pub fn testbeds(&self) -> Vec<Value> {
        self.plait(&["ls", "--json"]).json().as_array().unwrap().clone()
    }

    /// Processes of this person's testbeds and commands: those that carry the folder in their environment.
    pub fn processes(&self) -> Vec<i32> {
        let mark = self.folder.path().as_os_str().as_encoded_bytes();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.windows(mark.len()).any(|window| window == mark) && !is_zombie(pid) {
                found.push(pid);
            }
        }
        found
    }

    /// Waits until nothing of this person's testbeds runs any more.
    pub fn assert_nothing_runs(&self) {
        let gone = eventually(|| self.processes().is_empty());
        assert!(gone, "still running: {:?}", self.processes().into_iter().map(describe).collect::<Vec<_>>());
    }

    /// Where the built command lies for this person: another user may not be let into the build folder.
    fn program(&self) -> &'static Path {
        static SHARED: OnceLock<PathBuf> = OnceLock::new();
        let built = Path::new(env!("CARGO_BIN_EXE_plait"));
        let open = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o001 != 0);
        if self.becomes.is_none() || built.ancestors().all(open) {
            return built;
        }
        SHARED.get_or_init(|| {
            // Kept for the life of this process, and named by the build so that runs do not pile up.
            let folder = std::env::temp_dir().join("plait-test-program");
            fs::create_dir_all(&folder).unwrap();
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
            let copy = folder.join(format!("plait-{}", std::process::id()));
            fs::copy(built, &copy).unwrap();
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
            copy
        })
    }
}

impl Drop for Person {
    fn drop(&mut self) {
        for _ in 0..50 {
            let left = self.processes();
            if left.is_empty() {
                break;
            }
            left.into_iter().for_each(|pid| send(pid, Signal::KILL));
            std::thread::sleep(Duration::from_millis(20));
        }
        // Control groups of the dead go with the next command.
        let _ = self.prepare(&["ls"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// Runs a test once as root and once as a user.
pub fn as_root_and_as_user(test: impl Fn(&Person)) {
    if let Some(person) = Person::root() {
        test(&person);
    }
    if let Some(person) = Person::user() {
        test(&person);
    }
}

/// A testbed that is up.
pub struct Testbed<'a> {
    pub person: &'a Person,
    pub name: String,
    pub file: PathBuf,
}

impl Testbed<'_> {
    /// The command line of an `exec` in a node.
    pub fn words<'w>(&'w self, node: &'w str, command: &[&'w str]) -> Vec<&'w str> {
        [&["exec", "--testbed", &self.name, node, "--"], command].concat()
    }

    /// Runs a program in a node.
    pub fn exec(&self, node: &str, command: &[&str]) -> Ended {
        self.person.plait(&self.words(node, command))
    }

    /// Runs a line of shell in a node.
    pub fn shell(&self, node: &str, line: &str) -> Ended {
        self.exec(node, &["sh", "-c", line])
    }

    /// Starts a line of shell in a node.
    pub fn background(&self, node: &str, line: &str) -> Running {
        self.person.start(&self.words(node, &["sh", "-c", line]))
    }

    /// `plait link …` of this testbed; the words after the link's name stay last.
    pub fn link(&self, verb: &str, words: &[&str]) -> Ended {
        self.person.plait(&[&["link", verb, "--testbed", &self.name], words].concat())
    }

    /// Measures a link.
    pub fn check(&self, link: &str) -> Value {
        let ended = self.person.plait(&["--json", "link", "check", "--testbed", &self.name, link]);
        // The exit code tells whether all was within the published tolerance, which a crowded machine may miss.
        let checked: Value =
            serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"));
        checked[0].clone()
    }

    /// What `inspect --json` says.
    pub fn inspect(&self) -> Value {
        self.person.plait(&["inspect", &self.name, "--json"]).json()
    }

    /// The supervisor's process.
    pub fn pid(&self) -> i32 {
        self.inspect()["pid"].as_i64().unwrap() as i32
    }

    /// Writes the file anew and applies it.
    pub fn apply(&self, text: &str) -> Ended {
        self.person.file(self.file.file_name().unwrap().to_str().unwrap(), text);
        self.person.plait(&["apply", self.file.to_str().unwrap(), "--name", &self.name, "--json"])
    }

    /// Takes it down.
    pub fn down(self) {
        self.person.plait(&["down", &self.name]).fine();
    }
}

/// The steps of a plan by their kinds and names: `condition a-b`.
pub fn steps(value: &Value) -> Vec<String> {
    let steps = value["steps"].as_array().expect("a list of steps");
    let mut found: Vec<String> = steps
        .iter()
        .flat_map(|step| step.as_object().expect("a step is a map of one key"))
        .map(|(kind, of)| {
            let name = of["name"].as_str().or(of["node"].as_str()).unwrap_or_default();
            format!("{kind} {name}").trim().to_owned()
        })
        .collect();
    found.dedup();
    found
}

/// A command that is running.
pub struct Running {
    child: Child,
    what: String,
    readers: Option<[JoinHandle<Vec<u8>>; 2]>,
}

impl Running {
    /// Starts it with its output caught.
    pub fn start(command: &mut Command, what: String) -> Self {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
        let mut out = child.stdout.take().unwrap();
        let mut err = child.stderr.take().unwrap();
        let readers =
            [std::thread::spawn(move || drain(&mut out)), std::thread::spawn(move || drain(&mut err))];
        Self { child, what, readers: Some(readers) }
    }

    /// Its process.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// What it reads from, where that is a pipe.
    pub fn input(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        send(self.pid(), signal);
    }

    /// Whether it has not ended yet.
    pub fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > PATIENCE {
                send(self.pid(), Signal::KILL);
                panic!("`{}` did not end within {PATIENCE:?}", self.what);
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        let [stdout, stderr] = self
            .readers
            .take()
            .unwrap()
            .map(|reader| String::from_utf8_lossy(&reader.join().unwrap()).into_owned());
        Ended { what: std::mem::take(&mut self.what), status, stdout, stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.readers.is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn drain(from: &mut impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = from.read_to_end(&mut bytes);
    bytes
}

/// A command that has ended.
#[derive(Debug)]
pub struct Ended {
    pub what: String,
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    /// It succeeded; its output.
    #[track_caller]
    pub fn fine(self) -> String {
        assert!(self.status.success(), "{self:#?}");
        self.stdout
    }

    /// It failed with this code; what it said on standard error.
    #[track_caller]
    pub fn fails(self, code: i32) -> String {
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        self.stderr
    }

    /// It failed with this code and said all of this.
    #[track_caller]
    pub fn fails_saying(self, code: i32, words: &[&str]) {
        assert_eq!(self.status.code(), Some(code), "{self:#?}");
        for word in words {
            assert!(self.stderr.contains(word), "`{word}` is not in what was said: {self:#?}");
        }
    }

    /// It succeeded and answered JSON.
    #[track_caller]
    pub fn json(self) -> Value {
        assert!(self.status.success(), "{self:#?}");
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Its exit code.
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }
}

/// Sends a signal to a process; it may be gone already.
pub fn send(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// Whether a process lives.
pub fn lives(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists() && !is_zombie(pid)
}

fn is_zombie(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.starts_with('Z') || rest.starts_with('X'))
}

fn describe(pid: i32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    format!("{pid} {}", String::from_utf8_lossy(&words).replace('\0', " "))
}

/// Waits for something that must happen.
pub fn eventually(mut happened: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE / 4 {
        if happened() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Whether a program is installed.
pub fn installed(program: &str) -> bool {
    let found = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]
        .iter()
        .any(|folder| Path::new(folder).join(program).exists());
    if !found {
        skip(&format!("{program} is not installed"));
    }
    found
}

/// Whether users may make namespaces here.
fn user_namespaces() -> bool {
    static MAY: OnceLock<bool> = OnceLock::new();
    *MAY.get_or_init(|| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--net", "true"]).stderr(Stdio::null()).stdout(Stdio::null());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.status().is_ok_and(|status| status.success())
    })
}

/// What `ping` says: sent, received, and the mean round trip in milliseconds.
#[derive(Debug)]
pub struct Pinged {
    pub sent: u32,
    pub received: u32,
    pub mean: f64,
    /// Numbers of the answers that came.
    pub answered: Vec<u32>,
}

impl Pinged {
    /// Reads it.
    pub fn read(text: &str) -> Self {
        let summary = text.lines().find(|line| line.contains("packets transmitted")).expect(text);
        let mut numbers = summary.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok());
        let (sent, received) = (numbers.next().unwrap(), numbers.next().unwrap());
        let mean = text
            .lines()
            .find_map(|line| line.strip_prefix("rtt ")?.split(" = ").nth(1)?.split('/').nth(1)?.parse().ok());
        let answered = text
            .lines()
            .filter(|line| !line.contains("DUP"))
            .filter_map(|line| line.split("icmp_seq=").nth(1)?.split(' ').next()?.parse().ok())
            .collect();
        Self { sent, received, mean: mean.unwrap_or(f64::NAN), answered }
    }

    /// Every packet came back.
    #[track_caller]
    pub fn whole(self) -> Self {
        assert!(self.sent > 0 && self.sent == self.received, "{self:?}");
        self
    }
}

/// Talks to a control socket in bytes: sends them, closes its side, and reads the whole answer.
pub fn converse(socket: &Path, bytes: &[u8]) -> std::io::Result<String> {
    // A path longer than a socket address holds is reached through its folder.
    let folder = fs::File::open(socket.parent().unwrap())?;
    let short = format!(
        "/proc/self/fd/{}/{}",
        std::os::fd::AsRawFd::as_raw_fd(&folder),
        socket.file_name().unwrap().to_string_lossy()
    );
    let mut stream = std::os::unix::net::UnixStream::connect(short)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(bytes)?;
    stream.shutdown(std::net::Shutdown::Write)?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
