//! `plait ip madcap …`: the words of the overlay FIB's author.

use plait_dataplane_overlay::madcap::{Configuration, Madcap, Row};
use plait_dataplane_overlay::protocol::Reply;
use plait_dataplane_overlay::{Client, Identifier};
use std::io;
use std::net::Ipv4Addr;

/// How it is written.
pub const FORMS: &str = "write `ip madcap set dev D [offset BYTES[.BITS] length BITS] src ADDRESS [proto udp|gre|ipip]`, \
    `ip madcap add|del [id DIGITS] dst ADDRESS dev D`, `ip madcap show config dev D`, or `ip madcap show dev D`";

/// What is asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Asked {
    Set { device: String, row: Row, source: Ipv4Addr },
    Add { device: String, identifier: Option<Identifier>, destination: Ipv4Addr },
    Del { device: String, identifier: Option<Identifier> },
    ShowConfig { device: String },
    Show { device: String },
}

impl Asked {
    /// Reads the words behind `ip madcap`.
    pub fn read(words: &[&str]) -> Result<Self, String> {
        let (verb, rest) = match words {
            ["show", "config", rest @ ..] => ("show config", rest),
            [verb, rest @ ..] => (*verb, rest),
            [] => return Err(FORMS.to_owned()),
        };
        let keys: &[&str] = match verb {
            "set" => &["dev", "offset", "length", "src", "proto"],
            "add" | "del" | "delete" => &["dev", "id", "dst"],
            "show" | "show config" => &["dev"],
            _ => return Err(format!("`{verb}` is no operation: {FORMS}")),
        };
        let said = super::ip::pairs(rest, keys, FORMS)?;
        let get = |key: &str| said.get(key).copied().ok_or_else(|| format!("`{key}` is missing: {FORMS}"));
        let device = get("dev")?.to_owned();
        let identifier = || match said.get("id") {
            None => Ok(None),
            Some(id) => match super::ip::read(id)? {
                bits @ Identifier::Bits(_) => Ok(Some(bits)),
                other => {
                    Err(format!("`{other}` is no identifier here: write its bits as hexadecimal digits"))
                }
            },
        };
        Ok(match verb {
            "set" => {
                let bits = match (said.get("offset"), said.get("length")) {
                    (None | Some(&"none"), None | Some(&"none")) => None,
                    (Some(offset), Some(length)) => Some((offset.parse()?, super::ip::read(length)?)),
                    _ => return Err(format!("`offset` and `length` go together: {FORMS}")),
                };
                let protocol = said.get("proto").map(|word| word.parse()).transpose()?;
                let row = Row::of(protocol, bits)?;
                Self::Set { device, row, source: super::ip::read(get("src")?)? }
            }
            "add" => {
                Self::Add { device, identifier: identifier()?, destination: super::ip::read(get("dst")?)? }
            }
            "show config" => Self::ShowConfig { device },
            "show" => Self::Show { device },
            _ => Self::Del { device, identifier: identifier()? },
        })
    }

    /// Does it.
    pub fn perform(self, agent: &mut Client) -> io::Result<Answered> {
        let mut madcap = Madcap::new(agent);
        Ok(match self {
            Self::Set { device, row, source } => Answered::Reply(madcap.set(&device, row, source)?),
            Self::Add { device, identifier, destination } => {
                Answered::Reply(madcap.insert(&device, identifier, destination)?)
            }
            Self::Del { device, identifier } => Answered::Reply(madcap.delete(&device, identifier)?),
            Self::Show { device } => Answered::Reply(Reply::Fib(madcap.entries(&device)?)),
            Self::ShowConfig { device } => Answered::Configuration(madcap.configuration(&device)?),
        })
    }
}

/// What is answered.
#[derive(Debug)]
pub enum Answered {
    Reply(Reply),
    Configuration(Configuration),
}

#[cfg(test)]
mod tests {
    use super::*;
    use plait_dataplane_overlay::madcap::Protocol;

    fn of(line: &str) -> Result<Asked, String> {
        Asked::read(&line.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn the_thesiss_words_are_understood() {
        let device = || "eth0".to_owned();
        let set = |protocol, bits: Option<(&str, u8)>| {
            let row = Row::of(Some(protocol), bits.map(|(word, length)| (word.parse().unwrap(), length)))?;
            Ok(Asked::Set { device: device(), row, source: Ipv4Addr::new(172, 16, 0, 1) })
        };
        // How the thesis writes a row of its Table 4.1, and the others in its words.
        for (words, row) in [
            ("offset 16 length 48 src 172.16.0.1 proto udp", set(Protocol::Udp, Some(("16", 48)))),
            ("offset 8 length 48 src 172.16.0.1 proto gre", set(Protocol::Gre, Some(("8", 48)))),
            ("offset 4 length 20 src 172.16.0.1 proto gre", set(Protocol::Gre, Some(("4", 20)))),
            ("offset 20 length 32 src 172.16.0.1 proto udp", set(Protocol::Udp, Some(("20", 32)))),
            ("offset 16.4 length 13 src 172.16.0.1 proto udp", set(Protocol::Udp, Some(("16.4", 13)))),
            ("src 172.16.0.1", set(Protocol::Gre, None)),
            ("offset none length none src 172.16.0.1 proto ipip", set(Protocol::Ipip, None)),
        ] {
            assert_eq!(of(&format!("set dev eth0 {words}")), row, "{words}");
        }
        assert_eq!(of("show config dev eth0"), Ok(Asked::ShowConfig { device: device() }));
        let identifier: Identifier = "3c15c2c4f588".parse().unwrap();
        assert_eq!(identifier.to_string(), "3c15c2c4f588");
        let destination = Ipv4Addr::new(10, 0, 0, 1);
        assert_eq!(
            of("add id 3c15c2c4f588 dst 10.0.0.1 dev eth0"),
            Ok(Asked::Add { device: device(), identifier: Some(identifier), destination })
        );
        assert_eq!(
            of("del id 3c15c2c4f588 dst 10.0.0.1 dev eth0"),
            Ok(Asked::Del { device: device(), identifier: Some(identifier) })
        );
    }

    #[test]
    fn what_makes_no_sense_is_told_with_what_does() {
        for (line, word) in [
            ("fly dev eth0", "no operation"),
            ("set dev eth0 offset 16 length 48", "`src` is missing"),
            ("set dev eth0 offset 16 length 48 src 10.0.0.1 proto ipip", "nothing stands between"),
            ("set dev eth0 offset 16 length 48 src 10.0.0.1 proto icmp", "`udp`, `gre` or `ipip`"),
            ("set dev eth0 offset 12 length 48 src 10.0.0.1 proto udp", "begin at 16"),
            ("set dev eth0 offset 12 src 10.0.0.1", "go together"),
            ("set dev eth0 offset 16.9 length 48 src 10.0.0.1", "such as `16.4`"),
            ("add id 10.0.0.0/8 dst 10.0.0.1 dev eth0", "hexadecimal"),
            ("add id xyz dst 10.0.0.1 dev eth0", "`xyz`"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
