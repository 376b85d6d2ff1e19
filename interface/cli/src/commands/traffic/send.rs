//! `plait traffic send`.

use super::rounded;
use crate::arguments::SendArguments;
use crate::output::{Failure, Output, table};
use crate::stop;
use plait_dataplane_traffic::{Sender, Sent, Source, frame, largest, now};
use plait_model_traffic::{Flow, Pattern, TrafficSpec};
use serde_json::{Value, json};
use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;

/// A flow to a host.
struct To<'a> {
    host: &'a str,
    address: SocketAddr,
    flow: Flow,
}

/// A sender that had nothing of a flow taken has failed.
pub fn send(arguments: &SendArguments, output: &Output) -> Result<ExitCode, Failure> {
    let flows = flows(arguments)?;
    let sources = flows.iter().enumerate().map(|(number, to)| {
        let number = u32::try_from(number).map_err(|_| Failure::usage("so many flows cannot be counted"))?;
        Ok(Source::of(number, &to.flow, to.address, [0, arguments.time.as_nanos()]))
    });
    let run = (now() ^ u64::from(std::process::id()) << 16) as u32;
    let sender = Sender::bind(run, sources.collect::<Result<_, Failure>>()?, true);
    let sender = sender.map_err(|error| match error.is_taken() {
        true => Failure::new(format!("{error}: end it, or choose others by `--source-port`")),
        false => Failure::new(error.to_string()),
    })?;
    // From here on a signal ends the sending and not the telling.
    let stop = stop::on_signals()?;
    let mut progress = output.progress("");
    let begin = now();
    let end = begin.saturating_add(arguments.time.as_nanos());
    let sent = sender.send(begin, |sent| {
        let time = seconds(now().saturating_sub(begin));
        let datagrams: u64 = sent.iter().map(|sent| sent.datagrams).sum();
        progress.line(&format!("{time:.0} s of {}, {datagrams} datagrams", arguments.time));
        !stop.is_asked()
    });
    drop(progress);
    // The last datagram of a flow leaves an interval before its end.
    let time = match stop.is_asked() {
        true => now().saturating_sub(begin),
        false => now().max(end) - begin,
    };
    let time = seconds(time.max(1));
    output.result(&value(&flows, &sent, time), || text(&flows, &sent, time))?;
    remark(&flows, &sent, time, output);
    let failed = sent.iter().any(|sent| sent.datagrams == 0 && sent.refused > 0);
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// The flows that were asked for: those of one host to all others.
fn flows(arguments: &SendArguments) -> Result<Vec<To<'_>>, Failure> {
    let asked = &arguments.flows;
    let hosts = arguments.hosts.iter().map(|host| Ok((&**host, address(host, arguments)?)));
    let hosts: Vec<(&str, SocketAddr)> = hosts.collect::<Result<_, Failure>>()?;
    for (host, address) in &hosts {
        let ip = address.ip();
        let most = largest(*address).map_err(|error| {
            Failure::new(format!(
                "no packet can be sent to {host} ({ip}): {error}; `ip route get {ip}` says more"
            ))
        })?;
        if asked.size.bytes() > u64::from(most) {
            let text = format!(
                "`--size {}` does not fit a packet to {host} ({ip}): write {most}B or less",
                asked.size
            );
            return Err(Failure::usage(text));
        }
    }
    let spec = TrafficSpec {
        flows: asked.flows,
        rates: asked.rates.into(),
        size: asked.size,
        port: asked.port,
        ..TrafficSpec::new(Pattern::OneToAll(0), arguments.rate)
    };
    let flows = spec.flows(hosts.len() + 1, asked.seed).map_err(|error| Failure::usage(error.to_string()))?;
    let first = flows.first().map_or(0, |flow| flow.source_port);
    let to = |mut flow: Flow| {
        let port = u32::from(flow.source_port - first) + u32::from(arguments.source_port);
        flow.source_port = u16::try_from(port).map_err(|_| {
            Failure::usage("so many flows need ports beyond 65535: choose a lower `--source-port`")
        })?;
        let (host, address) = hosts[flow.to - 1];
        Ok(To { host, address, flow })
    };
    flows.into_iter().map(to).collect()
}

/// The first address of a host that may be taken, with the receivers' port.
fn address(host: &str, arguments: &SendArguments) -> Result<SocketAddr, Failure> {
    let mut found = (host, arguments.flows.port).to_socket_addrs().map_err(|error| {
        Failure::usage(format!("`{host}` is no host that this one knows: write a name of /etc/hosts or DNS, or an address ({error})"))
    })?;
    let wanted = |address: &SocketAddr| match (arguments.ipv4, arguments.ipv6) {
        (true, _) => address.is_ipv4(),
        (_, true) => address.is_ipv6(),
        _ => true,
    };
    let family = if arguments.ipv4 { "IPv4" } else { "IPv6" };
    found
        .find(wanted)
        .ok_or_else(|| Failure::usage(format!("`{host}` has no address of {family}: leave the option out")))
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

/// Bits per second of frames.
fn rate(to: &To<'_>, sent: &Sent, time: f64) -> f64 {
    sent.datagrams as f64 * frame(to.flow.size, &to.address).bytes() as f64 * 8.0 / time
}

fn value(flows: &[To<'_>], sent: &[Sent], time: f64) -> Value {
    let rows = flows.iter().zip(sent).enumerate().map(|(number, (to, sent))| {
        json!({
            "flow": number,
            "host": to.host,
            "to": to.address.ip(),
            "source_port": to.flow.source_port,
            "destination_port": to.flow.destination_port,
            "asked_bits_per_second": to.flow.rate.bits_per_second(),
            "sent": sent.datagrams,
            "bytes": sent.datagrams * to.flow.size.bytes(),
            "refused": sent.refused,
            "bits_per_second": rate(to, sent, time),
        })
    });
    json!({ "seconds": time, "flows": rows.collect::<Vec<_>>() })
}

fn text(flows: &[To<'_>], sent: &[Sent], time: f64) -> String {
    let head = ["TO", "ADDRESS", "PORTS", "ASKED", "RATE", "SENT", "BYTES", "REFUSED"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(flows.iter().zip(sent).map(|(to, sent)| {
        vec![
            to.host.to_owned(),
            to.address.ip().to_string(),
            format!("{} > {}", to.flow.source_port, to.flow.destination_port),
            rounded(to.flow.rate.bits_per_second() as f64).to_string(),
            rounded(rate(to, sent, time)).to_string(),
            sent.datagrams.to_string(),
            (sent.datagrams * to.flow.size.bytes()).to_string(),
            sent.refused.to_string(),
        ]
    }));
    table(&rows)
}

/// What all flows came to, and why some did not leave.
fn remark(flows: &[To<'_>], sent: &[Sent], time: f64, output: &Output) {
    let datagrams: u64 = sent.iter().map(|sent| sent.datagrams).sum();
    let carried: f64 = flows.iter().zip(sent).map(|(to, sent)| rate(to, sent, time)).sum();
    let asked: u64 = flows.iter().map(|to| to.flow.rate.bits_per_second()).sum();
    output.note(&format!(
        "{datagrams} datagrams in {time:.2} s: {} of {}",
        rounded(carried),
        rounded(asked as f64)
    ));
    let refused: u64 = sent.iter().map(|sent| sent.refused).sum();
    if let Some(why) = sent.iter().find_map(|sent| sent.why) {
        let why = match io::Error::from_raw_os_error(why) {
            full if full.kind() == io::ErrorKind::WouldBlock => {
                "its device sends more slowly than this".to_owned()
            }
            other => other.to_string(),
        };
        output.note(&format!("{refused} were refused by the kernel, one of them since {why}"));
    }
}
