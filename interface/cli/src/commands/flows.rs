//! `plait paths flows`: which flows there are, once or again and again.

use super::paths::written;
use crate::output::{Failure, Output, table};
use plait_dataplane_paths::Client;
use plait_dataplane_paths::agent::Places;
use plait_dataplane_paths::protocol::{FlowName, FlowRow, Reply, Request};
use serde_json::json;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A flow, and the bits a second that it sent since the last look, if there was one.
struct Live {
    row: FlowRow,
    rate: Option<f64>,
}

/// What each flow had sent at the last look, and when that was.
struct Look {
    at: Instant,
    sent: BTreeMap<(String, FlowName), u64>,
}

impl Look {
    fn new(at: Instant, rows: &[FlowRow]) -> Self {
        let sent = rows.iter().map(|row| ((row.device.clone(), row.flow), row.bytes)).collect();
        Self { at, sent }
    }

    /// Bits a second that a flow sent since then.
    fn rate(&self, row: &FlowRow, now: Instant) -> f64 {
        // One that was forgotten meanwhile counts anew.
        let before = self.sent.get(&(row.device.clone(), row.flow)).filter(|before| **before <= row.bytes);
        let bytes = row.bytes - before.copied().unwrap_or(0);
        bytes as f64 * 8.0 / now.duration_since(self.at).as_secs_f64().max(1e-3)
    }
}

/// Lists the flows again and again, those first that sent most meanwhile, until nobody reads. The first look has no rates.
pub fn live(agent: &str, most: usize, every: Duration, output: &Output) -> Result<ExitCode, Failure> {
    let mut client = Client::connect(&Places::of(agent).socket())?;
    let mut last: Option<Look> = None;
    loop {
        let Reply::Flows(rows) = client.ask(Request::Flows)? else {
            return Err(Failure::answered_otherwise());
        };
        let now = Instant::now();
        let look = Look::new(now, &rows);
        let rate = |row: &FlowRow| last.as_ref().map(|last| last.rate(row, now));
        let mut all: Vec<Live> = rows.into_iter().map(|row| Live { rate: rate(&row), row }).collect();
        // Where rates are the same, as the agent has them.
        let order = |live: &Live| live.rate.unwrap_or(0.0);
        all.sort_by(|one, other| order(other).total_cmp(&order(one)));
        last = Some(look);
        if !say(&all, most, output)? {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(every);
    }
}

/// Says one look; whether anybody still reads.
fn say(all: &[Live], most: usize, output: &Output) -> Result<bool, Failure> {
    let shown = &all[..if most == 0 { all.len() } else { most.min(all.len()) }];
    let of = |live: &Live| {
        let mut row = json!(live.row);
        row["bits_per_second"] = json!(live.rate.map(f64::round));
        row
    };
    output.look(&json!(shown.iter().map(of).collect::<Vec<_>>()), || {
        let rate = |rate: f64| format!("{rate:.0}");
        let said = |live: &Live| ("BIT/S", live.rate.map_or("-".to_owned(), rate));
        let rows = shown.iter().map(|live| (&live.row, Some(said(live))));
        format!("{}{}", lines(rows), more(all.len() - shown.len()))
    })
}

/// What is said of those that are left out.
pub fn more(left: usize) -> String {
    if left > 0 { format!("and {left} more: `--most 0` lists all\n") } else { String::new() }
}

/// Flows as a table, each with one more column if it has one.
pub fn lines<'a>(rows: impl Iterator<Item = (&'a FlowRow, Option<(&'static str, String)>)>) -> String {
    let mut heads = vec!["FLOW", "PREFIX", "LIST", "RELAYS", "PACKETS", "BYTES", "IDLE"];
    let mut lines = Vec::new();
    for (row, more) in rows {
        let list = match (row.moves, row.by_hand) {
            (Some(to), _) => format!("{} (moves to {to})", row.list),
            (None, true) => format!("{} (by hand)", row.list),
            (None, false) => row.list.to_string(),
        };
        let mut cells = vec![
            row.flow.to_string(),
            row.prefix.map_or("-".to_owned(), |prefix| prefix.to_string()),
            list,
            written(&row.relays),
            row.packets.to_string(),
            row.bytes.to_string(),
            format!("{:.1} s", row.idle_ms as f64 / 1e3),
        ];
        if let Some((head, cell)) = more {
            if lines.is_empty() {
                heads.push(head);
            }
            cells.push(cell);
        }
        lines.push(cells);
    }
    if lines.is_empty() {
        return "no flow was heard of\n".to_owned();
    }
    lines.insert(0, heads.into_iter().map(str::to_owned).collect());
    table(&lines)
}
