//! Traffic on a testbed: `plait traffic share` in every node that sends or receives.

use super::error;
use crate::section::Traffic;
use crate::world::{FlowLogger, FlowRow, Stop, WorldError};
use plait_dataplane_traffic::{Share, Source, Told};
use plait_testbed_runtime::control::{ExecRequest, Exited, Running, Testbed};
use plait_testbed_runtime::kernel::time::monotonic_nanos;
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Read, Seek, Write};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Choice: for how long a program of a node may not run once it is told when flows begin.
const LEAD: Duration = Duration::from_millis(20);
/// The same for each node more: one after the other is told.
const LEAD_PER_NODE: Duration = Duration::from_micros(100);
/// Choice: how long a program may take until it listens, and to tell what came, on a machine that is at work.
const PATIENCE: Duration = Duration::from_secs(30);
/// How late it is heard, at most, that a run is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Choice: how long sinks listen after the last source's end, which is more than links delay.
const DRAIN: Duration = Duration::from_secs(1);

/// The programs of a run, and the flows that they carry.
pub(super) struct Flows {
    rows: Vec<FlowRow>,
    programs: Vec<Program>,
    /// When the last source is through.
    last: u64,
}

/// What carries a node's share.
struct Program {
    node: String,
    running: Running,
    /// What it has as standard output: it says that it listens, hears when to begin, and tells what came.
    channel: BufReader<UnixStream>,
    err: File,
}

impl Flows {
    /// Starts a program on each node that takes part. Once all of them listen, flows begin: returns when.
    pub fn start(
        testbed: &Testbed,
        traffic: &[Traffic],
        addresses: &HashMap<String, IpAddr>,
        stop: &Stop,
    ) -> Result<(Self, Duration), WorldError> {
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
                let instants = [traffic.start, traffic.stop].map(|time| time.as_nanos());
                let source = Source::of(number, flow, to, instants);
                shares.entry(names[0]).or_default().sends.push(source);
                let sink = shares.entry(names[1]).or_default();
                if !sink.receives.contains(&flow.destination_port) {
                    sink.receives.push(flow.destination_port);
                }
                rows.push(FlowRow::new(&traffic.name, names, [flow.source_port, flow.destination_port]));
            }
        }
        let last = traffic.iter().map(|traffic| traffic.stop.as_nanos()).max().unwrap_or_default();
        let mut programs = Vec::new();
        for (node, mut share) in shares {
            if stop.is_asked() {
                return Err(error("the run was interrupted before its traffic began"));
            }
            share.until = last.saturating_add(DRAIN.as_nanos() as u64);
            programs.push(Program::start(testbed, node, &share)?);
        }
        programs.iter_mut().try_for_each(|program| program.listens(stop))?;
        let lead = LEAD + LEAD_PER_NODE * u32::try_from(programs.len()).unwrap_or(u32::MAX);
        let begin = Duration::from_nanos(monotonic_nanos()) + lead;
        programs.iter_mut().try_for_each(|program| program.begin(begin))?;
        let last = u64::try_from(begin.as_nanos()).unwrap_or(u64::MAX).saturating_add(last);
        Ok((Self { rows, programs, last }, begin))
    }
}

impl Program {
    /// Starts this very program on a node: it is handed over as an open file, because a node need not see where it stands.
    fn start(testbed: &Testbed, node: &str, share: &Share) -> Result<Self, WorldError> {
        let own = std::fs::read_link("/proc/self/exe").map_err(error)?;
        // An experiment of the library is run by another program, which has no such command.
        if own
            .file_name()
            .is_none_or(|name| name != "plait" && !name.as_encoded_bytes().starts_with(b"plait-"))
        {
            return Err(error("`traffic:` is carried by `plait traffic`: run the file by `plait run`"));
        }
        let own = File::open("/proc/self/exe").map_err(error)?;
        let (channel, out) = UnixStream::pair().map_err(error)?;
        let err = scratch().map_err(error)?;
        let share_text = serde_json::to_string(share).map_err(error)?;
        channel.set_read_timeout(Some(LOOK)).map_err(error)?;
        // A kernel takes words of 128 KiB, and more of them (MAX_ARG_STRLEN).
        let pieces =
            share_text.as_bytes().chunks(100_000).map(|piece| String::from_utf8_lossy(piece).into_owned());
        let command =
            ["/proc/self/fd/0", "traffic", "share"].map(str::to_owned).into_iter().chain(pieces).collect();
        let request = ExecRequest {
            node: node.to_owned(),
            command,
            // It ends with the line to it, and may have to wait until somebody reads what it tells.
            timeout_ms: None,
            ..ExecRequest::default()
        };
        let running = testbed.exec(request, [own.as_fd(), out.as_fd(), err.as_fd()]);
        let running = running.map_err(|why| error(format!("traffic of {node}: {why}")))?;
        Ok(Self { node: node.to_owned(), running, channel: BufReader::new(channel), err })
    }

    /// Waits until it has all its ports.
    fn listens(&mut self, stop: &Stop) -> Result<(), WorldError> {
        match &*self.line(stop)? {
            "ready" => Ok(()),
            other => Err(error(format!("traffic of {}: {other}", self.node))),
        }
    }

    /// Says when flows begin.
    fn begin(&mut self, begin: Duration) -> Result<(), WorldError> {
        let said = writeln!(self.channel.get_mut(), "{}", begin.as_nanos());
        said.or_else(|_| self.failed())
    }

    /// What became of its share.
    fn told(&mut self) -> Result<Told, WorldError> {
        // It ends soon: what it has is worth having of a run that was interrupted, too.
        let line = self.line(&Stop::default())?;
        match self.running.wait().map_err(error)? {
            Exited::Code(0) => serde_json::from_str(&line).map_err(error),
            _ => self.failed(),
        }
    }

    /// The next line that it says.
    fn line(&mut self, stop: &Stop) -> Result<String, WorldError> {
        let (mut line, began) = (Vec::new(), Instant::now());
        let silence = loop {
            match self.channel.read_until(b'\n', &mut line) {
                Ok(_) if line.ends_with(b"\n") => {
                    return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
                }
                Err(why) if why.kind() != ErrorKind::WouldBlock => return self.failed(),
                Err(_) if stop.is_asked() => break "the run was interrupted before it listened",
                Err(_) if began.elapsed() < PATIENCE => {}
                Err(_) => {
                    break "nothing is heard of its program: run again while this machine does less, or with fewer nodes";
                }
                Ok(_) => return self.failed(),
            }
        };
        Err(error(format!("traffic of {}: {silence}", self.node)))
    }

    /// Why it ended before its time.
    fn failed<T>(&mut self) -> Result<T, WorldError> {
        let mut text = String::new();
        self.err.rewind().and_then(|()| self.err.read_to_string(&mut text)).map_err(error)?;
        let why = match text.trim() {
            "" => "it ended before its time",
            why => why,
        };
        Err(error(format!("traffic of {}: {why}", self.node)))
    }
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
        for program in &mut self.programs {
            let told = program.told()?;
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
