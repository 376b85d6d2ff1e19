//! Values of a controller's options that clap does not know: weights, who polls, how much is read.

use plait_dataplane_openflow::Idleness;
use plait_model_quantity::ByteCount;

/// The greatest weight. Choice: with more, one switch's turn would be longer than a round of all others.
const HEAVIEST: u32 = 1000;
/// What may be read at once: a header at least, and no more than a worker may hold for it.
const READS: std::ops::RangeInclusive<u64> = 64..=16 << 20;

/// A switch's weight: `DATAPATH=N`.
#[derive(Clone, Copy)]
pub struct Weight {
    pub datapath: u64,
    pub weight: u32,
}

pub fn weight(text: &str) -> Result<Weight, String> {
    let wanted =
        || format!("a datapath's digits and a weight of 1 to {HEAVIEST} are wanted: 0000000000000001=4");
    let (datapath, weight) = text.split_once('=').ok_or_else(wanted)?;
    let digits = datapath.trim_start_matches("0x").replace(':', "");
    let datapath = u64::from_str_radix(&digits, 16).map_err(|_| wanted())?;
    let weight = weight.parse().ok().filter(|weight| (1..=HEAVIEST).contains(weight)).ok_or_else(wanted)?;
    Ok(Weight { datapath, weight })
}

/// Who asks where something waits: `one`, `one:ROUNDS`, `all`, `none`.
pub fn poll(text: &str) -> Result<Idleness, String> {
    let wanted =
        || "one, one:ROUNDS, one:1/TIMES, all or none is wanted; ROUNDS and TIMES are 1 or more".to_owned();
    let number = |text: &str| text.parse().ok().filter(|number| *number > 0).ok_or_else(wanted);
    match (text, text.split_once(':')) {
        ("one", _) => Ok(Idleness::OnePoller(1)),
        ("all", _) => Ok(Idleness::AllPoll),
        ("none", _) => Ok(Idleness::Unknown),
        (_, Some(("one", rate))) => match rate.strip_prefix("1/") {
            Some(times) => number(times).map(Idleness::EagerPoller),
            None => number(rate).map(Idleness::OnePoller),
        },
        _ => Err(wanted()),
    }
}

pub fn read(text: &str) -> Result<ByteCount, String> {
    let bytes: ByteCount = text.parse().map_err(|why| format!("{why}"))?;
    if !READS.contains(&bytes.bytes()) {
        let [least, most] = [READS.start(), READS.end()].map(|bytes| ByteCount::new(*bytes));
        return Err(format!("{least} to {most} are read at once"));
    }
    Ok(bytes)
}
