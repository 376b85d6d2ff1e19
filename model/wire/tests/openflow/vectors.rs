//! os_ken's messages, which `setup/vectors` fetches: each comes out as it went in, and means what os_ken says it means.

use crate::meaning;
use plait_model_wire::openflow::{Message, chop};
use serde_json::{Map, Value};
use std::env;
use std::fs;
use std::path::PathBuf;

/// A message of os_ken's.
pub struct Vector {
    pub name: String,
    pub bytes: Vec<u8>,
    /// What os_ken says of it.
    said: Value,
}

/// All of 1.0 and 1.3, if they were fetched.
pub fn files() -> Option<Vec<Vector>> {
    let root = PathBuf::from(env::var_os("HOME")?).join(".cache/plait/os_ken-4.2.2");
    let mut vectors = Vec::new();
    for version in ["of10", "of13"] {
        let folder = fs::read_dir(root.join("packet_data").join(version)).ok()?;
        for path in folder.map(|entry| entry.unwrap().path()) {
            // The other ending is of an empty file, which says that 64 bytes of another are to be refused.
            if path.extension().is_some_and(|ending| ending == "packet") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let said = root.join("unit/ofproto/json").join(version).join(format!("{name}.json"));
                let said = serde_json::from_slice(&fs::read(said).unwrap()).unwrap();
                vectors.push(Vector { name, bytes: fs::read(path).unwrap(), said });
            }
        }
    }
    Some(vectors)
}

fn skipped(test: &str) {
    println!("skipped: {test}: os_ken's messages are not there: run setup/vectors");
}

#[test]
fn every_message_of_os_ken_comes_out_as_it_went_in() {
    let Some(vectors) = files() else { return skipped("every_message_of_os_ken_comes_out_as_it_went_in") };
    for Vector { name, bytes, .. } in &vectors {
        let message = Message::parse(bytes).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!(&message.emit().unwrap(), bytes, "{name}: {message:?}");
        let unknown = matches!(
            &message,
            Message::V10(message) if message.body.name().is_none()
        ) || matches!(&message, Message::V13(message) if message.body.name().is_none());
        assert!(!unknown, "{name} is of a type without a name");
    }
    let of = |version| vectors.iter().filter(|vector| vector.bytes[0] == version).count();
    assert_eq!((of(1), of(4)), (13, 104));
}

#[test]
fn every_message_of_os_ken_means_what_it_says() {
    let Some(vectors) = files() else { return skipped("every_message_of_os_ken_means_what_it_says") };
    for Vector { name, bytes, mut said } in vectors {
        let mut ours = meaning::of(&Message::parse(&bytes).unwrap());
        // Of two it takes the packet inside apart too, which is not for this room.
        if let Some(packet) = said.get_mut("OFPPacketOut").filter(|out| out["data"].is_object()) {
            packet["data"] = Value::Null;
            ours["OFPPacketOut"]["data"] = Value::Null;
        }
        assert_eq!(plain("", ours), plain("", said), "{name}");
    }
}

#[test]
fn half_a_message_of_os_ken_is_waited_for() {
    let Some(vectors) = files() else { return skipped("half_a_message_of_os_ken_is_waited_for") };
    let whole = vectors.into_iter().find(|vector| vector.name == "libofproto-OFP13-flow_mod.packet").unwrap();
    assert!(chop(&whole.bytes[..64]).unwrap().is_none());
    assert!(Message::parse(&whole.bytes[..64]).is_err());
}

/// Without what follows from the rest: lengths, types that the class's name tells, and nothings.
fn plain(class: &str, value: Value) -> Value {
    let types_matter =
        ["OFPGroupMod", "OFPGroupDescStats", "OFPErrorMsg", "OFPActionId", "OFPInstructionId", "OFPOxmId"];
    let keeps_type = types_matter.contains(&class) || class.starts_with("OFPTableFeatureProp");
    match value {
        Value::Object(map) => {
            let mut left = Map::new();
            for (key, value) in map {
                let follows =
                    ["len", "length", "match_len"].contains(&key.as_str()) || key == "type" && !keeps_type;
                if follows || value.is_null() || key == "code" && class == "OFPErrorMsg" && value == 60000 {
                    continue;
                }
                if key.starts_with("NX") && value.get("subtype").is_some() {
                    // Nicira's own actions are kept as bytes, of which the first two are the subtype.
                    left.insert("Nicira".to_owned(), value["subtype"].clone());
                } else if key == "OXMTlv" && !meaning::knows(value["field"].as_str().unwrap()) {
                    left.insert("another field".to_owned(), Value::Bool(true));
                } else {
                    let value = plain(&key, value);
                    left.insert(key, value);
                }
            }
            left.sort_keys();
            Value::Object(left)
        }
        Value::Array(all) => all.into_iter().map(|one| plain(class, one)).collect(),
        other => other,
    }
}
