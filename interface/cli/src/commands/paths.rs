//! `plait paths`, and `plait ip lb`: iplb's words.

use super::flows;
use super::ip::{pairs, read};
use crate::arguments::{MethodArgument, PathAgentArguments, PathsArguments, PathsCommand};
use crate::output::{Failure, Output, table};
use plait_control_paths::ospf::LinkKind;
use plait_control_paths::{Method, RelayList, Settings};
use plait_dataplane_ospf::Source;
use plait_dataplane_paths::agent::{Agent, AgentError, AgentOptions, LearningOptions, Places, remove};
use plait_dataplane_paths::protocol::{PrefixRow, Reply, Request, Status};
use plait_dataplane_paths::{Client, RelayAddresses, Sources, Superpackets, longest_silence};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::ExitCode;
use std::time::Duration;

pub fn paths(arguments: PathsArguments, output: &Output) -> Result<ExitCode, Failure> {
    let agent = &arguments.choice.agent;
    let mut most = 0;
    let request = match arguments.command {
        PathsCommand::Agent(arguments) => return keep(arguments, Places::of(agent), output),
        PathsCommand::Add { words } => add(&refer(&words)).map_err(Failure::usage)?,
        PathsCommand::Del { words } => del(&refer(&words)).map_err(Failure::usage)?,
        PathsCommand::Show => Request::Show,
        PathsCommand::Flows { most, every: Some(every) } => {
            return flows::live(agent, most, crate::output::every(every)?, output);
        }
        PathsCommand::Flows { most: asked, every: None } => {
            most = asked;
            Request::Flows
        }
        PathsCommand::Move { protocol, source, destination, to } => {
            let flow = read(&format!("{protocol} {source} > {destination}")).map_err(Failure::usage)?;
            Request::Move { flow, list: to }
        }
        PathsCommand::Status { metrics: true } => Request::Metrics,
        PathsCommand::Status { metrics: false } => Request::Status,
    };
    ask(agent, request, most, output)
}

/// Asks an agent, and says its reply, with so many flows at most.
pub fn ask(agent: &str, request: Request, most: usize, output: &Output) -> Result<ExitCode, Failure> {
    let reply = Client::connect(&Places::of(agent).socket())?.ask(request)?;
    say(reply, most, output)?;
    Ok(ExitCode::SUCCESS)
}

/// How it is written.
const FORMS: &str = "write `add prefix P relay A,B [type gre|ipip|gue|srv6|ovstack] [select hash|weighted|round-robin|flow-based] \
    [weight N]`, `add prefix P select hash|round-robin|flow-based` for what is learnt, `del prefix P [relay A,B]`, or `show`";

/// What `ip lb` asks for.
pub fn request(words: &[&str]) -> Result<Request, String> {
    match words {
        ["add", rest @ ..] => add(rest),
        ["del" | "delete", rest @ ..] => del(rest),
        ["show"] | ["show", "prefix"] => Ok(Request::Show),
        ["show", "flow"] => Ok(Request::Flows),
        _ => Err(format!("`{}` is no operation: {FORMS}", words.join(" "))),
    }
}

fn refer(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn add(words: &[&str]) -> Result<Request, String> {
    let said = pairs(words, &["prefix", "relay", "type", "select", "weight"], FORMS)?;
    let get = |key: &str| said.get(key).copied().ok_or_else(|| format!("`{key}` is missing: {FORMS}"));
    let prefix = read(get("prefix")?)?;
    if let Some(policy) = said.get("select")
        && ["relay", "type", "weight"].iter().all(|key| !said.contains_key(key))
    {
        return Ok(Request::Select { prefix, policy: read(policy)? });
    }
    Ok(Request::Add {
        prefix,
        relays: relays(get("relay")?)?,
        encapsulation: said.get("type").map(|text| read(text)).transpose()?,
        policy: said.get("select").map(|text| read(text)).transpose()?,
        weight: said.get("weight").map(|text| read(text)).transpose()?,
    })
}

fn del(words: &[&str]) -> Result<Request, String> {
    let said = pairs(words, &["prefix", "relay"], FORMS)?;
    let prefix = said.get("prefix").ok_or_else(|| format!("`prefix` is missing: {FORMS}"))?;
    let relays = said.get("relay").map(|text| relays(text)).transpose()?;
    Ok(Request::Del { prefix: read(prefix)?, relays })
}

/// Addresses with commas between them; `direct` for none.
fn relays(text: &str) -> Result<RelayList, String> {
    if text == "direct" {
        return Ok(Vec::new());
    }
    text.split(',').map(read).collect()
}

/// A list as it is written.
pub fn written(relays: &RelayList) -> String {
    match relays.is_empty() {
        true => "direct".to_owned(),
        false => relays.iter().map(ToString::to_string).collect::<Vec<_>>().join(","),
    }
}

fn keep(arguments: PathAgentArguments, places: Places, output: &Output) -> Result<ExitCode, Failure> {
    let failed = |error: AgentError| Failure::new(error.to_string());
    if arguments.remove {
        remove(&places).map_err(failed)?;
        output
            .result(&json!({ "removed": places.run }), || "nothing of path control is left\n".to_owned())?;
        return Ok(ExitCode::SUCCESS);
    }
    Agent::start(options(arguments, places)?).map_err(failed)?.serve().map_err(failed)?;
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: PathAgentArguments, places: Places) -> Result<AgentOptions, Failure> {
    let spread = Duration::try_from_secs_f64(arguments.spread / 1e3)
        .map_err(|_| Failure::usage("`--spread` is milliseconds, nought or more"))?;
    let idle = arguments.idle.map(|idle| Duration::from_nanos(idle.as_nanos()));
    if idle.is_some_and(|idle| idle < Duration::from_secs(1)) {
        return Err(Failure::usage("`--idle` is 1s or more: a flow is not over before"));
    }
    let silence = longest_silence(spread);
    if idle.is_some_and(|idle| idle <= silence) {
        let silence = silence.as_secs_f64();
        return Err(Failure::usage(format!(
            "`--idle` is more than {silence} s, for which nothing may be heard of a flow that moves; or `--spread` is less"
        )));
    }
    let kind = if arguments.point_to_point { LinkKind::PointToPoint } else { LinkKind::Broadcast };
    let (area, intervals) = (arguments.area, (arguments.hello, arguments.dead));
    let adjacency = |interface: String| Source::Adjacency { interface, kind, router: None, area, intervals };
    let mut sources: Vec<_> = arguments.ospf.into_iter().map(adjacency).collect();
    sources.extend(arguments.ospf_api.map(|server| Source::Api { server, area }));
    if arguments.ospf_api.is_some() && arguments.access.is_none() {
        let text = "ospfd does not say behind which switch this host is: name its router ID with `--access`";
        return Err(Failure::usage(text));
    }
    let method = match arguments.method {
        MethodArgument::Sure => Method::Sure,
        MethodArgument::Faithful => Method::Faithful,
        MethodArgument::FatTree => Method::FatTree(None),
    };
    at_most_one("--source", &arguments.source)?;
    at_most_one("--relay", &arguments.relay)?;
    let settings = Settings { k: arguments.k.into(), method, ..Settings::default() };
    Ok(AgentOptions {
        devices: arguments.device,
        sources: arguments.source.into_iter().fold(Sources::default(), Sources::with),
        encapsulation: arguments.encapsulation,
        policy: arguments.select,
        spread,
        idle,
        mtu: arguments.mtu,
        superpackets: if arguments.whole { Superpackets::Whole } else { Superpackets::Cut },
        relay: arguments.relay.into_iter().fold(RelayAddresses::default(), RelayAddresses::with),
        borders: arguments.border,
        learning: LearningOptions { sources, access: arguments.access, settings },
        ..AgentOptions::new(places)
    })
}

/// Of each family one, so that no address is passed over.
fn at_most_one(option: &str, addresses: &[IpAddr]) -> Result<(), Failure> {
    let fours = addresses.iter().filter(|address| address.is_ipv4()).count();
    match (fours, addresses.len() - fours) {
        (0 | 1, 0 | 1) => Ok(()),
        _ => Err(Failure::usage(format!("`{option}` is one address of IPv4 and one of IPv6 at most"))),
    }
}

fn say(reply: Reply, most: usize, output: &Output) -> Result<(), Failure> {
    let (value, text) = match reply {
        Reply::Done { changed } => {
            (json!({ "changed": changed }), if changed { "" } else { "nothing to change\n" }.to_owned())
        }
        Reply::Prefixes(rows) => (json!(rows), prefixes(&rows)),
        Reply::Flows(mut rows) => {
            let all = rows.len();
            rows.truncate(if most == 0 { all } else { most });
            let text = flows::lines(rows.iter().map(|row| (row, None))) + &flows::more(all - rows.len());
            (json!(rows), text)
        }
        Reply::Status(status) => (json!(status), fares(&status)),
        Reply::Metrics(text) => (json!(text), text),
        Reply::Error(_) => (Value::Null, String::new()),
    };
    output.result(&value, || text)
}

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn prefixes(rows: &[PrefixRow]) -> String {
    let mut lines =
        vec![cells(["PREFIX", "LIST", "RELAYS", "TYPE", "SELECT", "WEIGHT", "PACKETS", "BYTES", "BY"])];
    for row in rows {
        for (index, list) in row.lists.iter().enumerate() {
            lines.push(vec![
                row.prefix.to_string(),
                index.to_string(),
                written(&list.relays),
                row.encapsulation.to_string(),
                row.policy.to_string(),
                list.weight.to_string(),
                list.packets.to_string(),
                list.bytes.to_string(),
                row.origin.to_string(),
            ]);
        }
    }
    if rows.is_empty() {
        return "all goes by plain routing\n".to_owned();
    }
    let faults = rows.iter().filter_map(|row| Some((row.prefix, row.fault.as_ref()?)));
    let faults = faults.map(|(prefix, fault)| format!("{prefix} goes by plain routing: {fault}\n"));
    table(&lines) + &faults.collect::<String>()
}

/// What there is of both families.
fn both(ipv4: Option<Ipv4Addr>, ipv6: Option<Ipv6Addr>) -> Vec<String> {
    let four = ipv4.map(|address| address.to_string());
    four.into_iter().chain(ipv6.map(|address| address.to_string())).collect()
}

fn fares(status: &Status) -> String {
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| lines.push(vec![name.to_owned(), value]);
    if !status.devices.is_empty() {
        let sources = both(status.source, status.source_ipv6).join(" or ");
        let from = if sources.is_empty() { sources } else { format!(", headers from {sources}") };
        line("steers", format!("{}{from}", status.devices.join(", ")));
    }
    for relay in both(status.relay, status.relay_ipv6) {
        line("relay", relay);
    }
    for (name, is_whole) in &status.feeds {
        line("learns by", format!("{name}: {}", if *is_whole { "all of the fabric" } else { "not all yet" }));
    }
    if let Some(access) = status.access {
        line("is behind", access.to_string());
    }
    if let Some((switches, links)) = status.fabric {
        line("fabric", format!("{switches} switches, {links} links (each direction)"));
    }
    if let Some(relays) = status.relays {
        let why = if relays == 0 {
            ": none tells of a host route that is its alone, which would be its address"
        } else {
            ""
        };
        line("can be relays", format!("{relays} of them{why}"));
    }
    if let Some(idle) = status.idle_ms {
        line("forgets flows", format!("silent for {} s", idle as f64 / 1e3));
    }
    if let Some(mtu) = status.mtu {
        line("narrowest link", format!("{mtu} bytes"));
    }
    line("prefixes", format!("{} static, {} learnt", status.prefixes.0, status.prefixes.1));
    for (prefix, policy) in status.policies.iter() {
        line("selects", format!("{policy} in what is learnt of {prefix}"));
    }
    line("updates", status.updates.to_string());
    line("flows moved", status.moved.to_string());
    for (reason, count) in &status.drops {
        line("dropped", format!("{count} {reason}"));
    }
    table(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_dataplane_paths::Encapsulation;
    use plait_dataplane_paths::protocol::{FlowName, Policy};

    fn of(line: &str) -> Result<Request, String> {
        request(&line.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn the_papers_words_are_understood() {
        let prefix = "172.16.0.0/24".parse().unwrap();
        let relays: RelayList = vec!["10.0.0.1".parse().unwrap(), "10.0.0.4".parse().unwrap()];
        let (encapsulation, policy, weight) = (Some(Encapsulation::Gre), None, None);
        assert_eq!(
            of("add prefix 172.16.0.0/24 relay 10.0.0.1,10.0.0.4 type gre"),
            Ok(Request::Add { prefix, relays: relays.clone(), encapsulation, policy, weight })
        );
        let (encapsulation, policy, weight) = (None, Some(Policy::Weighted), Some(3));
        assert_eq!(
            of("add prefix 172.16.0.0/24 relay direct select weighted weight 3"),
            Ok(Request::Add { prefix, relays: Vec::new(), encapsulation, policy, weight })
        );
        assert_eq!(
            of("del prefix 172.16.0.0/24 relay 10.0.0.1,10.0.0.4"),
            Ok(Request::Del { prefix, relays: Some(relays) })
        );
        assert_eq!(of("delete prefix 172.16.0.0/24"), Ok(Request::Del { prefix, relays: None }));
        assert_eq!(of("show prefix"), Ok(Request::Show));
        assert_eq!(
            of("add prefix 172.16.0.0/24 select flow-based"),
            Ok(Request::Select { prefix, policy: Policy::FlowBased })
        );
        let (prefix, relays) = ("2001:db8:16::/64".parse().unwrap(), vec!["2001:db8::1".parse().unwrap()]);
        let (encapsulation, policy, weight) = (Some(Encapsulation::Gue), None, None);
        assert_eq!(
            of("add prefix 2001:db8:16::/64 relay 2001:db8::1 type gue"),
            Ok(Request::Add { prefix, relays, encapsulation, policy, weight })
        );
    }

    #[test]
    fn what_makes_no_sense_is_told_with_what_does() {
        for (line, word) in [
            ("add prefix 172.16.0.0/24", "`relay` is missing"),
            ("add prefix 172.16.0.0/24 select weighted weight 3", "`relay` is missing"),
            ("add prefix 172.16.0.0/33 relay 10.0.0.1", "`172.16.0.0/33`"),
            (
                "add prefix 172.16.0.0/24 relay 10.0.0.1 type vxlan",
                "expected `gre`, `ipip`, `gue`, `srv6` or `ovstack`",
            ),
            ("add prefix 172.16.0.0/24 relay 10.0.0.1,,10.0.0.2", "``"),
            ("del relay 10.0.0.1", "`prefix` is missing"),
            ("fly", "`fly` is no operation"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
        let flow: Result<FlowName, _> = read("udp 10.0.0.1 > 10.0.1.1:9");
        assert!(flow.unwrap_err().contains("write one like"));
    }
}
