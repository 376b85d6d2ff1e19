//! Bridges, and the links they make.

use super::super::draft::{Draft, DraftLink, Way};
use super::super::hint::remedy;
use super::element::Element;
use super::nodes::{Lab, Plug};
use super::value::Factors;
use crate::diagnostic::Diagnostic;
use indexmap::IndexMap;
use plait_model_quantity::{Bandwidth, ByteCount, Probability, TimeSpan};
use serde_json::{Value, json};

/// The ports that a bridge of Linux may have.
pub(super) const MOST_PORTS: usize = 1023;

/// What an interface does to the packets that leave it.
#[derive(Default)]
pub(super) struct Shape {
    /// netem's part: delay, jitter, loss, reordering, duplication, corruption.
    netem: Way,
    /// tbf's part: the rate and what waits for it.
    tbf: Way,
    /// Whether packets meet the rate before the delay.
    tbf_first: bool,
    /// What is lost of it.
    pub loss: Option<&'static str>,
}

impl Shape {
    /// The conditions of an interface; none where it has no `link`.
    pub fn read<'a>(interface: Element<'a, '_>, factors: &Factors<'a>) -> Result<Self, Diagnostic> {
        let mut links = interface.children("link");
        let Some(link) = links.next() else { return Ok(Self::default()) };
        if let Some(second) = links.next() {
            return Err(second.fault("an interface has one `link`", "remove this one"));
        }
        let mut netem = Way::default();
        let mut tbf = Way::default();
        match link.attribute("delay") {
            Some(delay) if !delay.starts_with('$') => {
                netem.delay = Some(link.parse("delay", delay, "a time, such as 100ms")?);
            }
            _ => netem
                .others
                .extend(factors.quantity::<TimeSpan>(link, "delay")?.map(|value| ("delay", value))),
        }
        // netem lets a packet with a shorter delay overtake.
        let jitter = factors.quantity::<TimeSpan>(link, "jitter")?;
        let jitter = jitter.map(|jitter| ("jitter", json!({"spread": jitter, "overtake": true})));
        netem.others.extend(jitter);
        for key in ["loss", "reorder", "duplicate", "corrupt"] {
            let share = factors.quantity::<Probability>(link, key)?;
            netem.others.extend(share.map(|share| (key, share)));
        }
        if link.attribute("reorder").is_some() && factors.may_be_nought(link, "delay")? {
            return Err(link.fault("`reorder` lets packets skip the delay", "add a `delay` above 0"));
        }
        match link.attribute("rate") {
            Some(rate) if !rate.starts_with('$') => {
                tbf.rate = Some(link.parse("rate", rate, "a rate, such as 50Mbit")?);
            }
            _ => tbf.others.extend(factors.quantity::<Bandwidth>(link, "rate")?.map(|value| ("rate", value))),
        }
        let waits =
            [factors.quantity::<TimeSpan>(link, "latency")?, factors.quantity::<ByteCount>(link, "limit")?];
        if let [Some(_), Some(_)] = waits {
            return Err(link.fault("`latency` and `limit` exclude each other", "keep one"));
        }
        tbf.others.extend(waits.into_iter().flatten().map(|limit| ("queue", limit)));
        let burst = factors.check::<ByteCount>(link, "burst")?;
        if link.attribute("rate").is_none() && (burst.is_some() || !tbf.others.is_empty()) {
            return Err(link.fault("`burst`, `latency` and `limit` belong to a `rate`", "add `rate`"));
        }
        let tbf_first = match link.attribute("order") {
            None | Some("netem tbf") => false,
            Some("tbf netem") => true,
            Some(other) => {
                return Err(link.fault(format!("`{other}` is no order"), "write `netem tbf` or `tbf netem`"));
            }
        };
        let loss = burst.map(|_| "asks for a burst; Plait serves a rate exactly and needs none");
        Ok(Self { netem, tbf, tbf_first, loss })
    }

    /// Whether it takes two interfaces in turn.
    fn is_split(&self) -> bool {
        self.tbf_first && self.netem != Way::default() && self.tbf != Way::default()
    }

    /// Both parts on one link, whose engine delays first.
    fn whole(&self) -> Way {
        let others = self.tbf.others.iter().chain(&self.netem.others).cloned().collect();
        Way { rate: self.tbf.rate, delay: self.netem.delay, others }
    }

    /// What packets meet first, and second.
    fn parts(&self) -> [&Way; 2] {
        if self.tbf_first { [&self.tbf, &self.netem] } else { [&self.netem, &self.tbf] }
    }
}

/// The experiment bridges, each with the interfaces on it.
pub(super) struct Bridges<'a>(IndexMap<&'a str, (usize, Vec<Plug>)>);

impl<'a> Bridges<'a> {
    pub fn read(root: &Element<'a, '_>) -> Result<Self, Diagnostic> {
        let mut bridges = IndexMap::new();
        for bridge in root.children("bridge") {
            let name = bridge.required("name")?;
            if bridges.insert(name, (bridge.line(), Vec::new())).is_some() {
                return Err(bridge.fault(format!("bridge `{name}` is given twice"), "remove one of them"));
            }
        }
        Ok(Self(bridges))
    }

    /// The interfaces on a bridge.
    pub fn get(&mut self, interface: Element<'a, '_>, name: &str) -> Result<&mut Vec<Plug>, Diagnostic> {
        if !self.0.contains_key(name) {
            let known: Vec<&str> = self.0.keys().copied().collect();
            return Err(interface.fault(format!("unknown bridge `{name}`"), remedy(name, known)));
        }
        Ok(&mut self.0[name].1)
    }

    /// Whether an interface of a node is on any bridge.
    pub fn plugs(&self) -> impl Iterator<Item = &Plug> {
        self.0.values().flat_map(|(_, plugs)| plugs)
    }
}

/// Makes links of all bridges.
pub(super) fn connect(lab: &Lab<'_>, draft: &mut Draft) {
    for (name, (line, plugs)) in &lab.bridges.0 {
        match &plugs[..] {
            [] => draft.lose(format!("bridge {name}"), "has no interface; it was left out", Some(*line)),
            [a, b] if a.shape.is_split() || b.shape.is_split() => split(name, *line, a, b, draft),
            [a, b] => draft.links.push(DraftLink {
                interfaces: [Some(a.interface.clone()), Some(b.interface.clone())],
                ways: [a.shape.whole(), b.shape.whole()],
                ..DraftLink::new([a.node, b.node], Way::default())
            }),
            more => {
                let switch = draft.node(Some(name), "bridge", *line);
                draft.nodes[switch].kind = "switch";
                for plug in more {
                    if plug.shape.is_split() {
                        let what = format!("order of {}:{}", draft.name(plug.node), plug.interface);
                        let why = "delay comes before the rate, since a bridge of many is not split";
                        draft.lose(what, why, Some(*line));
                    }
                    draft.links.push(half(plug, switch, plug.shape.whole(), Way::default()));
                }
            }
        }
    }
}

/// VITO's auxiliary node split: a node that only forwards stands between, and each half shapes one part.
fn split(name: &str, line: usize, a: &Plug, b: &Plug, draft: &mut Draft) {
    let switch = draft.node(Some(&format!("{name}-avm")), "avm", line);
    draft.nodes[switch].kind = "switch";
    let what = format!("order of bridge {name}");
    let why = format!(
        "one link delays before it limits the rate; `{}` was put between, as VITO's auxiliary node",
        draft.name(switch)
    );
    draft.lose(what, why, Some(line));
    let ([first, second], [back_first, back_second]) = (a.shape.parts(), b.shape.parts());
    draft.links.push(half(a, switch, first.clone(), back_second.clone()));
    draft.links.push(half(b, switch, back_first.clone(), second.clone()));
}

/// A link from an interface to a switch, with what happens there and back.
fn half(plug: &Plug, switch: usize, there: Way, back: Way) -> DraftLink {
    DraftLink {
        interfaces: [Some(plug.interface.clone()), None],
        ways: [there, back],
        ..DraftLink::new([plug.node, switch], Way::default())
    }
}

/// Port names of what is captured.
pub(super) fn port(draft: &Draft, plug: &Plug) -> Value {
    json!(format!("{}:{}", draft.name(plug.node), plug.interface))
}
