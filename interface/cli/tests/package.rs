//! The package and the tarball, installed into a clean Debian 12 without a compiler.
//!
//! The root is made once and kept in `~/.cache/plait/debian-12.tar`; each test unpacks its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError};
use tempfile::TempDir;

/// Programs whose presence would mean that the root is not clean.
const COMPILERS: [&str; 5] = ["usr/bin/cc", "usr/bin/gcc", "usr/bin/clang", "usr/bin/cargo", "usr/bin/rustc"];

const RUN: &str = "plait: 1\nname: packaged\nnodes: [a, b]\nlinks: [{endpoints: [a, b], delay: 5ms, verify: true}]\n\
    run: [{at: 0s, on: a, exec: 'getent hosts b && echo arrived > /run/node/note'}]\n";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn done(output: &Output, what: &str) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{what}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    done(&output.unwrap_or_else(|error| panic!("{program}: {error}")), program)
}

/// Makes the package and the tarball of the program under test.
fn make(folder: &Path) -> (PathBuf, PathBuf) {
    let script = repository().join("setup/package");
    let mut command = Command::new(script);
    command
        .args([Path::new(env!("CARGO_BIN_EXE_plait")), folder])
        .env("PACKAGE_LEVEL", "1")
        .stdin(Stdio::null());
    let said = done(&command.output().unwrap(), "setup/package");
    let mut made = said.lines().map(PathBuf::from);
    (made.next().unwrap(), made.next().unwrap())
}

/// The package and the tarball, made once for all tests.
fn packages() -> &'static (PathBuf, PathBuf) {
    static MADE: OnceLock<(PathBuf, PathBuf)> = OnceLock::new();
    MADE.get_or_init(|| make(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages")))
}

/// A fresh Debian 12, or none where it cannot be had.
fn clean_root() -> Option<TempDir> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let there = |program: &str| {
        Command::new(program)
            .arg("--version")
            .stdout(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    };
    if !there("mmdebstrap") {
        println!("skipped: mmdebstrap is missing");
        return None;
    }
    if run("id", &["-u"]).trim() != "0" {
        println!("skipped: only root may make a Debian root and enter it");
        return None;
    }
    let cache = PathBuf::from(std::env::var_os("HOME")?).join(".cache/plait");
    let archive = cache.join("debian-12.tar");
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    if !archive.exists() {
        fs::create_dir_all(&cache).unwrap();
        // Named after this process until it is whole, so that two runs side by side do no harm.
        let partial = cache.join(format!("debian-12.{}.tar", std::process::id()));
        let made = Command::new("mmdebstrap")
            .args(["--variant=minbase", "--quiet", "bookworm", partial.to_str().unwrap()])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        if !made.status.success() {
            let _ = fs::remove_file(&partial);
            let said = String::from_utf8_lossy(&made.stderr);
            println!("skipped: no Debian 12 could be had: {}", said.lines().last().unwrap_or_default());
            return None;
        }
        fs::rename(&partial, &archive).unwrap();
    }
    drop(guard);
    let root = tempfile::tempdir().unwrap();
    run("tar", &["-xf", archive.to_str().unwrap(), "-C", root.path().to_str().unwrap(), "--exclude=./dev/*"]);
    // As in many a root for containers; nodes know each other by name all the same.
    let _ = fs::remove_file(root.path().join("etc/hosts"));
    for compiler in COMPILERS {
        assert!(!root.path().join(compiler).exists(), "{compiler} in a clean root");
    }
    Some(root)
}

/// Runs a shell line as a machine with this root would, in a mount namespace that ends with it. `chroot` is not enough:
/// a testbed has mounts of its own, and what makes them wants a root that is a mount.
fn inside(root: &Path, line: &str) -> String {
    let enter = "mount --bind $0 $0 && cd $0 && mount -t proc proc proc && mount --rbind /sys sys && \
        mount --rbind /dev dev && pivot_root . . && umount -l . && cd / && exec /bin/sh -ec \"$1\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", enter, root.to_str().unwrap(), line]);
    command
        .env_clear()
        .envs([("HOME", "/root"), ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")]);
    done(&command.stdin(Stdio::null()).output().unwrap(), line)
}

/// What a user does first, with nothing but what was installed.
fn first_steps(root: &Path, share: &str) {
    let version = inside(root, "plait --version");
    assert_eq!(version.trim(), format!("plait {}", env!("CARGO_PKG_VERSION")));
    let checked = inside(root, &format!("cd {share}/doc/plait && plait validate examples/quickstart.yaml"));
    assert!(checked.contains("fine"), "{checked}");
    fs::write(root.join("root/packaged.yaml"), RUN).unwrap();
    inside(root, "cd /root && plait run packaged.yaml --output results && test -s results/report.html");
    let results = fs::read_to_string(root.join("root/results/results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&results).unwrap();
    assert_eq!(results["passed"], true, "{results:#}");
    // How exact a link is on a crowded machine is another test's question.
    assert_eq!(results["verification"][0]["property"], "delay", "{results:#}");
    assert_eq!(inside(root, "plait ls").trim(), "no testbed is up");
}

/// The agents that systemd is to keep: what it would start knows every word, and it takes the units as they are where it is
/// there to be asked.
fn has_units(root: &Path, folder: &str) {
    let units = ["plait-overlay@.service", "plait-paths.service"];
    for unit in units {
        let text = fs::read_to_string(root.join(folder).join(unit)).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("ExecStart=")).unwrap();
        let help = inside(root, &format!("{} --help", line.replace("%i", "default")));
        assert!(help.contains("Usage: plait") && help.contains(" agent"), "{unit}: {help}");
    }
    let paths = units.map(|unit| root.join(folder).join(unit));
    match Command::new("systemd-analyze").args(["verify", "--man=no"]).args(paths).output() {
        Ok(output) => {
            // That the program is not where this systemd looks is said of another machine than the root's.
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let faults: Vec<_> = said.lines().filter(|line| !line.contains("is not executable")).collect();
            assert!(faults.is_empty(), "{faults:#?}");
        }
        Err(why) => println!("systemd was not asked of its units: {why}"),
    }
}

fn has(root: &Path, files: &[&str]) {
    for file in files {
        assert!(root.join(file).exists(), "{file} was not installed");
    }
}

#[test]
fn the_debian_package_runs_in_a_clean_debian() {
    let (package, _) = packages();
    let Some(root) = clean_root() else { return };
    fs::copy(package, root.path().join("root/plait.deb")).unwrap();
    inside(root.path(), "dpkg --install /root/plait.deb");
    has(
        root.path(),
        &[
            "usr/bin/plait",
            "usr/share/man/man1/plait.1.gz",
            "usr/share/man/man1/plait-run.1.gz",
            "usr/share/bash-completion/completions/plait",
            "usr/share/zsh/vendor-completions/_plait",
            "usr/share/fish/vendor_completions.d/plait.fish",
            "usr/share/plait/plait.schema.json",
            "usr/share/doc/plait/copyright",
            "usr/share/doc/plait/examples/hello.yaml",
        ],
    );
    first_steps(root.path(), "/usr/share");
    has_units(root.path(), "usr/lib/systemd/system");
    inside(root.path(), "dpkg --purge plait && ! command -v plait && ! test -e /usr/share/doc/plait");
}

#[test]
fn the_tarball_runs_in_a_clean_debian() {
    let (_, tarball) = packages();
    let Some(root) = clean_root() else { return };
    let place = root.path().join("usr/local");
    let (tarball, place) = (tarball.to_str().unwrap(), place.to_str().unwrap());
    run("tar", &["-xzf", tarball, "-C", place, "--strip-components=1"]);
    has(root.path(), &["usr/local/bin/plait", "usr/local/share/doc/plait/LICENSE-APACHE"]);
    first_steps(root.path(), "/usr/local/share");
    has_units(root.path(), "usr/local/lib/systemd/system");
}

#[test]
fn the_same_program_gives_the_same_package() {
    let folder = tempfile::tempdir().unwrap();
    let ((package, tarball), (again, tarball_again)) = (packages(), make(folder.path()));
    // Not `assert_eq!`, which would print them.
    assert!(fs::read(package).unwrap() == fs::read(again).unwrap(), "two packages of one program");
    assert!(fs::read(tarball).unwrap() == fs::read(tarball_again).unwrap(), "two tarballs of one program");
}
