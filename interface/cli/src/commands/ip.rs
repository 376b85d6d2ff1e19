//! `plait ip …`: `ip ov`, the words of ovstack's authors, `ip madcap`, those of the overlay FIB's, and `ip lb`, iplb's.

use super::madcap::{self, Answered, Asked};
use crate::arguments::{DEFAULT, IpArguments, OVERLAY_AGENT, PATHS_AGENT, name};
use crate::output::{Failure, Output};
use plait_dataplane_overlay::Client;
use plait_dataplane_overlay::agent::Places;
use plait_dataplane_overlay::protocol::Request;
use plait_model_overlay::{Application, Operation, Weight};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::str::FromStr;

pub fn ip(arguments: &IpArguments, output: &Output) -> Result<ExitCode, Failure> {
    let words: Vec<&str> = arguments.words.iter().map(String::as_str).collect();
    let agent = agent(arguments.agent.clone(), words.first() == Some(&"lb"))?;
    let connect = || Client::connect(&Places::of(&agent).socket());
    let reply = match words.as_slice() {
        ["madcap", words @ ..] => {
            let asked = Asked::read(words).map_err(Failure::usage)?;
            match asked.perform(&mut connect()?)? {
                Answered::Reply(reply) => reply,
                Answered::Configuration(configuration) => {
                    output.result(&serde_json::json!(configuration), || configuration.to_string())?;
                    return Ok(ExitCode::SUCCESS);
                }
            }
        }
        ["lb", words @ ..] => {
            let request = super::paths::request(words).map_err(Failure::usage)?;
            return super::paths::ask(&agent, request, 0, output);
        }
        _ => {
            let operation = operation(&words).map_err(Failure::usage)?;
            connect()?.ask(Request::Operation(operation))?
        }
    };
    super::overlay::say(reply, output)?;
    Ok(ExitCode::SUCCESS)
}

/// Which agent is spoken to: as it is said, or as the variable for agents of its kind says.
fn agent(said: Option<String>, is_for_paths: bool) -> Result<String, Failure> {
    let variable = if is_for_paths { PATHS_AGENT } else { OVERLAY_AGENT };
    match (said, std::env::var(variable)) {
        (Some(said), _) => Ok(said),
        (None, Ok(said)) => {
            name(&said).map_err(|why| Failure::usage(format!("{variable}: {said:?} is no name: {why}")))
        }
        (None, Err(_)) => Ok(DEFAULT.to_owned()),
    }
}

/// How it is written.
const FORMS: &str = "write `ip ov route add|del app A to X via Y`, `ip ov add|del locator app A addr L [weight W]`, \
    `ip ov add|del node app A id N addr L [weight W]`, `ip ov set id app A id N`, or `ip ov show id|locator|node|route [app A]`";

/// The operation that words ask for.
fn operation(words: &[&str]) -> Result<Operation, String> {
    let [family, verb, object, rest @ ..] = words else { return Err(FORMS.to_owned()) };
    if *family != "ov" {
        return Err(format!("`ip {family}` is none of Plait's: {FORMS}; or {}; or `ip lb`", madcap::FORMS));
    }
    // `route add` and `add route` are the same.
    let (verb, object) = match *verb {
        "route" | "locator" | "node" | "id" => (*object, *verb),
        verb => (verb, *object),
    };
    let said = pairs(rest, &["app", "id", "addr", "weight", "to", "via"], FORMS)?;
    let application = match said.get("app") {
        Some(app) => app.parse().map_err(|error| format!("{error}"))?,
        None => Application::ETHERNET,
    };
    let weight = || said.get("weight").map_or(Ok(Weight::default()), |text| read(text));
    let get = |key: &str| said.get(key).copied().ok_or_else(|| format!("`{key}` is missing: {FORMS}"));
    Ok(match (verb, object) {
        ("add", "locator") => {
            Operation::LocatorAdd { application, locator: read(get("addr")?)?, weight: weight()? }
        }
        ("del" | "delete", "locator") => Operation::LocatorDel { application, locator: read(get("addr")?)? },
        ("show", "locator") => Operation::LocatorGet { application },
        ("add" | "set", "node") => {
            let (node, locator) = (read(get("id")?)?, read(get("addr")?)?);
            Operation::NodeAdd { application, node, locator, weight: weight()? }
        }
        ("del" | "delete", "node") => {
            Operation::NodeDel { application, node: read(get("id")?)?, locator: read(get("addr")?)? }
        }
        ("show", "node") => Operation::NodeGet { application },
        ("set", "id") => Operation::NodeIdSet { application, node: read(get("id")?)? },
        ("set", "locator") => {
            Operation::LocatorAdd { application, locator: read(get("addr")?)?, weight: weight()? }
        }
        ("show", "id") => Operation::NodeIdGet { application },
        ("add", "route") => {
            Operation::RouteAdd { application, destination: read(get("to")?)?, next_hop: read(get("via")?)? }
        }
        ("del" | "delete", "route") => {
            Operation::RouteDel { application, destination: read(get("to")?)?, next_hop: read(get("via")?)? }
        }
        ("show", "route") => Operation::RouteGet { application },
        _ => return Err(format!("`{verb} {object}` is no operation: {FORMS}")),
    })
}

/// Keywords and what follows them.
pub(super) fn pairs<'w>(
    words: &[&'w str],
    keys: &[&str],
    forms: &str,
) -> Result<BTreeMap<&'w str, &'w str>, String> {
    let mut said = BTreeMap::new();
    for pair in words.chunks(2) {
        let [key, value] = pair else { return Err(format!("`{}` has no value: {forms}", pair[0])) };
        if !keys.contains(key) {
            return Err(format!("`{key}` is no word here: {forms}"));
        }
        if said.insert(*key, *value).is_some() {
            return Err(format!("`{key}` is said twice"));
        }
    }
    Ok(said)
}

pub(super) fn read<T: FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| format!("`{text}`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Operation, String> {
        operation(&line.split(' ').collect::<Vec<_>>())
    }

    #[test]
    fn the_papers_words_are_understood() {
        let application = Application(7);
        let (destination, next_hop) = ("10.0.0.3".parse().unwrap(), "10.0.0.2".parse().unwrap());
        assert_eq!(
            of("ov route add app 7 to 10.0.0.3 via 10.0.0.2"),
            Ok(Operation::RouteAdd { application, destination, next_hop })
        );
        assert_eq!(of("ov route show"), Ok(Operation::RouteGet { application }));
        assert_eq!(
            of("ov add node app ipv4 id 10.0.0.2 addr 192.0.2.2 weight 9"),
            Ok(Operation::NodeAdd {
                application: Application::IPV4,
                node: next_hop,
                locator: "192.0.2.2".parse().unwrap(),
                weight: Weight::try_from(9).unwrap()
            })
        );
        assert_eq!(
            of("ov set id app 7 id 10.0.0.2"),
            Ok(Operation::NodeIdSet { application, node: next_hop })
        );
    }

    #[test]
    fn what_makes_no_sense_is_told_with_what_does() {
        for (line, word) in [
            ("ov route add app 7 to 10.0.0.3", "`via` is missing"),
            ("ov route add app 7 to 10.0.0.3 via", "`via` has no value"),
            ("ov route add to x via 10.0.0.2", "`x`"),
            ("ov route fly", "`fly route` is no operation"),
            ("addr show dev", "none of Plait's"),
            ("ov", "write `ip ov"),
        ] {
            let error = of(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
        }
    }
}
