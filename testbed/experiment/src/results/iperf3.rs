//! iperf3's JSON output (`iperf3 -J`) as rows.

use super::records::Iperf3Record;
use super::{CommandRecord, ResultsError, Staging};
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// Choice: iperf3 prints some 400 bytes a stream and interval; beyond this a file is something else.
const LARGEST: u64 = 256 * 1024 * 1024;

#[derive(Deserialize)]
struct Output {
    intervals: Vec<Interval>,
    end: Option<End>,
}

#[derive(Deserialize)]
struct End {
    /// What the receiver got; of datagrams only newer versions say it.
    sum_received: Option<Sum>,
    sum: Option<Sum>,
}

#[derive(Deserialize)]
struct Sum {
    bits_per_second: f64,
}

#[derive(Deserialize)]
struct Interval {
    streams: Vec<Stream>,
}

#[derive(Deserialize)]
struct Stream {
    #[serde(default)]
    socket: u64,
    end: f64,
    seconds: f64,
    bytes: u64,
    bits_per_second: f64,
    retransmits: Option<u64>,
    /// iperf3 marks the first seconds that `-O` leaves out.
    #[serde(default)]
    omitted: bool,
}

/// The intervals in a command's output, when it is iperf3's JSON. iperf3 counts from the moment its connection stands;
/// the rows count from the start of the run, at `started_s` of which the command began.
///
/// Choice: the connection's set-up, some round-trip times, is not added, because iperf3 does not print it.
pub fn intervals(stdout: &Path, command: &str, node: &str, started_s: f64) -> Vec<Iperf3Record> {
    let Some(output) = read(stdout) else { return Vec::new() };
    let streams = || output.intervals.iter().flat_map(|interval| &interval.streams);
    // After what `-O` leaves out iperf3 counts from nought again.
    let left_out = streams().filter(|stream| stream.omitted && stream.end.is_finite());
    let left_out = left_out.map(|stream| stream.end).fold(0.0, f64::max);
    streams()
        .filter(|stream| !stream.omitted && stream.end.is_finite() && stream.seconds > 0.0)
        .map(|stream| Iperf3Record {
            time_s: ((started_s + left_out + stream.end) * 1e6).round() / 1e6,
            command: command.to_owned(),
            node: node.to_owned(),
            stream: stream.socket,
            seconds: stream.seconds,
            bytes: stream.bytes,
            throughput_bps: stream.bits_per_second,
            retransmits: stream.retransmits,
        })
        .collect()
}

/// The bits per second that iperf3's receiver got, over the whole test, when a command's output is iperf3's JSON.
pub fn goodput(stdout: &Path) -> Option<f64> {
    let end = read(stdout)?.end?;
    let rate = end.sum_received.or(end.sum)?.bits_per_second;
    rate.is_finite().then_some(rate)
}

fn read(stdout: &Path) -> Option<Output> {
    let fits = fs::metadata(stdout).is_ok_and(|data| data.len() <= LARGEST);
    let text = fits.then(|| fs::read(stdout).ok()).flatten()?;
    let is_object = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    if is_object { serde_json::from_slice(&text).ok() } else { None }
}

/// The rows of all commands of a run.
#[derive(Debug, Default)]
pub struct Iperf3Rows(Vec<Iperf3Record>);

impl Iperf3Rows {
    /// Looks through the output of every command, which stands in `folder`.
    pub fn of(commands: &[CommandRecord], folder: &Path) -> Self {
        let mut rows = Vec::new();
        for command in commands {
            let Some(started) = command.started_s else { continue };
            let name = command.folder.rsplit('/').next().unwrap_or_default();
            let stdout = folder.join(&command.folder).join("stdout");
            rows.extend(intervals(&stdout, name, &command.node, started));
        }
        Self(rows)
    }

    /// Writes `samples/iperf3.csv`, if there is a row.
    pub fn write(&self, staging: &Staging) -> Result<(), ResultsError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let path = staging.path("samples/iperf3.csv")?;
        let failed = |error| ResultsError::csv_write(&path, error);
        let mut writer = csv::Writer::from_path(&path).map_err(failed)?;
        self.0.iter().try_for_each(|row| writer.serialize(row)).map_err(failed)?;
        writer.flush().map_err(|error| ResultsError::write(&path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_at_the_start_still_takes_its_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let interval = |end: f64, omitted: bool| {
            format!(
                r#"{{"streams": [{{"socket": 5, "end": {end}, "seconds": 1, "bytes": 10, "bits_per_second": 80, "omitted": {omitted}}}]}}"#
            )
        };
        // As `iperf3 -O 2` prints it: the clock begins again.
        let intervals =
            [interval(1.0, true), interval(2.0, true), interval(1.0, false), interval(2.0, false)];
        fs::write(file.path(), format!(r#"{{"intervals": [{}]}}"#, intervals.join(","))).unwrap();
        let rows = super::intervals(file.path(), "01-flow", "a", 0.5);
        let seconds: Vec<f64> = rows.iter().map(|row| row.time_s).collect();
        assert_eq!(seconds, [3.5, 4.5]);
    }
}
