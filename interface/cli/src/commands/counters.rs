//! `plait overlay stats`: what was counted, once or again and again.

use super::overlay::{fib, without_packets};
use crate::arguments::StatsArguments;
use crate::output::{Failure, Output, every, table};
use plait_dataplane_overlay::Client;
use plait_dataplane_overlay::agent::Places;
use plait_dataplane_overlay::protocol::{FibRow, Reply, Request, Stats};
use serde_json::json;
use std::process::ExitCode;

/// Says what was counted, with entries of the FIB where they are asked for; with `--every` until nobody reads.
pub fn looks(places: &Places, arguments: &StatsArguments, output: &Output) -> Result<ExitCode, Failure> {
    let pause = arguments.every.map(every).transpose()?;
    let mut client = Client::connect(&places.socket())?;
    loop {
        let Reply::Stats(stats) = client.ask(Request::Stats)? else {
            return Err(Failure::answered_otherwise());
        };
        let entries = if arguments.entries { Some(entries(&mut client)?) } else { None };
        let mut value = json!(stats);
        if let Some(entries) = &entries {
            value["entries"] = json!(entries);
        }
        let text = || {
            let entries = entries.as_ref().filter(|entries| !entries.is_empty());
            text(&stats) + &entries.map_or(String::new(), |entries| format!("\n{}", fib(entries)))
        };
        let Some(pause) = pause else {
            output.result(&value, text)?;
            return Ok(ExitCode::SUCCESS);
        };
        if !output.look(&value, text)? {
            return Ok(ExitCode::SUCCESS);
        }
        std::thread::sleep(pause);
    }
}

fn entries(client: &mut Client) -> Result<Vec<FibRow>, Failure> {
    match client.ask(Request::FibGet { device: None })? {
        Reply::Fib(rows) => Ok(rows),
        _ => Err(Failure::answered_otherwise()),
    }
}

/// Counters as tables.
pub fn text(stats: &Stats) -> String {
    let head = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let mut rows = vec![head(&["DEVICE", "SENT", "BYTES", "RECEIVED", "BYTES", "MISSED"])];
    rows.extend(stats.devices.iter().map(|(name, of)| {
        let mut row = vec![name.clone()];
        row.extend(
            [of.sent, of.sent_bytes, of.received, of.received_bytes, of.missed]
                .map(|count| count.to_string()),
        );
        row
    }));
    let mut text = table(&rows);
    if !stats.nodes.is_empty() {
        let mut rows = vec![head(&["APP", "TO", "PACKETS", "BYTES", "FITS", "NEXT HOP", "ITS BYTES"])];
        rows.extend(stats.nodes.iter().map(|of| {
            vec![
                of.application.to_string(),
                of.node.to_string(),
                of.packets.to_string(),
                of.bytes.to_string(),
                of.room.map_or(String::new(), |room| room.to_string()),
                if of.sent > 0 { of.sent.to_string() } else { String::new() },
                if of.sent > 0 { of.sent_bytes.to_string() } else { String::new() },
            ]
        }));
        text += &format!("\n{}", table(&rows));
    }
    // Of a node with a single pair that is what is sent to it.
    let spread: Vec<_> = stats.nodes.iter().filter(|of| of.pairs.len() > 1).collect();
    if !spread.is_empty() {
        let mut rows = vec![head(&["APP", "NEXT HOP", "OWN LOCATOR", "ITS LOCATOR", "PACKETS", "BYTES"])];
        for of in spread {
            rows.extend(of.pairs.iter().map(|pair| {
                let [from, to] = [pair.from, pair.to].map(|locator| locator.to_string());
                let [packets, bytes] = [pair.packets, pair.bytes].map(|count| count.to_string());
                vec![of.application.to_string(), of.node.to_string(), from, to, packets, bytes]
            }));
        }
        text += &format!("\n{}", table(&rows));
    }
    for of in &stats.left_out {
        let pairs = without_packets(of.pairs as usize);
        text += &format!("\nTo {} of application {} {pairs}: others weigh more.\n", of.node, of.application);
    }
    if !stats.underlay.is_empty() {
        text += &format!("\nPackets of other nodes come in by {}.\n", stats.underlay.join(", "));
    }
    if !stats.xdp.is_empty() {
        let rest: Vec<&str> =
            stats.xdp.iter().filter(|name| !stats.xdp_exits.contains(name)).map(|name| &name[..]).collect();
        text += &format!("\nWhat passes is relayed in the drivers of {}", stats.xdp.join(", "));
        text += &match rest.is_empty() {
            true => ".\n".to_owned(),
            false => {
                format!("; what leaves by {} and came by another device by the kernel.\n", rest.join(", "))
            }
        };
    }
    if !stats.drops.is_empty() {
        let mut rows = vec![head(&["DROPPED", "PACKETS"])];
        rows.extend(stats.drops.iter().map(|(reason, count)| vec![reason.clone(), count.to_string()]));
        text += &format!("\n{}", table(&rows));
    }
    text
}
