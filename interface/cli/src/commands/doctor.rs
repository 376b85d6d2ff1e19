//! `plait doctor`.

use crate::output::{Failure, Output, table};
use plait_dataplane_overlay::{Hook, needs};
use plait_testbed_runtime::doctor::{Finding, attempt_in_private, examine, finding};
use serde_json::json;
use std::process::ExitCode;

pub fn doctor(output: &Output) -> Result<ExitCode, Failure> {
    let mut findings = examine();
    findings.extend(overlays());
    let fine = findings.iter().all(|finding| finding.there || !finding.needed);
    output.result(&json!(findings), || {
        let mut rows = Vec::new();
        for finding in &findings {
            let sign = match (finding.there, finding.needed) {
                (true, _) => "yes",
                (false, true) => "NO",
                (false, false) => "no",
            };
            rows.push(vec![
                sign.to_owned(),
                finding.what.clone(),
                finding.detail.clone(),
                finding.follows.clone(),
            ]);
        }
        table(&rows)
    })?;
    Ok(if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What overlays need.
fn overlays() -> Vec<Finding> {
    let try_hook = |hook| attempt_in_private(|| needs::hook(hook));
    let tcx = try_hook(Hook::Tcx);
    let clsact = tcx.as_ref().err().map(|_| try_hook(Hook::Clsact));
    // What is on a device was loaded.
    let on_any = tcx.clone().or_else(|why| clsact.clone().unwrap_or(Err(why)));
    let mut found = vec![
        finding(
            "eBPF",
            on_any.or_else(|_| attempt_in_private(needs::programs)),
            false,
            "overlays' programs can be loaded",
            "no overlays: their programs need root and Linux 6.1",
        ),
        finding(
            "TCX",
            tcx,
            false,
            "overlays' programs stand beside those of others, in an order",
            "overlays' programs are filters of clsact, as before Linux 6.6: who deletes a device's clsact stops its overlays",
        ),
    ];
    if let Some(clsact) = clsact {
        found.push(finding(
            "clsact",
            clsact,
            false,
            "overlays' programs can be on devices",
            "no overlays: be root, and load the modules `sch_ingress` and `cls_bpf`",
        ));
    }
    found.push(finding(
        "BPF file system",
        needs::place().map(|()| "/sys/fs/bpf".to_owned()).map_err(|_| "none at /sys/fs/bpf".to_owned()),
        false,
        "overlays outlive their agents",
        "no overlays: `mount -t bpf bpf /sys/fs/bpf`, or name a folder of one (`plait overlay agent --pins`)",
    ));
    found.push(finding(
        "VXLAN devices",
        attempt_in_private(needs::device),
        false,
        "overlays can have devices",
        "no overlays: load the module `vxlan` of Linux 5.18 or newer, which filters by VNI",
    ));
    found.push(finding(
        "veth devices",
        attempt_in_private(needs::segmenter),
        false,
        "overlays can cut superpackets of UDP, and those that a relay sends on in a tunnel of another kind",
        "superpackets of UDP are lost, and those of which a relay changes the kind of their tunnel: load the module `veth`",
    ));
    found.push(finding(
        "XDP",
        attempt_in_private(needs::driver),
        false,
        "overlays can relay in the drivers of devices that let them (`plait overlay agent --xdp`)",
        "no `--xdp`, and the kernel relays: be root, on Linux 5.9 or newer, whose veths run XDP programs",
    ));
    found.push(finding(
        "XDP exits",
        needs::exits().map(|()| "ok".to_owned()).map_err(|why| why.to_string()),
        false,
        "overlays relay in drivers by one device to another",
        "`--xdp` relays what leaves by the device that it came by, and the kernel all else: Linux 6.3 or newer",
    ));
    found.push(finding(
        "other families",
        needs::families().map(|()| "ok".to_owned()).map_err(|why| why.to_string()),
        false,
        "superpackets stay whole where a relay sends on over the other family of IP",
        "superpackets are lost where a relay sends on over the other family of IP, and TCP goes on by segments: Linux 6.3 or newer",
    ));
    found.push(finding(
        "tracepoints",
        attempt_in_private(plait_dataplane_profile::needs),
        false,
        "`plait overlay profile` says what sending costs",
        "no `plait overlay profile`: be root, on a kernel with BTF (`/sys/kernel/btf/vmlinux`) and tracepoints of system calls",
    ));
    found.push(finding(
        "firewall programs",
        needs::since((6, 4)).map(|()| "ok".to_owned()).map_err(|why| why.to_string()),
        false,
        "`plait overlay profile` tells the socket's stage from the inner stack's, and the tunnel's from the outer stack's",
        "`plait overlay profile` has `socket` within `inner` and `outer` within `tunnel`: Linux 6.4 or newer",
    ));
    found
}
