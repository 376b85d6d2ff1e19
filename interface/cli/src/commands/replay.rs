//! `plait replay`.

use crate::arguments::ReplayArguments;
use crate::output::{Failure, Output, counted, table};
use plait_model_overlay::{NodeId, Operation};
use plait_simulator_world::replay::{Decision, Fault, Outage, Recording, Replayed, replay as replay_all};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Where a results folder has them.
const CONTROL: &str = "control";

pub fn replay(arguments: ReplayArguments, output: &Output) -> Result<ExitCode, Failure> {
    let ReplayArguments { folder, verbose } = arguments;
    let own = folder.join(CONTROL);
    let place = if own.is_dir() { own } else { folder.clone() };
    let files = recordings_in(&place).map_err(|error| refused(format!("{}: {error}", place.display())))?;
    if files.is_empty() {
        return Err(refused(format!(
            "{} has no recordings of control planes: run a file that says `collect: {{control: true}}`",
            folder.display()
        )));
    }
    let mut recordings = Vec::new();
    for file in files {
        let text = fs::read(&file).map_err(|error| refused(format!("{}: {error}", file.display())))?;
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let recording = Recording::read(name, &text);
        recordings.push(recording.map_err(|error| refused(format!("{}: {error}", place.display())))?);
    }
    let replayed =
        replay_all(&recordings).map_err(|error| refused(format!("{}: {error}", place.display())))?;
    for recording in recordings.iter().filter(|recording| recording.is_cut) {
        output.note(&format!("{}: its last line is cut, and left out", recording.name));
    }
    if let Some(name) = &replayed.full {
        output.note(&format!("the recording of {name} was full: what came after it is left out"));
    }
    let told = Told { origin: began(&place).unwrap_or(replayed.from), replayed: &replayed };
    output.result(&told.value(verbose), || told.text(verbose))?;
    Ok(if replayed.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Nothing could be replayed.
fn refused(message: String) -> Failure {
    Failure { code: 2, ..Failure::new(message) }
}

fn recordings_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "jsonl") && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// When the run began, on the clock of the recordings.
fn began(folder: &Path) -> Option<Duration> {
    let text = fs::read(folder.join("clock.json")).ok()?;
    let clock: Value = serde_json::from_slice(&text).ok()?;
    clock["run_began_ns"].as_u64().map(Duration::from_nanos)
}

/// What was found, in words.
struct Told<'a> {
    replayed: &'a Replayed,
    /// What instants count from.
    origin: Duration,
}

impl Told<'_> {
    fn name(&self, member: usize) -> String {
        self.replayed.members[member].name.clone()
    }

    /// A node by its name, where it is a member.
    fn node(&self, of: usize, node: NodeId) -> String {
        let application = self.replayed.members[of].application;
        let mut members = self.replayed.members.iter();
        let known = members.find(|member| member.application == application && member.node == node);
        known.map_or_else(|| node.to_string(), |member| member.name.clone())
    }

    fn seconds(&self, at: Duration) -> f64 {
        at.as_secs_f64() - self.origin.as_secs_f64()
    }

    fn text(&self, verbose: bool) -> String {
        let Replayed { members, faults, from, until, .. } = self.replayed;
        let overlays: BTreeSet<_> = members.iter().map(|member| member.application).collect();
        let inputs: usize = members.iter().map(|member| member.inputs).sum();
        let decisions: usize = members.iter().map(|member| member.operations).sum();
        let mut text = format!(
            "{} of {}, {:.1} s, {}: the {} they decided are as recorded\n",
            counted(members.len(), "member"),
            counted(overlays.len(), "overlay"),
            (*until - *from).as_secs_f64(),
            counted(inputs, "input"),
            counted(decisions, "operation"),
        );
        if faults.is_empty() {
            text += "once two members had a way to each other, they kept one\n";
        } else {
            let head = ["FROM", "UNTIL", "LENGTH", "FAULT", "WHERE", "WITHOUT A WAY"];
            let rows = faults.iter().map(|fault| self.row(fault));
            let rows: Vec<Vec<String>> =
                std::iter::once(head.map(str::to_owned).to_vec()).chain(rows).collect();
            text += &table(&rows);
        }
        if verbose {
            text += "\n";
            text += &table(&self.happenings());
        }
        text
    }

    fn row(&self, fault: &Fault) -> Vec<String> {
        // A pair that comes and goes is one of them all the same.
        let pairs: BTreeSet<(usize, usize)> =
            fault.outages.iter().map(|outage| (outage.source, outage.destination)).collect();
        let pairs = pairs.iter().map(|(from, to)| format!("{} to {}", self.name(*from), self.name(*to)));
        let length = fault.until.unwrap_or(self.replayed.until).saturating_sub(fault.from);
        vec![
            self.instant(fault.from),
            fault.until.map_or("the end".to_owned(), |until| self.instant(until)),
            format!("{:.3} s", length.as_secs_f64()),
            fault.cause.name().to_owned(),
            fault.cause.place(|member| self.name(member)),
            pairs.collect::<Vec<_>>().join(", "),
        ]
    }

    fn instant(&self, at: Duration) -> String {
        format!("{:.3} s", self.seconds(at))
    }

    /// What members decided, and where faults began and ended between.
    fn happenings(&self) -> Vec<Vec<String>> {
        let mut happened: Vec<(Duration, u8, String, String)> = Vec::new();
        for Decision { at, member, operations } in &self.replayed.decisions {
            let words: Vec<String> =
                operations.iter().map(|operation| self.words(*member, operation)).collect();
            happened.push((*at, 0, self.name(*member), words.join(", ")));
        }
        for fault in &self.replayed.faults {
            let what = format!("{} {}", fault.cause.name(), fault.cause.place(|member| self.name(member)));
            happened.push((fault.from, 1, String::new(), format!("*** {what}")));
            happened.extend(fault.until.map(|until| (until, 1, String::new(), format!("*** over: {what}"))));
        }
        happened.sort();
        happened.into_iter().map(|(at, _, who, what)| vec![self.instant(at), who, what]).collect()
    }

    fn words(&self, of: usize, operation: &Operation) -> String {
        let name = |node: &NodeId| self.node(of, *node);
        match operation {
            Operation::NodeAdd { node, locator, .. } => format!("{} is at {locator}", name(node)),
            Operation::NodeDel { node, locator, .. } => format!("{} is at {locator} no more", name(node)),
            Operation::RouteAdd { destination, next_hop, .. } => {
                format!("to {} by {}", name(destination), name(next_hop))
            }
            Operation::RouteDel { destination, next_hop, .. } => {
                format!("to {} by {} no more", name(destination), name(next_hop))
            }
            other => format!("{other:?}"),
        }
    }

    fn value(&self, verbose: bool) -> Value {
        let Replayed { members, faults, from, until, full, decisions } = self.replayed;
        let members = members.iter().map(|member| {
            json!({
                "name": member.name, "application": member.application, "node": member.node,
                "lives": member.lives, "inputs": member.inputs, "operations": member.operations,
                "last_s": self.seconds(member.last),
            })
        });
        let seconds = |at: Option<Duration>| at.map(|at| self.seconds(at));
        let outage = |outage: &Outage| {
            json!({
                "from": self.name(outage.source), "to": self.name(outage.destination),
                "from_s": self.seconds(outage.from), "until_s": seconds(outage.until),
            })
        };
        let faults = faults.iter().map(|fault| {
            json!({
                "fault": fault.cause.name(), "application": fault.application,
                "members": fault.cause.members().into_iter().map(|member| self.name(member)).collect::<Vec<_>>(),
                "from_s": self.seconds(fault.from), "until_s": seconds(fault.until),
                "pairs": fault.outages.iter().map(outage).collect::<Vec<_>>(),
            })
        });
        let mut value = json!({
            "members": members.collect::<Vec<_>>(), "from_s": self.seconds(*from), "until_s": self.seconds(*until),
            "full": full, "faults": faults.collect::<Vec<_>>(),
        });
        if verbose {
            let decisions = decisions.iter().map(|decision| {
                json!({
                    "at_s": self.seconds(decision.at), "member": self.name(decision.member),
                    "operations": decision.operations,
                })
            });
            value["decisions"] = decisions.collect();
        }
        value
    }
}
