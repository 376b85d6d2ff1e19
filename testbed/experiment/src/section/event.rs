//! `run`: commands and changes at their instants, and waits between them.

mod wait;
mod written;

use super::names::{Name, nodes, unknown_node};
use crate::world::Direction;
use plait_model_link::{ConditionsError, ConditionsSpec};
use plait_model_quantity::TimeSpan;
use plait_model_topology::Network;
use plait_model_topology::diagnostic::{Diagnostic, suggest};
use plait_model_topology::document::{Span, Spanned};
pub use wait::{Condition, DEFAULT_WAIT, Protocol, Wait};
pub(super) use written::EventFile;

/// Choice: a command that says nothing of its timeout may take ten minutes, so that one which hangs does not hold the
/// run for ever.
pub const DEFAULT_TIMEOUT: TimeSpan = TimeSpan::from_millis(600_000);

/// Something that happens at an instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When, from the start of the run, on the run's clock, which stands still while the run waits.
    pub at: TimeSpan,
    /// What.
    pub action: Action,
}

/// What happens.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A command starts on a node.
    Start(Command),
    /// Conditions are laid over those a link has.
    Set {
        /// The link's name.
        link: String,
        /// Which of its directions.
        direction: Direction,
        /// What changes.
        change: Box<ConditionsSpec>,
    },
    /// A link fails or recovers.
    Link {
        /// The link's name.
        link: String,
        /// Which of its directions.
        direction: Direction,
        /// Whether it works from now on.
        up: bool,
    },
    /// A node fails (its links pass nothing, its processes stay) or recovers.
    Node {
        /// The node's name.
        node: String,
        /// Whether it works from now on.
        up: bool,
    },
    /// The run goes on when something is so.
    Wait(Wait),
}

/// A command on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What people call it: the name given, else the program's.
    pub name: String,
    /// Where it runs.
    pub node: String,
    /// A line for the shell.
    pub exec: String,
    /// When it is stopped if it has not ended.
    pub timeout: Option<TimeSpan>,
    /// What it must return.
    pub expect: Expect,
    /// Whether it accompanies the run: the run does not wait for it, and stopping it is no failure.
    pub background: bool,
}

/// What a command must return for the run to count as passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// This exit code.
    Code(i32),
    /// Anything, being stopped included.
    Any,
}

/// The events in the order they fire, or the faults in what was written.
pub(super) fn resolve(run: &[Spanned<EventFile>], network: &Network) -> Result<Vec<Event>, Vec<Diagnostic>> {
    let mut events = Vec::new();
    let mut faults = Vec::new();
    for (written, at) in run.iter().zip(instants(run)) {
        if written.at.is_none() && written.until.is_none() {
            faults.push(
                Diagnostic::new(written.span, "`at` is missing: when should this happen?").help(
                    "add `at:` here, a time from the start of the run; only a wait (`until`) needs none",
                ),
            );
        }
        match one(written, network) {
            Ok(actions) => events.extend(actions.into_iter().map(|action| Event { at, action })),
            Err(more) => faults.extend(more),
        }
    }
    // Stable: events of one instant fire in the order of the file.
    events.sort_by_key(|event| event.at);
    if faults.is_empty() { Ok(events) } else { Err(faults) }
}

/// The instant of each event; one that says none follows the event written before it.
fn instants(run: &[Spanned<EventFile>]) -> impl Iterator<Item = TimeSpan> {
    run.iter().scan(TimeSpan::ZERO, |last, event| {
        *last = event.at.as_ref().map_or(*last, |at| at.value);
        Some(*last)
    })
}

fn one(event: &Spanned<EventFile>, network: &Network) -> Result<Vec<Action>, Vec<Diagnostic>> {
    if let Some(until) = &event.until {
        return wait::wait(event, until, network);
    }
    match (&event.exec, &event.link, &event.node) {
        (Some(exec), None, None) => command(event, exec, network),
        (None, Some(link), None) => link_change(event, link, network).map(|action| vec![action]),
        (None, None, Some(node)) => node_change(event, node, network).map(|action| vec![action]),
        (None, None, None) => Err(vec![
            Diagnostic::new(event.span, "this event does nothing")
                .help("give it `on` and `exec`, `link` with `set`, `fail` or `recover`, or `until`"),
        ]),
        _ => Err(vec![
            Diagnostic::new(event.span, "an event is one of `exec`, `link` and `node`")
                .help("write one event for each"),
        ]),
    }
}

fn command(
    event: &EventFile,
    exec: &Spanned<String>,
    network: &Network,
) -> Result<Vec<Action>, Vec<Diagnostic>> {
    let mut faults = misplaced(
        "a command",
        &[
            ("direction", event.direction.as_ref().map(|value| value.span)),
            ("set", event.set.as_ref().map(|value| value.span)),
            ("fail", event.fail.as_ref().map(|value| value.span)),
            ("recover", event.recover.as_ref().map(|value| value.span)),
        ],
    );
    faults.extend(unusable_line(exec));
    let on = match &event.on {
        Some(on) => nodes(on, network).unwrap_or_else(|more| {
            faults.extend(more);
            Vec::new()
        }),
        None => {
            faults.push(
                Diagnostic::new(exec.span, "`on` is missing: where should this run?")
                    .help("add `on:` with a node or a list of nodes"),
            );
            Vec::new()
        }
    };
    if !faults.is_empty() {
        return Err(faults);
    }
    let command = |node: String| {
        Action::Start(Command {
            name: event
                .name
                .as_ref()
                .map_or_else(|| program(&exec.value).to_owned(), |name| name.value.clone()),
            node,
            exec: exec.value.clone(),
            timeout: event.timeout.as_ref().map(|timeout| timeout.value),
            expect: event.expect.as_ref().map_or(Expect::Code(0), |expect| expect.value),
            background: event.background.as_ref().is_some_and(|background| background.value),
        })
    };
    Ok(on.into_iter().map(command).collect())
}

/// Why a text is no command line.
fn unusable_line(exec: &Spanned<String>) -> Option<Diagnostic> {
    if exec.trim().is_empty() {
        return Some(Diagnostic::new(exec.span, "`exec` is empty").help("write a command line"));
    }
    let fault = || {
        Diagnostic::new(exec.span, "a command line cannot hold a NUL character").help("remove the character")
    };
    exec.contains('\0').then(fault)
}

fn link_change(
    event: &EventFile,
    name: &Spanned<String>,
    network: &Network,
) -> Result<Action, Vec<Diagnostic>> {
    let mut faults = misplaced("a link", &command_keys(event));
    let Some(index) = network.link(name) else {
        faults.push(unknown_link(name, network));
        return Err(faults);
    };
    let link = &network.links[index];
    let written = event.direction.as_ref().map_or(Direction::Both, |direction| direction.value);
    // `b-a` names the link `a-b` as well, and its forward direction is from b to a.
    let direction = if link.name == name.value { written } else { written.turned() };
    let states = states(event);
    let action = match (&event.set, states.as_slice()) {
        (Some(change), []) => {
            for (side, under) in link.specs.iter().enumerate() {
                if direction.includes(side)
                    && let Some(fault) = unusable(change, under)
                {
                    faults.push(fault);
                    break;
                }
            }
            Action::Set { link: link.name.clone(), direction, change: Box::new(change.value.clone()) }
        }
        (None, [up]) => Action::Link { link: link.name.clone(), direction, up: *up },
        _ => {
            faults.push(
                Diagnostic::new(name.span, "a link event is one of `set`, `fail: true` and `recover: true`")
                    .help("write one event for each change"),
            );
            return Err(faults);
        }
    };
    if faults.is_empty() { Ok(action) } else { Err(faults) }
}

fn node_change(
    event: &EventFile,
    name: &Spanned<Name>,
    network: &Network,
) -> Result<Action, Vec<Diagnostic>> {
    let mut keys = command_keys(event).to_vec();
    keys.push(("direction", event.direction.as_ref().map(|value| value.span)));
    keys.push(("set", event.set.as_ref().map(|value| value.span)));
    let mut faults = misplaced("a node", &keys);
    faults.extend(unknown_node(&Spanned::new(&name.value.0, name.span), network));
    match states(event).as_slice() {
        [up] if faults.is_empty() => Ok(Action::Node { node: name.value.0.clone(), up: *up }),
        [_] => Err(faults),
        _ => {
            faults.push(
                Diagnostic::new(name.span, "a node event is `fail: true` or `recover: true`")
                    .help("to run a command there, write `on:` and `exec:`"),
            );
            Err(faults)
        }
    }
}

/// What `fail` and `recover` ask for: up or down, once each.
fn states(event: &EventFile) -> Vec<bool> {
    let asked = |key: &Option<Spanned<bool>>| key.as_ref().is_some_and(|value| value.value);
    let fail = asked(&event.fail).then_some(false);
    fail.into_iter().chain(asked(&event.recover).then_some(true)).collect()
}

/// Why a change cannot be laid over what the link has, as far as can be told without reading traces.
fn unusable(change: &Spanned<ConditionsSpec>, under: &ConditionsSpec) -> Option<Diagnostic> {
    match change.value.merge(under).build(&|_| Err(String::new())) {
        Ok(_) | Err(ConditionsError::Unreadable { .. }) => None,
        Err(error) => Some(Diagnostic::new(change.span, error.to_string())),
    }
}

fn unknown_link(name: &Spanned<String>, network: &Network) -> Diagnostic {
    if network.lan(name).is_some() {
        return Diagnostic::new(name.span, format!("`{}` is a LAN, and events change links", name.value))
            .help("make the member's connection a link through a `switch` node");
    }
    let known: Vec<&str> = network.links.iter().map(|link| link.name.as_str()).collect();
    Diagnostic::new(name.span, format!("unknown link `{}`", name.value))
        .help(suggest(name, known.iter().copied()))
}

type PlacedKey = (&'static str, Option<Span>);

fn command_keys(event: &EventFile) -> [PlacedKey; 5] {
    [
        ("on", event.on.as_ref().map(|value| value.span)),
        ("timeout", event.timeout.as_ref().map(|value| value.span)),
        ("name", event.name.as_ref().map(|value| value.span)),
        ("expect", event.expect.as_ref().map(|value| value.span)),
        ("background", event.background.as_ref().map(|value| value.span)),
    ]
}

/// A fault for each key that has no meaning beside the others.
fn misplaced(what: &str, keys: &[PlacedKey]) -> Vec<Diagnostic> {
    let given = keys.iter().filter_map(|(key, span)| span.map(|span| (key, span)));
    given
        .map(|(key, span)| {
            Diagnostic::new(span, format!("`{key}` has no meaning for {what}")).help("remove it")
        })
        .collect()
}

/// The program a command line starts: its first word that sets no variable, without its folder.
fn program(exec: &str) -> &str {
    let is_assignment = |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.contains('/'));
    let word = exec.split_whitespace().find(|word| !is_assignment(word)).unwrap_or("command");
    let base = word.rsplit('/').next().unwrap_or(word);
    if base.is_empty() { "command" } else { base }
}
