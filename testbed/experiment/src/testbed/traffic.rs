//! Traffic on a testbed: `plait traffic share` in every node that sends or receives.

use super::{error, millis};
use crate::section::Traffic;
use crate::world::{FlowLogger, FlowRow, WorldError};
use plait_dataplane_traffic::{Share, Source, Told};
use plait_testbed_runtime::control::{ExecRequest, Exited, Running, Testbed};
use plait_testbed_runtime::kernel::time::monotonic_nanos;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{Read, Seek};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::time::Duration;

/// Choice: what programs have to start on one node, so that all sinks listen when the first source sends. On a machine that is at
/// work a third of a second was too little now and then, and the first datagrams of all flows to a node were lost.
const LEAD: Duration = Duration::from_secs(1);
/// The same for each node more: one after the other is started.
const LEAD_PER_NODE: Duration = Duration::from_millis(15);
/// Choice: how long sinks listen after the last source's end, which is more than links delay.
const DRAIN: Duration = Duration::from_secs(1);

/// The programs of a run, and the flows that they carry.
pub(super) struct Flows {
    rows: Vec<FlowRow>,
    programs: Vec<(String, Running, File, File)>,
    /// When the last source is through.
    last: u64,
}

impl Flows {
    /// Starts a program on each node that takes part. Returns when flows count as begun, too.
    pub fn start(
        testbed: &Testbed,
        traffic: &[Traffic],
        addresses: &HashMap<String, IpAddr>,
    ) -> Result<(Self, Duration), WorldError> {
        let mut nodes: Vec<&String> = traffic.iter().flat_map(|traffic| &traffic.hosts).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let lead = LEAD + LEAD_PER_NODE * u32::try_from(nodes.len()).unwrap_or(u32::MAX);
        let begin = Duration::from_nanos(monotonic_nanos()) + lead;
        let at = |time: Duration| u64::try_from((begin + time).as_nanos()).unwrap_or(u64::MAX);
        let mut shares: BTreeMap<&str, Share> = BTreeMap::new();
        let mut rows = Vec::new();
        for traffic in traffic {
            for flow in &traffic.flows {
                let names = [flow.from, flow.to].map(|end| traffic.hosts[end].as_str());
                let to = match &traffic.over {
                    Some(over) => over.addresses.get(flow.to),
                    None => addresses.get(names[1]),
                };
                let to = *to.ok_or_else(|| error(format!("`{}` has no address to send to", names[1])))?;
                let number = u32::try_from(rows.len()).map_err(error)?;
                let to = SocketAddr::new(to, flow.destination_port);
                let instants = [traffic.start, traffic.stop].map(|time| at(time.into()));
                let source = Source::of(number, flow, to, instants);
                shares.entry(names[0]).or_default().sends.push(source);
                let sink = shares.entry(names[1]).or_default();
                if !sink.receives.contains(&flow.destination_port) {
                    sink.receives.push(flow.destination_port);
                }
                rows.push(FlowRow::new(&traffic.name, names, [flow.source_port, flow.destination_port]));
            }
        }
        let last = traffic.iter().map(|traffic| at(traffic.stop.into())).max().unwrap_or_default();
        let mut programs = Vec::new();
        for (node, mut share) in shares {
            share.until = last.saturating_add(DRAIN.as_nanos() as u64);
            programs.push(program(testbed, node, &share)?);
        }
        Ok((Self { rows, programs, last }, begin))
    }
}

/// Starts this very program on a node: it is handed over as an open file, because a node need not see where it stands.
fn program(
    testbed: &Testbed,
    node: &str,
    share: &Share,
) -> Result<(String, Running, File, File), WorldError> {
    let own = std::fs::read_link("/proc/self/exe").map_err(error)?;
    // An experiment of the library is run by another program, which has no such command.
    if own.file_name().is_none_or(|name| name != "plait" && !name.as_encoded_bytes().starts_with(b"plait-")) {
        return Err(error("`traffic:` is carried by `plait traffic`: run the file by `plait run`"));
    }
    let own = File::open("/proc/self/exe").map_err(error)?;
    let [out, err] = [(); 2].map(|()| scratch());
    let (out, err) = (out.map_err(error)?, err.map_err(error)?);
    let share_text = serde_json::to_string(share).map_err(error)?;
    let left = Duration::from_nanos(share.until.saturating_sub(monotonic_nanos())) + Duration::from_secs(10);
    // A kernel takes words of 128 KiB, and more of them (MAX_ARG_STRLEN).
    let pieces =
        share_text.as_bytes().chunks(100_000).map(|piece| String::from_utf8_lossy(piece).into_owned());
    let command =
        ["/proc/self/fd/0", "traffic", "share"].map(str::to_owned).into_iter().chain(pieces).collect();
    let request = ExecRequest {
        node: node.to_owned(),
        command,
        timeout_ms: Some(millis(left) as u64),
        ..ExecRequest::default()
    };
    let running = testbed.exec(request, [own.as_fd(), out.as_fd(), err.as_fd()]);
    let running = running.map_err(|why| error(format!("traffic of {node}: {why}")))?;
    Ok((node.to_owned(), running, out, err))
}

/// A file without a name.
fn scratch() -> std::io::Result<File> {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    Ok(rustix::fs::memfd_create("plait-traffic", flags)?.into())
}

impl FlowLogger for Flows {
    fn finish(mut self: Box<Self>) -> Result<Vec<FlowRow>, WorldError> {
        // Programs end with the lines to them, which are dropped here.
        if monotonic_nanos() < self.last {
            return Err(error("the run ended before its traffic did"));
        }
        for (node, running, out, err) in &mut self.programs {
            let ended = running.wait().map_err(error)?;
            let read = |file: &mut File| {
                let mut text = String::new();
                file.rewind().and_then(|()| file.read_to_string(&mut text)).map_err(error)?;
                Ok::<_, WorldError>(text)
            };
            if ended != Exited::Code(0) {
                return Err(error(format!("traffic of {node}: {}", read(err)?.trim())));
            }
            let told: Told = serde_json::from_str(&read(out)?).map_err(error)?;
            for (flow, sent) in told.sent {
                if let Some(row) = self.rows.get_mut(flow as usize) {
                    row.sent = sent;
                }
            }
            for (flow, seen) in told.received {
                if let Some(row) = self.rows.get_mut(flow as usize) {
                    (row.received, row.bytes, row.reordered) = (seen.datagrams, seen.bytes, seen.reordered);
                }
            }
        }
        Ok(self.rows)
    }
}
