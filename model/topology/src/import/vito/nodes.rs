//! EVMs and their interfaces.

use super::super::draft::Draft;
use super::element::Element;
use super::links::{Bridges, MOST_PORTS, Shape};
use super::value::Factors;
use crate::diagnostic::Diagnostic;
use crate::generate::MOST;
use ipnet::IpNet;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// What links, commands and logs refer to.
pub(super) struct Lab<'a> {
    pub bridges: Bridges<'a>,
    /// The draft's nodes by hostname; none for the machine that orchestrates.
    pub hosts: HashMap<&'a str, Option<usize>>,
}

/// An interface on a bridge.
pub(super) struct Plug {
    pub node: usize,
    pub interface: String,
    pub shape: Shape,
}

pub(super) fn read<'a>(
    root: &Element<'a, '_>,
    bridges: Bridges<'a>,
    factors: &Factors<'a>,
    draft: &mut Draft,
) -> Result<Lab<'a>, Diagnostic> {
    let mut lab = Lab { bridges, hosts: HashMap::new() };
    let mut seen = HashSet::new();
    let (mut taken, mut templates) = (HashSet::new(), HashSet::new());
    for evm in root.children("evm") {
        let hostname = hostname(evm)?;
        if !seen.insert(hostname.to_ascii_lowercase()) {
            return Err(evm.fault(format!("two EVMs have the hostname `{hostname}`"), "rename one of them"));
        }
        let role = evm.attribute("role").unwrap_or("nvm");
        let kind = match (role, evm.attribute("acts")) {
            ("mvm", _) => {
                let why = "the management VM is Plait itself; it was left out";
                draft.lose(format!("evm {hostname}"), why, Some(evm.line()));
                lab.hosts.insert(hostname, None);
                continue;
            }
            ("nvm", None) | ("nvm" | "avm", Some("host")) => "host",
            ("avm", None) | ("nvm" | "avm", Some("router")) => "router",
            ("nvm" | "avm", Some("switch")) => "switch",
            ("nvm" | "avm", Some(other)) => {
                return Err(evm.fault(format!("nothing acts as `{other}`"), "write host, router or switch"));
            }
            (other, _) => return Err(evm.fault(format!("`{other}` is no role"), "write nvm, avm or mvm")),
        };
        let index = draft.node(Some(hostname), "node", evm.line());
        draft.nodes[index].kind = kind;
        lab.hosts.insert(hostname, Some(index));
        if let Some(template) = evm.attribute("template").filter(|template| templates.insert(*template)) {
            let why = "nodes run this machine's system and programs";
            draft.lose(format!("template {template}"), why, Some(evm.line()));
        }
        if let Some(cpu) = evm.attribute("cpu") {
            let cpu: u16 = evm.parse("cpu", cpu, "the number of a processor, from 0")?;
            draft.nodes[index].keys.insert("processors".to_owned(), json!([cpu]));
        }
        interfaces(evm, index, &mut lab, factors, &mut taken, draft)?;
        if draft.len() > MOST {
            return Err(evm.fault(format!("there are more than {MOST} EVMs"), "give a smaller experiment"));
        }
    }
    if draft.len() == 0 {
        return Err(root.fault("this experiment has no EVMs", "add `<evm hostname=\"a\"/>`"));
    }
    Ok(lab)
}

/// A hostname as commands write it, so it must stay what it is.
fn hostname<'a>(evm: Element<'a, '_>) -> Result<&'a str, Diagnostic> {
    let name = evm.required("hostname")?;
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let start = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if start && name.len() <= 63 && name.chars().all(fine) && !name.ends_with(['-', '.']) {
        return Ok(name);
    }
    Err(evm.fault(
        format!("`{name}` cannot be a hostname"),
        "use up to 63 letters, digits, `-`, `_` and `.`, and begin with a letter or digit",
    ))
}

fn interfaces<'a>(
    evm: Element<'a, '_>,
    node: usize,
    lab: &mut Lab<'a>,
    factors: &Factors<'a>,
    taken: &mut HashSet<IpAddr>,
    draft: &mut Draft,
) -> Result<(), Diagnostic> {
    let (mut names, mut addresses) = (HashSet::new(), Map::new());
    for interface in evm.children("interface") {
        let name = device(interface)?;
        if !names.insert(name) {
            return Err(interface.fault(format!("interface `{name}` is given twice"), "rename one of them"));
        }
        let what = format!("interface {}:{name}", draft.name(node));
        let Some(bridge) = attachment(interface)? else {
            let why = "is passed through to a network card, which nodes are not; it was left out";
            draft.lose(what, why, Some(interface.line()));
            continue;
        };
        let shape = Shape::read(interface, factors)?;
        if let Some(why) = shape.loss {
            draft.lose(what.clone(), why, Some(interface.line()));
        }
        let plugs = lab.bridges.get(interface, bridge)?;
        if plugs.iter().any(|plug| plug.node == node) {
            return Err(interface.fault(
                format!("`{}` has two interfaces on bridge `{bridge}`", draft.name(node)),
                "give one of them another bridge",
            ));
        }
        if plugs.len() >= MOST_PORTS {
            let what = format!("bridge `{bridge}` has more than {MOST_PORTS} interfaces");
            return Err(interface.fault(what, "give it fewer"));
        }
        plugs.push(Plug { node, interface: name.to_owned(), shape });
        let Some(ip) = interface.attribute("ip") else { continue };
        let ip: IpNet =
            interface.parse("ip", ip, "an address with its prefix length, such as 10.0.0.1/24")?;
        if !taken.insert(ip.addr()) {
            return Err(interface.fault(format!("{} is given twice", ip.addr()), "change one of them"));
        }
        if draft.nodes[node].kind == "switch" {
            draft.lose(
                what,
                "belongs to a switch, which has no address; it was left out",
                Some(interface.line()),
            );
            continue;
        }
        addresses.insert(name.to_owned(), json!({"addresses": [ip.to_string()]}));
    }
    if !addresses.is_empty() {
        draft.nodes[node].keys.insert("interfaces".to_owned(), Value::Object(addresses));
    }
    Ok(())
}

/// A name that udev, and the kernel, would take.
fn device<'a>(interface: Element<'a, '_>) -> Result<&'a str, Diagnostic> {
    let name = interface.required("name")?;
    let fine = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | ':');
    let reserved = matches!(name, "." | ".." | "lo" | "all" | "default");
    if name.len() <= 15 && name.chars().all(fine) && !reserved {
        return Ok(name);
    }
    Err(interface.fault(
        format!("`{name}` cannot be the name of an interface"),
        "use up to 15 letters, digits and signs other than `/` and `:`",
    ))
}

/// The bridge that an interface attaches to; none for a physical or virtual function.
fn attachment<'a>(interface: Element<'a, '_>) -> Result<Option<&'a str>, Diagnostic> {
    let to = ["bridge", "pf", "vf"].map(|name| interface.attribute(name));
    match to {
        [Some(bridge), None, None] => Ok(Some(bridge)),
        [None, Some(_), None] | [None, None, Some(_)] => Ok(None),
        _ => {
            Err(interface
                .fault("an interface attaches to one of `bridge`, `pf` and `vf`", "write one of them"))
        }
    }
}
