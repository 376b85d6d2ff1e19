//! Figures of TCP connections.

use super::rows::Column;
use super::{Found, NONE, TOO_FEW};
use crate::analysis::{Take, Taken};
use crate::results::ResultsError;
use std::collections::BTreeMap;
use std::ops::{Add, RangeInclusive};
use std::path::Path;

/// Choice: a connection that moved less than this part of what its node's largest moved talks about the transfer
/// (iperf3's control connection) and is none.
const LEAST_SHARE: f64 = 0.1;

/// One end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    node: String,
    local: String,
    remote: String,
}

const END: [&str; 3] = ["node", "local", "remote"];

impl End {
    fn of(columns: &[&str]) -> Self {
        let [node, local, remote] = [0, 1, 2].map(|at| columns[at].to_owned());
        Self { node, local, remote }
    }
}

/// The value of a column over the connections that moved most of the bytes, in the seconds that count. Of a counter's growth
/// it is the sum of theirs, since each grows by itself; anything else is of all samples together.
pub(super) fn value(
    path: &Path,
    node: Option<&str>,
    column: &str,
    take: Take,
    seconds: &RangeInclusive<f64>,
) -> Result<Found, ResultsError> {
    let node = node.map(|node| ("node", node));
    let texts = node.as_slice();
    let mut sent: BTreeMap<End, f64> = BTreeMap::new();
    Column { path, name: "bytes_sent", texts, more: &END }.each(|_, bytes, end| {
        let most = sent.entry(End::of(end)).or_default();
        *most = most.max(bytes.unwrap_or_default());
    })?;
    let largest = sent.values().copied().fold(0.0, f64::max);

    // Ends of connections that are over come with others' rows when their ports are used again.
    let mut ends: BTreeMap<Option<End>, Vec<Taken>> = BTreeMap::new();
    Column { path, name: column, texts, more: &END }.each(|second, value, end| {
        let (Some(value), true) = (value, seconds.contains(&second)) else { return };
        let end = End::of(end);
        if sent[&end] < LEAST_SHARE * largest {
            return;
        }
        let each = (take == Take::Rate).then_some(end);
        let is_each = each.is_some();
        let taken = ends.entry(each).or_default();
        let begins = taken.last().and_then(Taken::last).is_none_or(|before| is_each && value < before);
        if begins {
            taken.push(take.begin());
        }
        taken.last_mut().expect("begun above").push(second, value);
    })?;
    let taken: Vec<Taken> = ends.into_values().flatten().collect();
    if taken.is_empty() {
        return Ok(Err(NONE.to_owned()));
    }
    Ok(taken.into_iter().filter_map(Taken::value).reduce(Add::add).ok_or_else(|| TOO_FEW.to_owned()))
}
