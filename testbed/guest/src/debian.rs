//! The distribution's part: its kernel and packages, fetched and unpacked by its bootstrap tool, and what of
//! them a guest gets.

use std::io::{self, Read};
use std::process::{Command, Stdio};

/// Names this recipe; a change of it makes images anew.
pub const RECIPE: &str = "bookworm 1";
const SUITE: &str = "bookworm";
const DEPMOD: &str = r#"for folder in "$1"/lib/modules/*; do chroot "$1" depmod "${folder##*/}"; done"#;

/// What every guest has.
pub const PACKAGES: &[&str] = &[
    "coreutils",
    "dash",
    "ethtool",
    "findutils",
    "grep",
    "iperf3",
    "iproute2",
    "iputils-ping",
    "kmod",
    "linux-image-cloud-amd64",
    "mawk",
    "mount",
    "procps",
    "sed",
    // Stands in for a program that would bring Perl along.
    "usr-is-merged",
    "util-linux",
];

/// What a guest has no use for: the beginnings of paths.
const DROPPED: &[&str] = &[
    "boot/",
    "usr/include/",
    "usr/lib/udev/",
    "lib/udev/",
    "usr/lib/x86_64-linux-gnu/gconv/",
    "usr/share/bash-completion/",
    "usr/share/doc/",
    "usr/share/i18n/",
    "usr/share/info/",
    "usr/share/lintian/",
    "usr/share/locale/",
    "usr/share/man/",
    "var/cache/",
    "var/lib/dpkg/",
];

/// Of the kernel's modules, everything but most drivers and file systems: what a guest boots with is unpacked
/// into its memory by an emulated processor.
const MODULE_FOLDERS_DROPPED: [&str; 2] = ["drivers/", "fs/"];
const MODULE_FOLDERS_KEPT: [&str; 5] =
    ["drivers/char/", "drivers/net/", "drivers/vhost/", "drivers/virtio/", "fs/overlayfs/"];
const MODULE_FOLDERS_DROPPED_AFTER_ALL: [&str; 2] = ["drivers/net/ethernet/", "drivers/net/wireless/"];

/// What the bootstrap tool brought.
pub enum Found<'a> {
    /// The compressed kernel: size and content.
    Kernel(u64, &'a mut dyn Read),
    /// A folder: path and mode.
    Folder(&'a str, u32),
    /// A file: path, mode, size and content.
    File(&'a str, u32, u64, &'a mut dyn Read),
    /// A symbolic link: path and target.
    Link(&'a str, &'a str),
}

/// The packages of an image: the common ones and some more, sorted.
///
/// # Errors
/// A name that no package can have (Debian policy, section 5.6.1).
pub fn packages(more: &[&str]) -> io::Result<Vec<String>> {
    let mut packages: Vec<String> = PACKAGES.iter().chain(more).map(|&name| name.to_owned()).collect();
    packages.sort();
    packages.dedup();
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    match packages
        .iter()
        .find(|name| !name.starts_with(|c: char| c.is_ascii_alphanumeric()) || !name.chars().all(fits))
    {
        Some(name) => {
            Err(io::Error::new(io::ErrorKind::InvalidInput, format!("`{name}` is no package's name")))
        }
        None => Ok(packages),
    }
}

/// Fetches and unpacks packages, and hands over what a guest gets of them, folders before their files.
///
/// Packages are unpacked and not configured: nobody logs in, and no service starts by itself.
///
/// # Errors
/// The bootstrap tool is missing or failed (its last words are in the error), or `each` failed.
pub fn bootstrap(packages: &[String], each: &mut dyn FnMut(Found<'_>) -> io::Result<()>) -> io::Result<()> {
    // A caller who is killed takes the tool along, which cleans up after itself; its time is bounded in any case.
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM", "timeout", "--kill-after=10", "300"]);
    command.args(["mmdebstrap", "--quiet", "--variant=extract", "--format=tar"]);
    command.arg(format!("--include={}", packages.join(",")));
    // What `modprobe` looks into is written by the kernel package's configuration.
    command.arg(format!("--extract-hook={DEPMOD}"));
    command.args([SUITE, "-"]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let mut stderr = child.stderr.take().expect("a pipe was asked for");
    let words = std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = stderr.read_to_end(&mut said);
        String::from_utf8_lossy(&said).into_owned()
    });
    let mut stdout = child.stdout.take().expect("a pipe was asked for");
    let unpacked = unpack(&mut stdout, each);
    if unpacked.is_ok() {
        // Padding after the archive's end would block the tool.
        io::copy(&mut stdout, &mut io::sink())?;
    }
    drop(stdout);
    let status = child.wait()?;
    let words = words.join().unwrap_or_default();
    match status.code() {
        Some(0) => unpacked,
        Some(127) => Err(io::Error::new(io::ErrorKind::NotFound, "mmdebstrap is not installed")),
        Some(124) => Err(io::Error::new(io::ErrorKind::TimedOut, "mmdebstrap took over five minutes")),
        // Where it failed because we did, both are told.
        _ => {
            let last = words.lines().rev().find(|line| line.starts_with("E:")).unwrap_or(words.trim());
            let why = unpacked.err().map_or(String::new(), |error| format!("{error}; "));
            Err(io::Error::other(format!("{why}mmdebstrap failed: {last}")))
        }
    }
}

fn unpack(tar: &mut dyn Read, each: &mut dyn FnMut(Found<'_>) -> io::Result<()>) -> io::Result<()> {
    for entry in tar::Archive::new(tar).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.to_string_lossy().trim_start_matches("./").trim_end_matches('/').to_owned();
        let target = entry.link_name()?.map(|target| target.to_string_lossy().into_owned());
        let (kind, size) = (entry.header().entry_type(), entry.size());
        let mode = entry.header().mode()? & 0o7777;
        if kind.is_file() && path.starts_with("boot/vmlinuz-") {
            each(Found::Kernel(size, &mut entry))?;
        }
        if path.is_empty() || !is_kept(&path) {
            continue;
        }
        match (kind, target) {
            (tar::EntryType::Directory, _) => each(Found::Folder(&path, mode))?,
            (tar::EntryType::Regular, _) => each(Found::File(&path, mode, size, &mut entry))?,
            (tar::EntryType::Symlink, Some(target)) => each(Found::Link(&path, &target))?,
            // The same file by another name: the kernel's unpacker wants both at once, a link will do.
            (tar::EntryType::Link, Some(target)) => {
                each(Found::Link(&path, &format!("/{}", target.trim_start_matches("./"))))?;
            }
            // Devices: the guest's kernel makes its own.
            _ => {}
        }
    }
    Ok(())
}

fn is_kept(path: &str) -> bool {
    let begins = |starts: &[&str], path: &str| starts.iter().any(|start| path.starts_with(start));
    if begins(DROPPED, path) {
        return false;
    }
    let Some((_, module)) = path.strip_prefix("lib/modules/").and_then(|rest| rest.split_once("/kernel/"))
    else {
        return true;
    };
    let in_kept = || {
        // Folders above a kept one are kept too.
        let above = |kept: &&str| kept.starts_with(module) && !module.ends_with('/');
        begins(&MODULE_FOLDERS_KEPT, &format!("{module}/")) || MODULE_FOLDERS_KEPT.iter().any(above)
    };
    (!begins(&MODULE_FOLDERS_DROPPED, module) || in_kept())
        && !begins(&MODULE_FOLDERS_DROPPED_AFTER_ALL, module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_gets_the_modules_of_networks_and_no_manuals() {
        for kept in [
            "usr/bin/ping",
            "lib/modules/6.1/modules.dep",
            "lib/modules/6.1/kernel/net/sched/sch_netem.ko",
            "lib/modules/6.1/kernel/drivers/net/wireguard/wireguard.ko",
            "lib/modules/6.1/kernel/drivers",
            "lib/modules/6.1/kernel/drivers/net",
            "lib/modules/6.1/kernel/fs/overlayfs/overlay.ko",
        ] {
            assert!(is_kept(kept), "{kept}");
        }
        for dropped in [
            "usr/share/doc/iproute2/copyright",
            "boot/vmlinuz-6.1",
            "lib/modules/6.1/kernel/drivers/net/ethernet/intel/e1000/e1000.ko",
            "lib/modules/6.1/kernel/drivers/scsi/sd_mod.ko",
            "lib/modules/6.1/kernel/fs/ext4/ext4.ko",
        ] {
            assert!(!is_kept(dropped), "{dropped}");
        }
    }

    #[test]
    fn what_is_no_package_is_refused_before_anything_is_run() {
        for name in ["--help", "a b", "", "a,b", "Upper"] {
            assert!(packages(&[name]).is_err(), "{name}");
        }
        assert!(packages(&["libstdc++6"]).unwrap().contains(&"libstdc++6".to_owned()));
    }
}
