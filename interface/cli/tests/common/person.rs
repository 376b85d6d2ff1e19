//! Somebody who types `plait`.

use super::{
    Ended, NOBODY, Running, Testbed, describe, eventually, is_root, is_zombie, send, skip, user_namespaces,
};
use rustix::process::Signal;
use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Somebody who types `plait`.
pub struct Person {
    folder: tempfile::TempDir,
    /// The user to become before anything is run; none runs as whoever runs the tests.
    becomes: Option<u32>,
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

    /// `plait` with arguments, as this person, after a shell line that root does in the same process: in a mount
    /// namespace of its own, so that what it mounts ends with the command.
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
    pub fn program(&self) -> &'static Path {
        static SHARED: OnceLock<PathBuf> = OnceLock::new();
        let built = Path::new(env!("CARGO_BIN_EXE_plait"));
        let open = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.mode() & 0o001 != 0);
        if self.becomes.is_none() || built.ancestors().all(open) {
            return built;
        }
        SHARED.get_or_init(|| {
            // One copy for each build folder, put in its place whole: a test that runs the one before keeps that.
            let folder = Path::new("/var/tmp/plait-test-program");
            fs::create_dir_all(folder).unwrap();
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
            let place = built.parent().unwrap().to_string_lossy().replace('/', "-");
            let copy = folder.join(format!("plait{place}"));
            let told =
                |path: &Path| fs::metadata(path).ok().map(|file| (file.len(), file.modified().unwrap()));
            if told(&copy) == told(built) {
                return copy;
            }
            let fresh = folder.join(format!("fresh-{}", std::process::id()));
            fs::copy(built, &fresh).unwrap();
            let times = fs::FileTimes::new().set_modified(fs::metadata(built).unwrap().modified().unwrap());
            fs::File::options().write(true).open(&fresh).unwrap().set_times(times).unwrap();
            fs::set_permissions(&fresh, fs::Permissions::from_mode(0o755)).unwrap();
            fs::rename(&fresh, &copy).unwrap();
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
