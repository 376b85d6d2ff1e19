//! Open vSwitch's own tool reads what is written here, and says the same of it field by field.

use crate::{samples, words};
use plait_model_wire::openflow::{Message, v10, v13};
use std::io::Write;
use std::process::{Command, Stdio};

/// What `ovs-ofctl` says of some messages, one text each; nothing if it is not installed. Their transactions must differ.
pub fn say(messages: &[Vec<u8>]) -> Option<Vec<String>> {
    let mut ofctl = Command::new("ovs-ofctl");
    ofctl.args(["ofp-parse", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = ofctl.spawn().ok()?;
    let (mut into, bytes) = (running.stdin.take().unwrap(), messages.concat());
    let writes = std::thread::spawn(move || into.write_all(&bytes).unwrap());
    let done = running.wait_with_output().unwrap();
    writes.join().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    // Each begins with a line that tells its transaction.
    let begins = |line: &str, at: usize| {
        let frame = messages.get(at).map(|bytes| u32::from_be_bytes(bytes[4..8].try_into().unwrap()));
        frame.is_some_and(|xid| line.contains(&format!("(xid={xid:#x}):")))
    };
    let mut said: Vec<String> = Vec::new();
    for line in text.lines() {
        if begins(line, said.len()) {
            said.push(String::new());
        }
        let last = said.last_mut().unwrap_or_else(|| panic!("it begins with {line}"));
        *last += &format!("{line}\n");
    }
    assert_eq!(said.len(), messages.len(), "{text}");
    Some(said)
}

/// What a message says in the words of Open vSwitch, beside what that says: without the packet inside, which it takes apart.
pub fn assert_same(message: &Message, said: &str) {
    let Some(ours) = words::of(message) else { panic!("no words for {message:?}, of which it says {said}") };
    let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
    let has_packet = ["OFPT_PACKET_IN", "OFPT_PACKET_OUT"].iter().any(|name| said.starts_with(name));
    // What an error quotes was refused because it cannot be read.
    let is_refusal = said.starts_with("OFPT_ERROR") && said.contains("***decode error");
    let theirs = if has_packet || is_refusal { first(said) } else { said.to_owned() };
    let ours = if is_refusal { first(&ours) } else { ours };
    assert_eq!(words::on_a_line(&ours), words::on_a_line(&theirs), "{message:?}");
}

#[test]
fn open_vswitch_reads_what_is_written() {
    let known: Vec<_> = samples::all().into_iter().filter(|message| words::of(message).is_some()).collect();
    let bytes: Vec<_> = known.iter().map(|message| message.emit().unwrap()).collect();
    let Some(said) = say(&bytes) else {
        println!("skipped: open_vswitch_reads_what_is_written: openvswitch-switch is not installed");
        return;
    };
    known.iter().zip(&said).for_each(|(message, said)| assert_same(message, said));
    let of = |version| bytes.iter().filter(|bytes| bytes[0] == version).count();
    assert!(of(1) >= 30 && of(4) >= 66, "{} and {}", of(1), of(4));
}

#[test]
fn open_vswitch_has_the_same_names_for_errors() {
    let refused = |version, barrier| vec![version, barrier, 0, 8, 0, 0, 0, 0];
    let old = v10::Reason::NAMED.iter().enumerate().map(|(xid, (reason, name))| {
        let body = v10::Body::Error(v10::Error { reason: *reason, data: refused(1, 18) });
        (v10::Message { xid: 1 + xid as u32, body }.emit().unwrap(), *name)
    });
    let new = v13::Reason::NAMED.iter().enumerate().map(|(xid, (reason, name))| {
        let body = v13::Body::Error(v13::Error { reason: *reason, data: refused(4, 20) });
        (v13::Message { xid: 1001 + xid as u32, body }.emit().unwrap(), *name)
    });
    let (bytes, names): (Vec<_>, Vec<_>) = old.chain(new).unzip();
    let Some(said) = say(&bytes) else {
        println!("skipped: open_vswitch_has_the_same_names_for_errors: openvswitch-switch is not installed");
        return;
    };
    // It has one name for what the versions call differently.
    let elsewhere = [
        ("OFPFMFC_ALL_TABLES_FULL", "OFPFMFC_TABLE_FULL"),
        ("OFPBRC_BAD_MULTIPART", "OFPBRC_BAD_STAT"),
        ("OFPBRC_BAD_EXPERIMENTER", "OFPBRC_BAD_VENDOR"),
        ("OFPBRC_BAD_EXP_TYPE", "OFPBRC_BAD_SUBTYPE"),
        ("OFPBRC_IS_SLAVE", "OFPBRC_IS_SECONDARY"),
        ("OFPBAC_BAD_EXPERIMENTER", "OFPBAC_BAD_VENDOR"),
        ("OFPBAC_BAD_EXP_TYPE", "OFPBAC_BAD_VENDOR_TYPE"),
        ("OFPTFFC_BAD_TYPE", "OFPBPC_BAD_TYPE"),
        ("OFPTFFC_BAD_LEN", "OFPBPC_BAD_LEN"),
        ("OFPTFFC_BAD_ARGUMENT", "OFPBPC_BAD_VALUE"),
    ];
    let differ: Vec<_> = names
        .iter()
        .zip(&said)
        .filter_map(|(ours, said)| {
            let theirs = said.lines().next()?.rsplit(' ').next()?;
            (*ours != theirs).then_some((*ours, theirs))
        })
        .collect();
    assert_eq!(differ, elsewhere);
}
