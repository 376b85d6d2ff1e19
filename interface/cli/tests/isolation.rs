//! A node cannot harm the host, whoever started it.

mod common;

use common::{Ended, Person, Testbed, as_root_and_as_user, installed, lives, skip};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

const ALONE: &str = "plait: 1\nnodes: {a: host, b: host}\nlinks: [a-b]\n";

/// A user whose nodes run routing daemons is called root inside, and is the same user outside.
const WITH_DAEMONS: &str = "plait: 1\nrouting: frr\nnodes: {a: host, b: router}\nlinks: [a-b]\n";

/// Runs a test in testbeds of root, of a user, and of a user who is called root inside.
fn in_every_testbed(test: impl Fn(&Testbed<'_>)) {
    as_root_and_as_user(|person| test(&person.up(ALONE)));
    if !Path::new("/usr/lib/frr/ospfd").exists() {
        return skip("FRR is not installed");
    }
    if let Some(user) = Person::user() {
        let testbed = user.up(WITH_DAEMONS);
        assert_eq!(testbed.exec("a", &["id", "-u"]).fine(), "0\n");
        test(&testbed);
    }
}

/// Root and a user with homes where homes are: a home below `/tmp` would be hidden by the node's own `/tmp`.
fn people() -> Vec<Person> {
    if !rustix::process::geteuid().is_root() {
        let home = std::env::var_os("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
        return vec![Person::within(&home, None)];
    }
    let place = Path::new("/home");
    let root = Person::within(place, None);
    match Person::user() {
        Some(_) => vec![root, Person::within(place, Some(65534))],
        None => vec![root],
    }
}

/// A file on the host that goes with the test.
struct Marker(PathBuf);

impl Marker {
    fn in_folder(folder: &Path, owner: Option<u32>) -> Option<Self> {
        let path = folder.join(format!("plait-test-marker-{}", std::process::id()));
        fs::write(&path, "the host's").ok()?;
        // Whoever reaches it may write it: what keeps a node off is not the mode.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        chown(&path, owner, owner).unwrap();
        Some(Self(path))
    }
}

impl Drop for Marker {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn the_hosts_files_stay_as_they_are() {
    for person in people() {
        hosts_files_stay(&person, &person.up(ALONE));
        if !person.is_root() && Path::new("/usr/lib/frr/ospfd").exists() {
            person.plait(&["down", "--all"]).fine();
            hosts_files_stay(&person, &person.up(WITH_DAEMONS));
        }
    }
}

fn hosts_files_stay(person: &Person, testbed: &Testbed<'_>) {
    let owner = (rustix::process::geteuid().is_root() && !person.is_root()).then_some(65534);
    let home = person.home();
    let folders = [Path::new("/etc"), Path::new("/usr"), Path::new("/var/lib"), Path::new("/srv"), &home];
    for folder in folders {
        let made = folder.join(format!("plait-test-made-{}", std::process::id()));
        let Some(marker) = Marker::in_folder(folder, owner) else {
            // A user's tests cannot put a marker there; a node must not be able to put a file there either.
            testbed.shell("a", &format!("echo x > {}", made.display()));
            assert!(!made.exists(), "{} was made by a node", made.display());
            continue;
        };
        let private = folder == home || folder.starts_with("/var");
        let path = marker.0.display();
        let attempts = [
            format!("echo changed > {path}"),
            format!("echo new > {}", made.display()),
            format!("truncate -s 0 {path}"),
            format!("chmod 000 {path}"),
            format!("mv {path} {path}.moved"),
            format!("rm -f {path}; test ! -e {path}"),
        ];
        for attempt in attempts {
            let ended = testbed.shell("a", &attempt);
            if !private {
                assert_ne!(ended.code(), Some(0), "{attempt}");
            }
        }
        assert_eq!(fs::read_to_string(&marker.0).unwrap(), "the host's", "{path}");
        assert_eq!(fs::metadata(&marker.0).unwrap().permissions().mode() & 0o777, 0o666, "{path}");
        assert!(!made.exists(), "{} was made by a node", made.display());
        // Another user's folder stays another's: a user's testbed cannot write a copy of it either. And a home below
        // /tmp is hidden by the node's own /tmp.
        if private && (person.is_root() || folder == home) && !folder.starts_with("/tmp") {
            let note = folder.join("note");
            let write = format!("echo private > {0} && cat {0}", note.display());
            assert_eq!(testbed.shell("a", &write).fine(), "private\n", "a node may write its own copy");
            assert!(!note.exists(), "what it writes stays in the node");
            testbed.shell("b", &format!("test ! -e {}", note.display())).fine();
        }
    }
}

#[test]
fn what_reaches_the_machine_is_refused() {
    in_every_testbed(|testbed| {
        let refused = [
            // Parameters of the whole machine. Each is set to what it is, in case nothing refuses.
            "cat /proc/sys/vm/swappiness > /proc/sys/vm/swappiness",
            "cat /proc/sys/kernel/panic > /proc/sys/kernel/panic",
            "cat /proc/sys/kernel/core_pattern > /proc/sys/kernel/core_pattern",
            "cat /proc/sys/fs/file-max > /proc/sys/fs/file-max",
            "sysctl -q -w vm.swappiness=60",
            "echo h > /proc/sysrq-trigger",
            "cat /sys/kernel/mm/ksm/run > /sys/kernel/mm/ksm/run",
            "mkdir /sys/fs/cgroup/plait-test || mkdir /sys/fs/cgroup/memory/plait-test",
            "date -s \"$(date)\"",
            // Mounts.
            "mount -o remount,rw /",
            "mount -o remount,bind,rw /etc",
            "mount -t tmpfs none /mnt",
            "mount --bind /tmp /etc",
            "umount /etc/hosts",
            "umount -l /usr",
            "unshare --user --map-root-user --mount mount -o remount,bind,rw /",
            "unshare --user --map-root-user --mount mount -o remount,bind,rw /etc",
            "unshare --user --map-root-user --mount umount -l /tmp",
            // Devices.
            "mknod /tmp/disk b 8 0",
            "mknod /tmp/zero c 1 5",
            "mknod /dev/mem c 1 1",
            "head -c 1 /proc/kcore | grep -q .",
            "timeout 1 head -c 1 /proc/kmsg | grep -q .",
            // The supervisor, which can do more than a node.
            "ls /proc/1/root/",
            "ls /proc/1/cwd/",
            "ls -l /proc/1/fd/",
            "ls -l /proc/1/ns/",
            "head -c 1 /proc/1/mem",
            "cat /proc/1/environ",
            "nsenter --target 1 --net true",
            "nsenter --target 1 --mount true",
        ];
        let line: String = refused
            .iter()
            .enumerate()
            .map(|(number, attempt)| format!("({attempt}) >/dev/null 2>&1 && echo {number}\n"))
            .collect();
        let done = testbed.shell("a", &format!("{line}true")).fine();
        let done: Vec<&str> = done.lines().map(|number| refused[number.parse::<usize>().unwrap()]).collect();
        assert!(done.is_empty(), "a node could: {done:#?}");
        testbed.exec("a", &["true"]).fine();
    });
}

#[test]
fn a_nodes_programs_hold_no_capability_that_reaches_the_machine() {
    in_every_testbed(|testbed| {
        let status = testbed.exec("a", &["cat", "/proc/self/status"]).fine();
        // By their numbers in linux/capability.h: dac_read_search, linux_immutable, sys_module, sys_rawio, sys_ptrace,
        // sys_admin, sys_boot, sys_resource, sys_time, mknod, syslog, perfmon, bpf.
        let reaching = [2, 9, 16, 17, 19, 21, 22, 24, 25, 27, 34, 38, 39];
        for set in ["CapPrm", "CapEff", "CapBnd", "CapAmb", "CapInh"] {
            let mask = status.lines().find_map(|line| line.strip_prefix(&format!("{set}:"))).unwrap();
            let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
            for capability in reaching {
                assert_eq!(mask & (1 << capability), 0, "{set} has capability {capability}");
            }
        }
        let devices = testbed.shell("a", "find /dev -mindepth 1 | sort").fine();
        let known = [
            "fd", "full", "net", "net/tun", "null", "ptmx", "pts", "pts/ptmx", "random", "shm", "stderr",
            "stdin", "stdout", "tty", "urandom", "zero",
        ];
        for device in devices.lines() {
            let name = device.strip_prefix("/dev/").unwrap();
            assert!(known.contains(&name) || name.starts_with("pts/"), "{device} is in a node");
        }
    });
}

#[test]
fn no_process_of_the_host_can_be_seen_or_signalled() {
    as_root_and_as_user(|person| {
        let testbed = person.up(ALONE);
        let mut sleeper = person.command("sleep").arg("600").spawn().unwrap();
        let supervisor = testbed.pid();
        let victims = [sleeper.id() as i32, supervisor, std::process::id() as i32];
        for pid in victims {
            testbed.shell(
                "a",
                &format!("kill -9 {pid}; kill -9 -{pid}; test -e /proc/{pid}/exe -a {pid} -gt 100"),
            );
        }
        let sees = testbed.shell("a", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").fine();
        assert!(!sees.contains("sleep 600"), "{sees}");
        // Everything it may signal, itself included.
        testbed.shell("a", "kill -9 -1");
        assert!(sleeper.try_wait().unwrap().is_none(), "a process of the host was killed by a node");
        assert!(lives(supervisor), "the supervisor was killed by a node");
        testbed.exec("a", &["true"]).fine();
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
    });
}

#[test]
fn the_hosts_network_is_out_of_reach() {
    as_root_and_as_user(|person| {
        let testbed = person.up(ALONE);
        let devices = testbed.exec("a", &["ls", "/sys/class/net"]).fine();
        assert_eq!(devices.split_whitespace().collect::<Vec<_>>(), ["eth0", "lo"]);
        assert_eq!(testbed.shell("a", "tail -n +3 /proc/net/dev | wc -l").fine().trim(), "2");
        let routes = testbed.shell("a", "tail -n +2 /proc/net/route | cut -f 1,2 | sort -u").fine();
        assert!(routes.lines().all(|route| !route.contains("00000000")), "no way out: {routes}");

        // What listens on the host's loopback is not on the node's.
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let connect = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
        assert_ne!(testbed.exec("a", &["bash", "-c", &connect]).code(), Some(0));
    });
}

/// A file that is gone when the test is over, however it ends.
struct Unlinked<'a>(&'a Path);

impl Drop for Unlinked<'_> {
    fn drop(&mut self) {
        let _ = fs::remove_file(self.0);
    }
}

#[test]
fn the_hosts_sockets_are_out_of_reach() {
    if !installed("socat") {
        return;
    }
    for person in people() {
        let name = format!("plait-test-{}-{}", std::process::id(), person.is_root());
        // Where nodes see the host's own files, a socket that is there before them is covered.
        let early = Path::new("/srv").join(format!("{name} early.sock"));
        let _early = UnixListener::bind(&early).unwrap();
        let _unlinked = Unlinked(&early);
        fs::set_permissions(&early, fs::Permissions::from_mode(0o777)).unwrap();
        let testbed = person.up(ALONE);
        let abstract_address =
            <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name).unwrap();
        let _abstract = UnixListener::bind_addr(&abstract_address).unwrap();
        let reach = |address: &str| -> Ended { testbed.exec("a", &["socat", "-u", "/dev/null", address]) };
        // The attempt itself is sound: a socket of the node's own is reached.
        let own =
            "socat UNIX-LISTEN:/tmp/own,fork /dev/null & sleep 0.5; socat -u /dev/null UNIX-CONNECT:/tmp/own";
        testbed.shell("a", &format!("{own}; code=$?; kill $!; exit $code")).fine();
        assert_ne!(reach(&format!("ABSTRACT-CONNECT:{name}")).code(), Some(0), "an abstract socket");

        for folder in [Path::new("/tmp"), Path::new("/run"), Path::new("/var/lib"), &person.home()] {
            let path = folder.join(format!("{name}.sock"));
            let Ok(_listener) = UnixListener::bind(&path) else { continue };
            fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
            let reached = reach(&format!("UNIX-CONNECT:{}", path.display())).code();
            fs::remove_file(&path).unwrap();
            assert_ne!(reached, Some(0), "a node reached {}", path.display());
        }
        let reached = reach(&format!("UNIX-CONNECT:{}", early.display())).code();
        assert_ne!(reached, Some(0), "a node reached {}", early.display());
        // Its own supervisor's socket is the host's too.
        let socket = testbed.person.socket(&testbed.name);
        assert_ne!(
            reach(&format!("UNIX-CONNECT:{}", socket.display())).code(),
            Some(0),
            "the control socket"
        );
    }
}

#[test]
fn a_nodes_parameters_are_its_own() {
    as_root_and_as_user(|person| {
        let testbed = person.up(ALONE);
        testbed.shell("a", "echo 77 > /proc/sys/net/ipv4/ip_default_ttl").fine();
        assert_eq!(testbed.shell("b", "cat /proc/sys/net/ipv4/ip_default_ttl").fine(), "64\n");
        // One switch for all namespaces, which cannot be turned back: the node may not touch it at all.
        let machines = "/proc/sys/net/netfilter/nf_hooks_lwtunnel";
        if Path::new(machines).exists() {
            let written = testbed.shell("a", &format!("echo 1 > {machines}"));
            assert!(written.stderr.contains("Read-only"), "{written:#?}");
        }
        let twice = [parameters(), parameters()];
        let mut steady = twice[0].clone();
        // Counters change by themselves.
        steady.retain(|path, value| twice[1].get(path) == Some(value) && !path.ends_with("_count"));
        assert!(steady.len() > 100, "the host has parameters of the network");
        // Every number a node may write becomes another.
        let change = "find /proc/sys/net -type f | while read f; do v=$(cat $f 2>/dev/null); \
                      case $v in ''|*[!0-9]*) ;; *) echo $((v+1)) > $f;; esac; done 2>/dev/null; true";
        testbed.shell("a", change).fine();
        let after = parameters();
        let changed: Vec<_> =
            steady.iter().filter(|(path, value)| after.get(*path).is_some_and(|now| now != *value)).collect();
        for (path, value) in &changed {
            let _ = fs::write(path, value);
        }
        assert!(changed.is_empty(), "a node changed the host's {changed:?}");
    });
}

/// The host's parameters of the network.
fn parameters() -> BTreeMap<PathBuf, String> {
    fn walk(folder: &Path, into: &mut BTreeMap<PathBuf, String>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // Neighbour and interface folders of others' devices come and go.
            if path.is_dir() {
                walk(&path, into);
            } else if let Ok(value) = fs::read_to_string(&path) {
                into.insert(path, value);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(Path::new("/proc/sys/net"), &mut found);
    found
}

#[test]
fn a_parameter_of_the_machine_is_an_error_with_its_line() {
    let Some(person) = Person::user() else { return };
    for parameter in ["vm.swappiness", "kernel.panic", "fs.file-max", "net..vm.swappiness", "netx.a"] {
        let text =
            format!("plait: 1\nnodes:\n  a:\n    sysctls:\n      {parameter}: 1\n  b: host\nlinks: [a-b]\n");
        let file = person.file("net.yaml", &text);
        person
            .plait(&["up", file.to_str().unwrap()])
            .fails_saying(3, &["net.yaml:5:", parameter, "not a parameter of the network", "net."]);
    }
    assert!(person.testbeds().is_empty());
}

#[test]
fn another_user_is_refused_at_the_socket() {
    let (Some(root), Some(other)) = (Person::root(), Person::user()) else {
        return skip("needs root, to be two users");
    };
    let testbed = root.up(ALONE);
    let socket = root.socket(&testbed.name);
    // The folder is closed to others, and the socket too, should somebody open the folder.
    let knock = |person: &Person| {
        let address = format!("UNIX-CONNECT:{}", socket.display());
        person.command("socat").args(["-u", "/dev/null", &address]).status().unwrap().success()
    };
    if installed("socat") {
        assert!(!knock(&other), "the folder let another user in");
    }
    for folder in socket.ancestors().skip(1).take(2) {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    if installed("socat") {
        assert!(!knock(&other), "the socket's mode let another user in");
        assert!(knock(&root), "the owner gets in");
    }
    // A folder that others may look into is no place for sockets.
    root.plait(&["ls"]).fails_saying(1, &["not a folder of yours alone", "XDG_RUNTIME_DIR"]);
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(other.testbeds().is_empty());
    // Kept for clean-up by its owner.
    fs::set_permissions(root.sockets(), fs::Permissions::from_mode(0o700)).unwrap();
    let _: &Testbed<'_> = &testbed;
}
