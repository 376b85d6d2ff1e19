//! `plait traffic listen`.

use super::rounded;
use crate::arguments::ListenArguments;
use crate::output::{Failure, Output, counted, table};
use crate::stop;
use plait_dataplane_traffic::{Arrived, Heard, Key, Sink, frame, now};
use plait_model_quantity::ByteCount;
use serde_json::{Value, json};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

pub fn listen(arguments: &ListenArguments, output: &Output) -> Result<ExitCode, Failure> {
    let mut ports = arguments.port.clone();
    ports.sort_unstable();
    ports.dedup();
    let sinks = ports.iter().map(|port| Sink::bind(*port)).collect::<Result<Vec<_>, _>>();
    let sinks = sinks.map_err(|error| match error.is_taken() {
        true => Failure::new(format!("{error}: end it, or choose another by `--port`")),
        false => Failure::new(error.to_string()),
    })?;
    // From here on a signal ends the listening and not the telling.
    let stop = stop::on_signals()?;
    let until = match arguments.time {
        Some(time) => format!("for {time}"),
        None => "until Ctrl-C".to_owned(),
    };
    let list = ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", ");
    output.note(&format!("listening on UDP port {list}, {until}"));
    let begin = now();
    let end = arguments.time.map_or(u64::MAX, |time| begin.saturating_add(time.as_nanos()));
    let is_over = || stop.is_asked() || now() >= end;
    let mut progress = output.progress("");
    // Each sink says how much it has, and one line says how much they have together.
    let so_far: Vec<_> = sinks.iter().map(|_| AtomicU64::new(0)).collect();
    let heard = thread::scope(|scope| {
        let listening: Vec<_> = sinks
            .iter()
            .zip(&so_far)
            .map(|(sink, so_far)| {
                let is_over = &is_over;
                scope.spawn(move || {
                    sink.listen(|heard| {
                        so_far
                            .store(heard.flows.values().map(|flow| flow.datagrams).sum(), Ordering::Relaxed);
                        !is_over()
                    })
                })
            })
            .collect();
        while !is_over() {
            let datagrams: u64 = so_far.iter().map(|count| count.load(Ordering::Relaxed)).sum();
            progress.line(&format!("{:.0} s, {datagrams} datagrams", seconds(now() - begin)));
            thread::sleep(TURN.min(Duration::from_nanos(end.saturating_sub(now()))));
        }
        let broke = |_| Failure::new("a thread that listened broke");
        listening
            .into_iter()
            .map(|sink| Ok(sink.join().map_err(broke)??))
            .collect::<Result<Vec<_>, Failure>>()
    });
    drop(progress);
    let heard: Vec<(u16, Heard)> = ports.into_iter().zip(heard?).collect();
    output.result(&value(&heard, now() - begin), || text(&heard))?;
    Ok(ExitCode::SUCCESS)
}

/// How soon a wish to stop is heard.
const TURN: Duration = Duration::from_millis(100);

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Bits per second of frames from the first datagram to the last, where there are two.
fn rate(key: &Key, flow: &Arrived) -> Option<f64> {
    let between = flow.datagrams.checked_sub(1).filter(|between| *between > 0 && flow.last > flow.first)?;
    let mean = ByteCount::new(flow.bytes / flow.datagrams);
    Some(between as f64 * frame(mean, &key.from).bytes() as f64 * 8.0 / seconds(flow.last - flow.first))
}

fn value(heard: &[(u16, Heard)], time: u64) -> Value {
    let flows = heard.iter().flat_map(|(port, heard)| {
        heard.flows.iter().map(move |(key, flow)| {
            json!({
                "from": key.from.ip(),
                "source_port": key.from.port(),
                "destination_port": port,
                "run": key.run,
                "flow": key.flow,
                "received": flow.datagrams,
                "bytes": flow.bytes,
                "missing": flow.missing(),
                "reordered": flow.reordered,
                "bits_per_second": rate(key, flow),
            })
        })
    });
    let sum = |of: fn(&Heard) -> Option<u64>| heard.iter().map(|(_, heard)| of(heard)).sum::<Option<u64>>();
    json!({
        "seconds": seconds(time),
        "flows": flows.collect::<Vec<_>>(),
        "strange": sum(|heard| Some(heard.strange)),
        "beyond": sum(|heard| Some(heard.beyond)),
        "overrun": sum(|heard| heard.overrun),
    })
}

fn text(heard: &[(u16, Heard)]) -> String {
    let head = ["FROM", "PORTS", "RECEIVED", "BYTES", "MISSING", "REORDERED", "RATE"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for (port, heard) in heard {
        rows.extend(heard.flows.iter().map(|(key, flow)| {
            vec![
                key.from.ip().to_string(),
                format!("{} > {port}", key.from.port()),
                flow.datagrams.to_string(),
                flow.bytes.to_string(),
                flow.missing().to_string(),
                flow.reordered.to_string(),
                rate(key, flow).map_or("-".to_owned(), |rate| rounded(rate).to_string()),
            ]
        }));
    }
    let mut text = match rows.len() {
        1 => "no flow came\n".to_owned(),
        _ => table(&rows),
    };
    let strange: u64 = heard.iter().map(|(_, heard)| heard.strange).sum();
    let beyond: u64 = heard.iter().map(|(_, heard)| heard.beyond).sum();
    let overrun: u64 = heard.iter().filter_map(|(_, heard)| heard.overrun).sum();
    if strange > 0 {
        text.push_str(&format!(
            "{} came of no flow of `plait traffic`\n",
            counted(strange as usize, "datagram")
        ));
    }
    if beyond > 0 {
        text.push_str(&format!(
            "{} came of more flows than the {} of a port that are told apart\n",
            counted(beyond as usize, "datagram"),
            Sink::MOST_FLOWS
        ));
    }
    if overrun > 0 {
        text.push_str(&format!(
            "{overrun} of the missing came this far: this host did not take them in time\n"
        ));
    }
    text
}
