//! Timed commands, logs and repeats.

use super::super::draft::Draft;
use super::super::hint::remedy;
use super::element::Element;
use super::links::port;
use super::nodes::Lab;
use super::value::Factors;
use crate::diagnostic::Diagnostic;
use plait_model_quantity::TimeSpan;
use serde_json::{Map, Value, json};

/// More repeats than anybody waits for.
const MOST_REPEATS: u64 = 10_000;

pub(super) fn read<'a>(
    root: &Element<'a, '_>,
    lab: &Lab<'a>,
    factors: &Factors<'a>,
    draft: &mut Draft,
) -> Result<(), Diagnostic> {
    let mut events = Vec::new();
    for command in root.children("command") {
        events.extend(event(command, lab, factors, draft)?);
    }
    if let Some(duration) = factors.quantity::<TimeSpan>(*root, "duration")? {
        draft.sections.insert("duration".to_owned(), duration);
    }
    let mut experiment = Map::new();
    let (section, lost) = factors.section();
    experiment.extend(section.map(|factors| ("factors".to_owned(), factors)));
    for factor in lost {
        draft.lose(format!("factor {factor}"), "changes nothing here; it was left out", None);
    }
    if let Some(repeats) = root.attribute("repeats") {
        let repeats: u64 = root.parse("repeats", repeats, "a number from 1")?;
        if !(1..=MOST_REPEATS).contains(&repeats) {
            return Err(root.fault(format!("{repeats} repeats are too few or too many"), "write 20"));
        }
        experiment.insert("repeats".to_owned(), json!(repeats));
    }
    if !experiment.is_empty() {
        draft.sections.insert("experiment".to_owned(), Value::Object(experiment));
    }
    if !events.is_empty() {
        draft.sections.insert("run".to_owned(), Value::Array(events));
    }
    let collect = collect(root, lab, draft)?;
    if !collect.is_empty() {
        draft.sections.insert("collect".to_owned(), Value::Object(collect));
    }
    Ok(())
}

/// A command at an instant.
fn event<'a>(
    command: Element<'a, '_>,
    lab: &Lab<'a>,
    factors: &Factors<'a>,
    draft: &mut Draft,
) -> Result<Option<Value>, Diagnostic> {
    let host = command.required("evm")?;
    let Some(node) = lab.hosts.get(host) else {
        let known: Vec<&str> = lab.hosts.keys().copied().collect();
        return Err(command.fault(format!("unknown EVM `{host}`"), remedy(host, known)));
    };
    let line = command.text();
    if line.is_empty() {
        return Err(command.fault("this command is empty", "write a line for the shell between the tags"));
    }
    let at = factors.quantity::<TimeSpan>(command, "at")?;
    let at = at.ok_or_else(|| command.fault("`command` has no `at`", "add `at=\"0s\"`"))?;
    let place = Some(command.line());
    let Some(node) = node.filter(|node| draft.nodes[*node].kind != "switch") else {
        draft.lose(format!("command of {host}"), "has no node to run on; it was left out", place);
        return Ok(None);
    };
    if line.split_whitespace().next() == Some("tc") {
        let why = "changes no link here; write an event with `link:` and `set:`";
        draft.lose(format!("tc in a command of {host}"), why, place);
    }
    factors.note(&line);
    let mut event = Map::new();
    event.insert("at".to_owned(), at);
    event.insert("on".to_owned(), json!(draft.name(node)));
    if let Some(name) = command.attribute("name") {
        event.insert("name".to_owned(), json!(name));
    }
    match command.attribute("background") {
        None | Some("false") => {}
        Some("true") => drop(event.insert("background".to_owned(), json!(true))),
        Some(other) => {
            return Err(command.fault(format!("background is not `{other}`"), "write true or false"));
        }
    }
    if let Some(timeout) = factors.quantity::<TimeSpan>(command, "timeout")? {
        event.insert("timeout".to_owned(), timeout);
    }
    match command.attribute("expect") {
        None => {}
        Some("any") => drop(event.insert("expect".to_owned(), json!("any"))),
        Some(code) => {
            let code: u8 = command.parse("expect", code, "an exit code from 0 to 255, or `any`")?;
            event.insert("expect".to_owned(), json!(code));
        }
    }
    event.insert("exec".to_owned(), json!(line));
    Ok(Some(Value::Object(event)))
}

/// What is logged. VITO logs the packets of every interface and the state of TCP unless told otherwise; Plait
/// samples TCP in all nodes alike, so the shortest interval holds.
fn collect<'a>(
    root: &Element<'a, '_>,
    lab: &Lab<'a>,
    draft: &mut Draft,
) -> Result<Map<String, Value>, Diagnostic> {
    let usual = TimeSpan::from_millis(100);
    let (mut shortest, mut files) = (None::<TimeSpan>, Vec::new());
    let mut silent = vec![false; draft.len()];
    for evm in root.children("evm") {
        let hostname = evm.required("hostname")?;
        let Some(node) = lab.hosts.get(hostname).copied().flatten() else { continue };
        let Some(log) = evm.children("log").next() else {
            shortest = Some(shortest.map_or(usual, |shortest| shortest.min(usual)));
            continue;
        };
        match log.attribute("packets") {
            None | Some("on") => {}
            Some("off") => silent[node] = true,
            Some(other) => return Err(log.fault(format!("packets is not `{other}`"), "write on or off")),
        }
        match log.attribute("tcp") {
            Some("off") => {}
            written => {
                let tcp = match written {
                    None => usual,
                    Some(text) => log.parse("tcp", text, "an interval from 1ms, such as 100ms, or off")?,
                };
                if tcp < TimeSpan::from_millis(1) {
                    return Err(log.fault(format!("{tcp} is too short an interval"), "write 1ms or more"));
                }
                shortest = Some(shortest.map_or(tcp, |shortest| shortest.min(tcp)));
            }
        }
        for path in log.attribute("files").unwrap_or_default().split_whitespace() {
            if !path.starts_with('/') || path.split('/').any(|part| part == "..") {
                return Err(log.fault(format!("`{path}` is not an absolute path"), "begin with `/`"));
            }
            files.push(json!({"node": draft.name(node), "path": path}));
        }
    }
    let plugs = lab.bridges.plugs().filter(|plug| !silent[plug.node]);
    let captured: Vec<Value> = plugs.map(|plug| port(draft, plug)).collect();
    let mut collect = Map::new();
    collect.insert("tcp".to_owned(), json!(shortest.map_or("off".to_owned(), |tcp| tcp.to_string())));
    if !files.is_empty() {
        collect.insert("files".to_owned(), Value::Array(files));
    }
    if !captured.is_empty() {
        collect.insert("capture".to_owned(), Value::Array(captured));
    }
    Ok(collect)
}
