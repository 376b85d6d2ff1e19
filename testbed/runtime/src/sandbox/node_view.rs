//! A node's view of the files: the sandbox's, with places of the node's own and the files that the network file gives
//! it.
//!
//! A file in a place of the node's own (`/run`, `/tmp`, `/var`, home) can be written at any time. One that lies
//! elsewhere needs a layer over the folder at the root that it is in, and layers are made with the view: a program
//! that runs already would not see a later one's files where it has the folder open.

use super::view::HOME;
use crate::kernel::files::Doing;
use crate::kernel::{mount, namespace};
use rustix::thread::UnshareFlags;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The folder that a node calls its own: programs start in it, and it is collected after a run.
pub const NODE_FOLDER: &str = "/run/node";

/// Files of all nodes, which a layer over `/etc` would hide.
const SHARED: [&str; 2] = ["hosts", "resolv.conf"];

/// Parameters that every network namespace shows and that are the machine's all the same: the kernel has one switch for
/// all, and it cannot be turned back (`net/netfilter/nf_hooks_lwtunnel.c`).
pub const OF_ALL_NAMESPACES: [&str; 1] = ["net.netfilter.nf_hooks_lwtunnel"];

/// Where a node's own files are kept, as the supervisor sees them.
pub fn node_folder(node: &str) -> PathBuf {
    Path::new(HOME).join("nodes").join(node)
}

/// The user's home, which every node gets a copy of.
pub fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| "/root".into(), PathBuf::from)
}

/// Where a file of a node lies.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    /// In a folder that is the node's own.
    Own(PathBuf),
    /// Over files of the host, in this folder at the root and at this path below it.
    Over(PathBuf, PathBuf),
}

impl Place {
    fn of(path: &Path, home: &Path) -> Self {
        let path = without_links(path);
        let own = ["/run", "/tmp", "/var"].iter().any(|own| path.starts_with(own));
        if own || (has_own_home(home) && path.starts_with(home)) {
            return Self::Own(path);
        }
        let top: PathBuf = path.components().take(2).collect();
        let below = path.components().skip(2).collect();
        Self::Over(top, below)
    }
}

/// A path whose folders are real ones: `/lib` and its kin are links into `/usr`. The last part may be a link.
fn without_links(path: &Path) -> PathBuf {
    let real = || {
        // What the host has in these is hidden from nodes.
        let hidden = path.starts_with("/run") || path.starts_with("/tmp");
        let above = path.ancestors().skip(1).find(|above| above.exists()).filter(|_| !hidden)?;
        Some(fs::canonicalize(above).ok()?.join(path.strip_prefix(above).ok()?))
    };
    real().unwrap_or_else(|| path.to_owned())
}

/// Whether the user's home is a folder that can be laid over alone.
fn has_own_home(home: &Path) -> bool {
    home != Path::new("/") && home.is_dir()
}

/// Why no node of this machine can have a file at `path`; nothing if it can. `home` is the user's.
pub fn cannot_hold(path: &Path, home: &Path) -> Option<String> {
    if let Some(kernels) = ["/proc", "/sys", "/dev"].iter().find(|kernels| path.starts_with(kernels)) {
        return Some(format!("{kernels} is the kernel's"));
    }
    // What the host has in these is hidden from nodes.
    if path.starts_with("/run") || path.starts_with("/tmp") {
        return None;
    }
    if path.is_dir() {
        return Some(format!("{} is a folder of this machine", path.display()));
    }
    if let Place::Over(top, below) = Place::of(path, home)
        && (!top.is_dir() || below.as_os_str().is_empty())
    {
        return Some(format!("a layer goes over a folder, and this machine has no folder {}", top.display()));
    }
    let above = path.ancestors().skip(1).find(|above| above.exists())?;
    (!above.is_dir()).then(|| format!("{} is a file of this machine", above.display()))
}

/// A node's view of the files: a mount namespace, made when its first program starts.
pub struct NodeView {
    /// The mount namespace.
    pub mount: Arc<OwnedFd>,
    home: PathBuf,
    /// Folders at the root that have a layer.
    layers: BTreeSet<PathBuf>,
    /// Which of the shared files the node has a version of its own of.
    unshared: BTreeSet<String>,
}

impl NodeView {
    /// Makes the view of a node on a thread of its own, inside the node's network namespace so that `/sys` shows its
    /// devices. `files` are laid over what the host has.
    ///
    /// # Errors
    /// The mount or file that failed, by path.
    pub fn build(
        node: &str,
        network: &OwnedFd,
        home: &Path,
        files: &BTreeMap<String, String>,
    ) -> io::Result<Self> {
        let mut own = Vec::new();
        let mut layers: BTreeMap<PathBuf, Vec<(PathBuf, &str)>> = BTreeMap::new();
        for (path, text) in files {
            match Place::of(Path::new(path), home) {
                Place::Own(path) => own.push((path, text.as_str())),
                Place::Over(top, below) => layers.entry(top).or_default().push((below, text)),
            }
        }
        let is_given = |name: &&str| files.contains_key(&format!("/etc/{name}"));
        let unshared: BTreeSet<String> =
            SHARED.into_iter().filter(is_given).map(|name| format!("/etc/{name}")).collect();
        let mount = namespace::on_thread(|| {
            namespace::own_files()?;
            namespace::enter(network, namespace::Kind::Network)?;
            namespace::renew(UnshareFlags::NEWNS)?;
            let folder = node_folder(node);
            for (number, (top, files)) in layers.iter().enumerate() {
                let layer = Layer::new(top, &folder, &format!("layer-{number}"))?;
                for (below, text) in files {
                    layer.put(below, text).doing(|| format!("write {}", top.join(below).display()))?;
                }
                layer.mount()?;
                if top == Path::new("/etc") {
                    share(SHARED.into_iter().filter(|name| !is_given(name)))?;
                }
                mount::read_only_recursive(top).doing(|| format!("make {} read-only", top.display()))?;
            }
            own_places(&folder, home)?;
            for parameter in OF_ALL_NAMESPACES {
                let path = Path::new("/proc/sys").join(parameter.replace('.', "/"));
                // Its module may not be loaded.
                if path.exists() {
                    mount::bind_read_only(&path).doing(|| format!("make {} read-only", path.display()))?;
                }
            }
            for (path, text) in &own {
                write_file(path, text).doing(|| format!("write {}", path.display()))?;
            }
            namespace::current(namespace::Kind::Mount)
        })
        .doing(|| format!("build the file view of {node}"))?;
        let layers = layers.into_keys().collect();
        Ok(Self { mount: Arc::new(mount), home: home.to_owned(), layers, unshared })
    }

    /// Whether a file can be given (or taken away, without a text) while programs use the view.
    pub fn can_change(&self, path: &str, text: Option<&str>) -> bool {
        let is_shared = SHARED.iter().any(|name| path == format!("/etc/{name}"));
        match Place::of(Path::new(path), &self.home) {
            Place::Own(_) => true,
            Place::Over(top, _) => {
                self.layers.contains(&top) && (!is_shared || (text.is_some() && self.unshared.contains(path)))
            }
        }
    }

    /// Changes files that programs may already be using. Where one is taken away, the host's own is seen again.
    ///
    /// # Errors
    /// The file that cannot be written, by path.
    pub fn change(&self, files: &BTreeMap<String, Option<String>>) -> io::Result<()> {
        let change = |path: &Path, text: Option<&str>| {
            let place = Place::of(path, &self.home);
            let hosts = if text.is_none() { Hosts::own(path)? } else { Hosts::Nothing };
            namespace::on_thread(|| {
                namespace::own_files()?;
                namespace::enter(&*self.mount, namespace::Kind::Mount)?;
                let put = |path: &Path| match text {
                    Some(text) => write_file(path, text),
                    None => hosts.put_back(path),
                };
                match place {
                    Place::Own(path) => put(&path),
                    Place::Over(top, below) => {
                        mount::writable(&top).doing(|| format!("open {} for writing", top.display()))?;
                        let put = put(&top.join(below));
                        mount::read_only_recursive(&top).and(put)
                    }
                }
            })
        };
        files.iter().try_for_each(|(path, text)| {
            change(Path::new(path), text.as_deref()).doing(|| format!("write {path}: restart the testbed"))
        })
    }
}

/// What the host has at a place.
enum Hosts {
    Nothing,
    Link(PathBuf),
    File(Vec<u8>, Permissions),
}

impl Hosts {
    /// As the supervisor sees it; `/run` and `/tmp` of the host are hidden.
    fn own(path: &Path) -> io::Result<Self> {
        if path.starts_with("/run") || path.starts_with("/tmp") {
            return Ok(Self::Nothing);
        }
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::Nothing),
            Err(error) => return Err(error),
        };
        match found.is_symlink() {
            true => Ok(Self::Link(fs::read_link(path)?)),
            false => Ok(Self::File(fs::read(path)?, found.permissions())),
        }
    }

    fn put_back(self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path).is_ok() {
            fs::remove_file(path)?;
        }
        match self {
            Self::Nothing => Ok(()),
            Self::Link(target) => symlink(target, path),
            Self::File(content, permissions) => {
                fs::write(path, content)?;
                fs::set_permissions(path, permissions)
            }
        }
    }
}

/// Mounts what is the node's own.
fn own_places(folder: &Path, home: &Path) -> io::Result<()> {
    // Without overlayfs these are empty, but private and writable, which is what programs rely on.
    let own = |over: &Path, name: &str| {
        let layer = Layer::new(over, folder, name)?;
        layer.mount().or_else(|_| mount::tmpfs(over, 0o755)).doing(|| format!("mount {}", over.display()))
    };
    own(Path::new("/var"), "var")?;
    if has_own_home(home) && !home.starts_with("/var") {
        own(home, "home")?;
    }
    for (name, mode) in [("run", 0o755), ("tmp", 0o1777)] {
        let own = folder.join(name);
        fs::create_dir_all(&own)?;
        fs::set_permissions(&own, Permissions::from_mode(mode))?;
    }
    fs::create_dir_all(folder.join("run/node/log"))?;
    fs::create_dir_all(folder.join("run/lock"))?;
    mount::bind(&folder.join("tmp"), Path::new("/tmp")).doing(|| "mount /tmp".to_owned())?;
    // A kernel that locks sysfs for users (a masked /sys in a container) leaves the host's view, read-only.
    let _ = mount::sysfs(Path::new("/sys"));
    // Last, because the node's folder lies below the old /run.
    mount::bind(&folder.join("run"), Path::new("/run")).doing(|| "mount /run".to_owned())
}

/// Shows files of all nodes in this one.
fn share<'a>(names: impl Iterator<Item = &'a str>) -> io::Result<()> {
    for name in names {
        let target = Path::new("/etc").join(name);
        if target.exists() {
            mount::bind(&Path::new(HOME).join(name), &fs::canonicalize(&target)?)?;
        }
    }
    Ok(())
}

/// Writes a file and the folders it needs. In the place of a link comes a file: what the link leads to is elsewhere.
fn write_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        fs::remove_file(path)?;
    }
    match fs::write(path, text) {
        // A file of another user may not be written in a user's testbed, but replaced in a folder of the node's own.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::remove_file(path).map_err(|_| error)?;
            fs::write(path, text)
        }
        written => written,
    }
}

/// A writable folder that is laid over a folder of the host.
struct Layer<'a> {
    over: &'a Path,
    upper: PathBuf,
    work: PathBuf,
}

impl<'a> Layer<'a> {
    fn new(over: &'a Path, folder: &Path, name: &str) -> io::Result<Self> {
        let [upper, work] = ["upper", "work"].map(|part| folder.join(format!("{name}.{part}")));
        fs::create_dir_all(&upper)?;
        fs::create_dir_all(&work)?;
        like(&upper, over)?;
        Ok(Self { over, upper, work })
    }

    /// Writes a file before the layer is mounted: its folders become the user's own, whoever's they are on the host.
    fn put(&self, below: &Path, text: &str) -> io::Result<()> {
        let mut at = PathBuf::new();
        for part in below.parent().unwrap_or(Path::new("")) {
            at.push(part);
            let made = self.upper.join(&at);
            if !made.exists() {
                fs::create_dir(&made)?;
                like(&made, &self.over.join(&at))?;
            }
        }
        fs::write(self.upper.join(below), text)
    }

    fn mount(&self) -> io::Result<()> {
        mount::overlay(self.over, self.over, &self.upper, &self.work)
            .doing(|| format!("lay files over {} (it takes overlayfs)", self.over.display()))
    }
}

/// Gives a folder the permissions of one of the host's, if there is one.
fn like(folder: &Path, hosts: &Path) -> io::Result<()> {
    fs::metadata(hosts).map_or(Ok(()), |found| fs::set_permissions(folder, found.permissions()))
}
