//! The figures of a run, from what stands in its folder.

use super::{CommandRecord, ResultsError, iperf3};
use crate::analysis::Take;
use crate::section::{Metric, Source};
use crate::world::Direction;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::ops::Add;
use std::path::Path;

/// Choice: a connection that moved less than this part of what its node's largest moved talks about the transfer
/// (iperf3's control connection) and is none.
const LEAST_SHARE: f64 = 0.1;
/// What is longer is no list of numbers.
const LARGEST_OUTPUT: u64 = 256 << 20;

/// A figure of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MetricValue {
    /// The value; absent where it cannot be told.
    pub value: Option<f64>,
    /// What it is measured in; empty for a plain number.
    pub unit: String,
    /// Why there is no value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The figures that were asked for, without samples before `warmup_s`.
///
/// # Errors
/// Samples that cannot be read.
pub fn measure(
    metrics: &[Metric],
    warmup_s: f64,
    commands: &[CommandRecord],
    folder: &Path,
) -> Result<BTreeMap<String, MetricValue>, ResultsError> {
    let mut found = BTreeMap::new();
    for metric in metrics {
        let (value, why) = match samples(metric, warmup_s, commands, folder)? {
            Err(why) => (None, Some(why)),
            // Of several counters, each grows by itself.
            Ok(series) => {
                match series.iter().filter_map(|samples| metric.take.of(samples)).reduce(Add::add) {
                    Some(value) => (Some(value), None),
                    None => (None, Some("there are too few samples".to_owned())),
                }
            }
        };
        found.insert(metric.name.clone(), MetricValue { value, unit: metric.unit.clone(), why });
    }
    Ok(found)
}

/// Where nothing was asked for: what iperf3 says its receiver got, by command.
pub fn usual(commands: &[CommandRecord], folder: &Path) -> BTreeMap<String, MetricValue> {
    let of = |command: &CommandRecord| {
        let goodput = iperf3::goodput(&folder.join(&command.folder).join("stdout"))?;
        let value = MetricValue { value: Some(goodput), unit: "bit/s".to_owned(), why: None };
        Some((format!("{}_bps", command.name.replace(' ', "_")), value))
    };
    commands.iter().filter_map(of).collect()
}

/// Samples with their seconds, of one thing or of several that are counted apart, or why there are none.
type Samples = Result<Vec<Vec<(f64, f64)>>, String>;

fn samples(
    metric: &Metric,
    warmup_s: f64,
    commands: &[CommandRecord],
    folder: &Path,
) -> Result<Samples, ResultsError> {
    let file = |name: &str| folder.join("samples").join(name);
    match &metric.source {
        Source::Output { command, field } => {
            let wanted = [("command", command.as_str()), ("field", field.as_deref().unwrap_or_default())];
            let collected = read(&file("json.csv"), "value", &wanted, &[])?;
            if !collected.is_empty() {
                return Ok(after(collected, warmup_s));
            }
            let mut named = commands.iter().filter(|known| known.name == *command);
            let (Some(command), None) = (named.next(), named.next()) else {
                return Ok(Err(format!("there is no command `{command}`, or more than one")));
            };
            Ok(printed(&folder.join(&command.folder).join("stdout"), field.as_deref()))
        }
        Source::Tcp { node, column } => {
            let node = node.as_deref().map(|node| ("node", node));
            let mut rows =
                read(&file("tcp.csv"), column, node.as_slice(), &["node", "local", "remote", "bytes_sent"])?;
            keep_largest(&mut rows);
            rows.retain(|(time, ..)| *time >= warmup_s);
            // The growth of a counter is that of one connection; any other value is of all samples together.
            let mut connections: BTreeMap<String, Vec<Row>> = BTreeMap::new();
            for row in rows {
                let key = if metric.take == Take::Rate { connection(&row.2) } else { String::new() };
                connections.entry(key).or_default().push(row);
            }
            let series: Vec<_> = connections.into_values().map(plain).filter(|one| !one.is_empty()).collect();
            Ok(if series.is_empty() { Err(NONE.to_owned()) } else { Ok(series) })
        }
        Source::Ping { from, to, column } => {
            let wanted = [("from", from.as_str()), ("to", to.as_str())];
            Ok(after(read(&file("pings.csv"), column, &wanted, &[])?, warmup_s))
        }
        Source::Link { link, direction, column } => {
            let direction = if *direction == Direction::Reverse { "reverse" } else { "forward" };
            let wanted = [("link", link.as_str()), ("direction", direction)];
            Ok(after(read(&file("links.csv"), column, &wanted, &[])?, warmup_s))
        }
        Source::Interface { node, interface, column } => {
            let wanted = [("node", node.as_str()), ("interface", interface.as_str())];
            Ok(after(read(&file("interfaces.csv"), column, &wanted, &[])?, warmup_s))
        }
    }
}

/// A row of samples: its second, its value where it has one, and other columns as text.
type Row = (f64, Option<f64>, Vec<String>);

const NONE: &str = "there are no such samples after the warm-up; does `collect` turn them off?";

fn after(mut rows: Vec<Row>, warmup_s: f64) -> Samples {
    rows.retain(|(time, ..)| *time >= warmup_s);
    let samples = plain(rows);
    if samples.is_empty() { Err(NONE.to_owned()) } else { Ok(vec![samples]) }
}

fn plain(rows: Vec<Row>) -> Vec<(f64, f64)> {
    rows.into_iter().filter_map(|(time, value, _)| Some((time, value?))).collect()
}

/// What tells a connection from others: its node and both addresses.
fn connection(more: &[String]) -> String {
    more[..3].join(" ")
}

/// One column of a file of samples, where the wanted columns have the wanted texts. A file that is not there has no
/// rows, and one of a run that was over before the first sample not even a head.
fn read(path: &Path, column: &str, wanted: &[(&str, &str)], more: &[&str]) -> Result<Vec<Row>, ResultsError> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(ResultsError::read(path, error)),
    };
    let failed = |error| ResultsError::csv_read(path, error);
    let mut reader = csv::Reader::from_reader(BufReader::new(file));
    let header = reader.headers().map_err(failed)?.clone();
    if header.is_empty() {
        return Ok(Vec::new());
    }
    let place = |name: &str| {
        header.iter().position(|known| known == name).ok_or_else(|| ResultsError::Damaged {
            path: path.to_owned(),
            reason: format!("it has no column `{name}`"),
        })
    };
    let (time, value) = (place("time_s")?, place(column)?);
    let wanted =
        wanted.iter().map(|(name, text)| Ok((place(name)?, *text))).collect::<Result<Vec<_>, _>>()?;
    let more = more.iter().map(|name| place(name)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    let mut record = csv::StringRecord::new();
    while reader.read_record(&mut record).map_err(failed)? {
        if wanted.iter().all(|(at, text)| record.get(*at) == Some(text)) {
            let number = |at: usize| record.get(at).and_then(|text| text.parse::<f64>().ok());
            let text = |at: &usize| record.get(*at).unwrap_or_default().to_owned();
            rows.push((number(time).unwrap_or_default(), number(value), more.iter().map(text).collect()));
        }
    }
    Ok(rows)
}

/// Keeps the rows of connections that moved most of the bytes.
fn keep_largest(rows: &mut Vec<Row>) {
    let mut sent: HashMap<String, f64> = HashMap::new();
    for (_, _, more) in rows.iter() {
        let most = sent.entry(connection(more)).or_default();
        *most = most.max(more[3].parse().unwrap_or_default());
    }
    let largest = sent.values().copied().fold(0.0, f64::max);
    rows.retain(|(_, _, more)| sent[&connection(more)] >= LEAST_SHARE * largest);
}

/// The numbers in what a command printed. Its lines have no time unless they are collected, so they count as a second
/// each.
fn printed(stdout: &Path, field: Option<&str>) -> Samples {
    let size = fs::metadata(stdout).map_err(|error| error.to_string())?.len();
    if size > LARGEST_OUTPUT {
        return Err(format!("{} MiB of output are too many", size >> 20));
    }
    let text = String::from_utf8_lossy(&fs::read(stdout).map_err(|error| error.to_string())?).into_owned();
    let number = |value: &Value| match field {
        Some(field) => number_at(value, field),
        None => value.as_f64(),
    };
    // One document, or one a line.
    let values: Vec<f64> = match serde_json::from_str::<Value>(&text) {
        Ok(value) => number(&value).into_iter().collect(),
        Err(_) => {
            let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok());
            lines.filter_map(|value| number(&value)).collect()
        }
    };
    match (values.is_empty(), field) {
        (false, _) => Ok(vec![(0u32..).map(f64::from).zip(values).collect()]),
        (true, Some(field)) => Err(format!("its command printed no JSON with a number at `{field}`")),
        (true, None) => Err("its command printed no number".to_owned()),
    }
}

/// The number that a way of keys and positions leads to.
fn number_at(value: &Value, field: &str) -> Option<f64> {
    let found = field.split('.').try_fold(value, |value, part| match value {
        Value::Array(items) => items.get(part.parse::<usize>().ok()?),
        value => value.get(part),
    })?;
    found.as_f64().filter(|number| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_what_commands_print() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stdout");
        let of = |text: &str, field: Option<&str>| {
            fs::write(&path, text).unwrap();
            let values = |samples: Vec<Vec<(f64, f64)>>| -> Vec<f64> {
                samples.concat().into_iter().map(|(_, value)| value).collect()
            };
            printed(&path, field).map(values)
        };
        assert_eq!(of("17.5\n", None), Ok(vec![17.5]));
        assert_eq!(of("3\nwords\n4\n", None), Ok(vec![3.0, 4.0]));
        assert_eq!(of("{\"a\": {\"b\": [1, 2]}}", Some("a.b.1")), Ok(vec![2.0]));
        assert_eq!(of("{\"t\": 1}\n{\"t\": 2}\nnoise\n", Some("t")), Ok(vec![1.0, 2.0]));
        assert!(of("{\"t\": \"x\"}", Some("t")).unwrap_err().contains("at `t`"));
        assert!(of("", None).unwrap_err().contains("no number"));
    }

    #[test]
    fn a_run_that_is_over_before_its_first_sample_has_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("samples")).unwrap();
        fs::write(folder.path().join("samples/links.csv"), "").unwrap();
        let source = Source::Link {
            link: "a-b".to_owned(),
            direction: Direction::Forward,
            column: "bytes".to_owned(),
        };
        let metric = Metric { name: "bytes".to_owned(), source, take: Take::Max, unit: "B".to_owned() };
        let found = measure(&[metric], 0.0, &[], folder.path()).unwrap();
        assert!(found["bytes"].why.as_ref().is_some_and(|why| why.contains("no such samples")), "{found:?}");
    }

    #[test]
    fn rates_of_connections_add_up_and_small_talk_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("samples")).unwrap();
        let rows = "time_s,node,local,remote,bytes_sent,srtt_ms\n\
            0.0,a,a:1,b:5,0,900\n1.0,a,a:1,b:5,1000,10\n1.0,a,a:2,b:5,500,20\n1.0,a,a:9,b:5,3,500\n\
            3.0,a,a:1,b:5,5000,30\n3.0,a,a:2,b:5,1500,40\n3.0,a,a:9,b:5,5,500\n";
        fs::write(folder.path().join("samples/tcp.csv"), rows).unwrap();
        let metric = |name: &str, column: &str, take| Metric {
            name: name.to_owned(),
            source: Source::Tcp { node: Some("a".to_owned()), column: column.to_owned() },
            take,
            unit: String::new(),
        };
        let metrics = [metric("rate", "bytes_sent", Take::Rate), metric("rtt", "srtt_ms", Take::Mean)];
        let found = measure(&metrics, 0.5, &[], folder.path()).unwrap();
        assert_eq!(found["rate"].value, Some(2000.0 + 500.0));
        assert_eq!(found["rtt"].value, Some(25.0), "what came in the warm-up is in no metric");
    }
}
