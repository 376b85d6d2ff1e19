//! Lines of `exec`, and those among them that a network file can say itself.

use ipnet::IpNet;
use std::net::IpAddr;

/// What one line does.
pub(super) enum Command {
    /// Adds an address to an interface.
    Address(IpNet, String),
    /// What holds anyway: links are up, and there is no management network to lead away from.
    Nothing,
    /// Anything else.
    Other,
    /// Adds a route: a prefix or `default`, and the next hop.
    Route(String, IpAddr),
    /// Sets a kernel parameter of the network.
    Sysctl(String, String),
}

impl Command {
    /// Reads a line. Words are compared as `ip` compares them: any beginning of a word stands for it.
    pub fn read(line: &str) -> Self {
        let words: Vec<&str> = line.split_whitespace().take(20).collect();
        let (program, rest) = match words.split_first() {
            Some((program, rest)) => (program.rsplit('/').next().unwrap_or_default(), rest),
            None => return Self::Nothing,
        };
        match program {
            "ip" => {
                let rest = rest.strip_prefix(&["-4"]).or(rest.strip_prefix(&["-6"])).unwrap_or(rest);
                ip(rest).unwrap_or(Self::Other)
            }
            "sysctl" => sysctl(rest).unwrap_or(Self::Other),
            _ => Self::Other,
        }
    }
}

/// The commands that a line holds. `sh -c '…'` is looked into, and joins by `&&` are undone, where all that
/// is inside is understood; any other line stays whole.
pub(super) fn commands(line: &str) -> Vec<String> {
    let line = line.trim();
    let inner = ["sh", "ash", "bash", "/bin/sh", "/bin/bash"].iter().find_map(|shell| {
        let rest = line.strip_prefix(shell)?.trim_start().strip_prefix("-c")?.trim();
        let inside = rest.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        inside.or_else(|| rest.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')))
    });
    let pieces: Vec<String> = inner
        .unwrap_or(line)
        .split("&&")
        .flat_map(|piece| piece.split([';', '\n']))
        .map(|piece| piece.trim().to_owned())
        .filter(|piece| !piece.is_empty())
        .collect();
    let understood = |piece: &String| {
        !piece.contains(['"', '\'', '|', '$', '<', '>', '`', '#', '(', '&'])
            && !matches!(Command::read(piece), Command::Other)
    };
    if pieces.iter().all(understood) { pieces } else { vec![line.to_owned()] }
}

fn ip(words: &[&str]) -> Option<Command> {
    let [object, verb, rest @ ..] = words else { return None };
    let is = |word: &str, whole: &str, least: usize| word.len() >= least && whole.starts_with(word);
    if is(object, "link", 1) || is(object, "l", 1) {
        let rest = rest.strip_prefix(&["dev"]).unwrap_or(rest);
        return matches!((is(verb, "set", 1), rest), (true, [_, "up"])).then_some(Command::Nothing);
    }
    if is(object, "address", 1) {
        let add = is(verb, "add", 1) || is(verb, "replace", 1);
        let (address, rest) = match rest {
            ["dev", interface, address] => (address, vec![*interface]),
            [address, "dev", interface] | [address, "brd" | "broadcast", _, "dev", interface] => {
                (address, vec![*interface])
            }
            _ => return None,
        };
        let address: IpNet =
            address.parse().ok().or_else(|| Some(IpNet::from(address.parse::<IpAddr>().ok()?)))?;
        return add.then(|| Command::Address(address, rest[0].to_owned()));
    }
    if !(is(object, "route", 1)) {
        return None;
    }
    if is(verb, "delete", 1) {
        // Only containerlab's management network gives a default route that is not the lab's own.
        return matches!(rest, ["default", ..]).then_some(Command::Nothing);
    }
    if !(is(verb, "add", 1) || is(verb, "append", 2) || is(verb, "replace", 1)) {
        return None;
    }
    let ([to, "via", via] | [to, "via", via, "dev", _] | [to, "dev", _, "via", via]) = rest else {
        return None;
    };
    let via: IpAddr = via.parse().ok()?;
    if *to == "default" {
        return Some(Command::Route("default".to_owned(), via));
    }
    let to: IpNet = to.parse().ok().or_else(|| Some(IpNet::from(to.parse::<IpAddr>().ok()?)))?;
    let same = to.addr().is_ipv4() == via.is_ipv4();
    (same && to == to.trunc()).then(|| Command::Route(to.to_string(), via))
}

fn sysctl(words: &[&str]) -> Option<Command> {
    let (["-w", setting] | [setting]) = words else { return None };
    let (name, value) = setting.split_once('=')?;
    let name = name.replace('/', ".");
    let fine =
        name.starts_with("net.") && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    (fine && !value.is_empty()).then(|| Command::Sysctl(name, value.to_owned()))
}
