//! `plait overlay trace`.

use crate::output::{Failure, Output};
use plait_dataplane_overlay::Client;
use plait_dataplane_overlay::agent::Places;
use plait_dataplane_overlay::protocol::{Reply, Request};
use plait_dataplane_overlay::trace::{Trace, TraceCopy, TraceCount, TraceEntry, TraceHop, TraceRequest};
use serde_json::json;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

pub fn trace(
    places: &Places,
    request: TraceRequest,
    time: Duration,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let mut client = Client::connect(&places.socket())?;
    let begin = Instant::now();
    let mut found = look(&mut client, &request)?;
    if !time.is_zero() {
        std::thread::sleep(time.saturating_sub(begin.elapsed()));
        let earlier = found;
        found = look(&mut client, &request)?;
        found.since(&earlier);
    }
    let is_delivered = found.is_delivered();
    let value = json!({ "delivered": is_delivered, "hops": found.hops });
    output.result(&value, || text(&found))?;
    Ok(if is_delivered { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn look(client: &mut Client, request: &TraceRequest) -> Result<Trace, Failure> {
    match client.ask(Request::Trace(request.clone()))? {
        Reply::Trace(trace) => Ok(trace),
        other => Err(Failure::new(format!("the agent answered something else: {other:?}"))),
    }
}

fn text(trace: &Trace) -> String {
    let mut text = String::new();
    if let Some(entry) = trace.hops.first().and_then(|hop| hop.entry.as_ref()) {
        text += &entry_line(entry);
    }
    hops(trace, None, 1, &mut text);
    text += if trace.is_delivered() { "it arrives\n" } else { "it does not arrive\n" };
    text
}

/// The hops after one, each with those after it.
fn hops(trace: &Trace, after: Option<usize>, depth: usize, text: &mut String) {
    for (place, hop) in trace.hops.iter().enumerate().filter(|(_, hop)| hop.after == after) {
        let sign = if hop.ends.is_some() { " *" } else { "" };
        let _ = writeln!(text, "{depth:>2}{sign}  {}", hop.node);
        for line in lines(hop) {
            let _ = writeln!(text, "      {line}");
        }
        hops(trace, Some(place), depth + 1, text);
    }
}

fn entry_line(entry: &TraceEntry) -> String {
    let TraceEntry { identifier, node, packets, bytes, .. } = entry;
    match (entry.is_known, node) {
        (true, Some(node)) => {
            let heard =
                entry.heard.map_or("configured".to_owned(), |seconds| format!("heard {seconds} s ago"));
            format!("{identifier} is at {node}, {heard}; {packets} packets, {bytes} bytes\n")
        }
        (_, Some(group)) => format!("{identifier} is unknown: to the group {group}\n"),
        (_, None) => format!("{identifier} is unknown, and there is no group\n"),
    }
}

fn lines(hop: &TraceHop) -> Vec<String> {
    let mut lines: Vec<String> = hop.sent.iter().flat_map(copy_lines).collect();
    if hop.left_out > 0 {
        lines.push(format!("to {} more, which are not followed", hop.left_out));
    }
    lines.extend(hop.delivered.iter().map(|device| format!("comes out by {device}")));
    lines.extend(hop.dropped.iter().map(|reason| format!("dropped: {reason}")));
    lines.extend(hop.ends.clone());
    if hop.ends.is_none() {
        let of = |count: &TraceCount| format!("{} packets, {} bytes", count.packets, count.bytes);
        let since = hop.since.as_ref().map(|since| format!("; meanwhile {}", of(since)));
        lines.push(format!("counted {}{}", of(&hop.count), since.unwrap_or_default()));
    }
    let meanwhile = hop.since.iter().flat_map(|since| &since.drops);
    lines.extend(meanwhile.map(|(reason, count)| format!("dropped meanwhile: {reason} {count}")));
    lines
}

/// To whom and in what; by what, and how long.
fn copy_lines(copy: &TraceCopy) -> [String; 2] {
    let TraceCopy { next_hop, weight, weights, device, mtu, bytes, outer } = copy;
    let share = if weight == weights { String::new() } else { format!(" (weight {weight} of {weights})") };
    let ([from, to], [here, there]) = (outer.locators, &outer.hardware);
    let vni = outer.vni.map_or(String::new(), |vni| format!(", vni {vni}"));
    let hops = outer.hops.map_or(String::new(), |hops| format!(", {hops} hops"));
    let port = outer.ports.map_or(String::new(), |[_, port]| format!(", udp port {port}"));
    let (encapsulation, ttl) = (outer.encapsulation, outer.ttl);
    [
        format!("to {next_hop} from {from} to {to}{share}: {encapsulation}{vni}{hops}, ttl {ttl}{port}"),
        format!("   {bytes} bytes by {device} (mtu {mtu}) from {here} to {there}"),
    ]
}
