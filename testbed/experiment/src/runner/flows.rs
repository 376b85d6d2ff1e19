//! What became of traffic: a row for each flow, and figures of each traffic.

use crate::results::{MetricValue, ResultsError, Staging};
use crate::world::FlowRow;
use std::collections::BTreeMap;

/// Writes `samples/flows.csv`, if there are flows.
pub(super) fn write(flows: &[FlowRow], staging: &Staging) -> Result<(), ResultsError> {
    if flows.is_empty() {
        return Ok(());
    }
    let path = staging.path("samples/flows.csv")?;
    let failed = |error| ResultsError::csv_write(&path, error);
    let mut writer = csv::Writer::from_path(&path).map_err(failed)?;
    for flow in flows {
        writer.serialize(flow).map_err(failed)?;
    }
    writer.flush().map_err(|error| ResultsError::write(&path, error))
}

/// Datagrams sent and received by each traffic, by `NAME_sent` and `NAME_received`. Both worlds count them alike, so two
/// runs can be compared by them.
pub(super) fn figures(flows: &[FlowRow]) -> BTreeMap<String, MetricValue> {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for flow in flows {
        let name = flow.traffic.replace(' ', "_");
        *sums.entry(format!("{name}_sent")).or_default() += flow.sent;
        *sums.entry(format!("{name}_received")).or_default() += flow.received;
    }
    let figure = |count: u64| MetricValue { value: Some(count as f64), unit: String::new(), why: None };
    sums.into_iter().map(|(name, count)| (name, figure(count))).collect()
}
