//! The figures of a run, from what stands in its folder.

mod connections;
mod output;
mod rows;

use super::{CommandRecord, ResultsError, iperf3};
use crate::section::{Metric, Source};
use crate::world::Direction;
use rows::Column;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;

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

/// What a run recorded.
#[derive(Debug, Clone, Copy)]
pub struct Recorded<'a> {
    /// Where it stands.
    pub folder: &'a Path,
    /// The commands of the run.
    pub commands: &'a [CommandRecord],
    /// The names of those whose lines of JSON are samples.
    pub json: &'a [String],
}

/// A value, or why there is none.
type Found = Result<f64, String>;

const NONE: &str = "there are no such samples after the warm-up; does `collect` turn them off?";
const TOO_FEW: &str = "there are too few samples";

/// The figures that were asked for, of samples in the seconds that count: from the warm-up's end to the run's. What commands
/// print when they are stopped belongs to the run, too; what is counted while they stop and late packets arrive does not.
///
/// # Errors
/// Samples that cannot be read.
pub fn measure(
    metrics: &[Metric],
    seconds: RangeInclusive<f64>,
    recorded: &Recorded<'_>,
) -> Result<BTreeMap<String, MetricValue>, ResultsError> {
    let mut found = BTreeMap::new();
    for metric in metrics {
        let (value, why) = match one(metric, &seconds, recorded)? {
            Ok(value) => (Some(value), None),
            Err(why) => (None, Some(why)),
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

fn one(
    metric: &Metric,
    seconds: &RangeInclusive<f64>,
    recorded: &Recorded<'_>,
) -> Result<Found, ResultsError> {
    let file = |name: &str| recorded.folder.join("samples").join(name);
    let (path, column, texts): (_, &str, Vec<(&str, &str)>) = match &metric.source {
        Source::Output { command, field } if recorded.json.contains(command) => (
            file("json.csv"),
            "value",
            vec![("command", command), ("field", field.as_deref().unwrap_or_default())],
        ),
        Source::Output { command, field } => {
            return Ok(output::value(metric.take, command, field.as_deref(), recorded));
        }
        Source::Tcp { node, column } => {
            let found = connections::value(&file("tcp.csv"), node.as_deref(), column, metric.take, seconds);
            return found;
        }
        Source::Ping { from, to, column } => (file("pings.csv"), column, vec![("from", from), ("to", to)]),
        Source::Link { link, direction, column } => {
            let direction = if *direction == Direction::Reverse { "reverse" } else { "forward" };
            (file("links.csv"), column, vec![("link", link), ("direction", direction)])
        }
        Source::Interface { node, interface, column } => {
            (file("interfaces.csv"), column, vec![("node", node), ("interface", interface)])
        }
    };
    let is_printed = matches!(metric.source, Source::Output { .. });
    let end = if is_printed { f64::INFINITY } else { *seconds.end() };
    let mut taken = metric.take.begin();
    let mut any = false;
    Column { path: &path, name: column, texts: &texts, more: &[] }.each(|second, value, _| {
        if let Some(value) = value.filter(|_| (*seconds.start()..=end).contains(&second)) {
            any = true;
            taken.push(second, value);
        }
    })?;
    Ok(if any { taken.value().ok_or_else(|| TOO_FEW.to_owned()) } else { Err(NONE.to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Take;
    use std::fs;

    fn nothing_but(folder: &Path) -> Recorded<'_> {
        Recorded { folder, commands: &[], json: &[] }
    }

    #[test]
    fn numbers_are_found_in_what_commands_print() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("stdout");
        let of = |text: &str, field: Option<&str>| {
            fs::write(&path, text).unwrap();
            output::numbers(&path, field)
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
        let found = measure(&[metric], 0.0..=9.0, &nothing_but(folder.path())).unwrap();
        assert!(found["bytes"].why.as_ref().is_some_and(|why| why.contains("no such samples")), "{found:?}");
    }

    #[test]
    fn rates_of_connections_add_up_and_small_talk_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("samples")).unwrap();
        let rows = "time_s,node,local,remote,bytes_sent,srtt_ms\n\
            0.0,a,a:1,b:5,0,900\n1.0,a,a:1,b:5,1000,10\n1.0,a,a:2,b:5,500,20\n1.0,a,a:9,b:5,3,500\n\
            3.0,a,a:1,b:5,5000,30\n3.0,a,a:2,b:5,1500,40\n3.0,a,a:9,b:5,5,500\n\
            4.0,a,a:1,b:5,5000,90\n";
        fs::write(folder.path().join("samples/tcp.csv"), rows).unwrap();
        let metric = |name: &str, column: &str, take| Metric {
            name: name.to_owned(),
            source: Source::Tcp { node: Some("a".to_owned()), column: column.to_owned() },
            take,
            unit: String::new(),
        };
        let metrics = [metric("rate", "bytes_sent", Take::Rate), metric("rtt", "srtt_ms", Take::Mean)];
        let found = measure(&metrics, 0.5..=3.0, &nothing_but(folder.path())).unwrap();
        assert_eq!(found["rate"].value, Some(2000.0 + 500.0));
        assert_eq!(
            found["rtt"].value,
            Some(25.0),
            "what came in the warm-up or behind the end is in no metric"
        );
    }

    #[test]
    fn a_port_that_is_used_again_is_another_connection() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("samples")).unwrap();
        let rows = "time_s,node,local,remote,bytes_sent\n\
            1.0,a,a:1,b:5,0\n2.0,a,a:1,b:5,1000\n5.0,a,a:1,b:5,100\n6.0,a,a:1,b:5,600\n";
        fs::write(folder.path().join("samples/tcp.csv"), rows).unwrap();
        let metric = Metric {
            name: "rate".to_owned(),
            source: Source::Tcp { node: None, column: "bytes_sent".to_owned() },
            take: Take::Rate,
            unit: "B/s".to_owned(),
        };
        let found = measure(&[metric], 0.0..=9.0, &nothing_but(folder.path())).unwrap();
        assert_eq!(found["rate"].value, Some(1000.0 + 500.0));
    }

    #[test]
    fn a_command_whose_lines_are_samples_has_their_seconds() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("samples")).unwrap();
        let rows = "time_s,command,node,field,value\n\
            0.5,probe,a,seen,7.0\n1.0,probe,a,seen,10.0\n3.0,probe,a,seen,50.0\n3.0,probe,a,lost,9.0\n";
        fs::write(folder.path().join("samples/json.csv"), rows).unwrap();
        let metric = |field: &str| Metric {
            name: field.to_owned(),
            source: Source::Output { command: "probe".to_owned(), field: Some(field.to_owned()) },
            take: Take::Rate,
            unit: String::new(),
        };
        let json = ["probe".to_owned()];
        let recorded = Recorded { json: &json, ..nothing_but(folder.path()) };
        let found =
            measure(&[metric("seen"), metric("lost"), metric("other")], 0.6..=2.0, &recorded).unwrap();
        assert_eq!(found["seen"].value, Some(20.0));
        assert_eq!(found["lost"].why.as_deref(), Some(TOO_FEW));
        assert_eq!(found["other"].why.as_deref(), Some(NONE));
    }
}
