//! What a file writes into overlays' tables itself: to whom members' packets go, in what, and at which members stations are.

use super::{Member, Resolver};
use crate::section::{ControlForm, ControlWord, Members, NodeName, Stations};
use plait_dataplane_overlay::{ApplicationConfig, BadConfig, Carries, Encapsulation, Identifier};
use plait_model_overlay::NodeId;
use plait_model_topology::diagnostic::Diagnostic;
use plait_model_topology::document::{Span, Spanned};
use plait_model_topology::graph::GraphBuilder;
use plait_model_topology::network::NodeIndex;
use std::collections::{BTreeMap, BTreeSet};

impl Resolver<'_> {
    /// Looks whether what is for all gets to all in an encapsulation.
    pub(super) fn floods(
        &mut self,
        span: Span,
        encapsulation: Encapsulation,
        members: &[Member],
        carries: Carries,
        control: &ControlForm,
    ) {
        let is_planned = matches!(control, ControlForm::Word(ControlWord::Mesh | ControlWord::Delay));
        if is_planned && carries == Carries::Ethernet && members.len() > 2 && !encapsulation.names_nodes() {
            self.fault(
                span,
                format!("{encapsulation} names no nodes, so that what is for all would end at its first hop"),
                "write `control: static`, with which every member sends to every other, or leave out `encapsulation`",
            );
        }
    }

    /// Looks whether what is for all of an overlay that the file fills gets to each once: headers that name nodes have it passed on,
    /// and others do not. Where the file says to whom it goes, it does as it says.
    pub(super) fn mixed(&mut self, written: &Members, config: &ApplicationConfig, members: &[Member]) {
        let Some(group) = config.group.filter(|_| config.floods() && members.len() > 2) else {
            return;
        };
        let passes_on = config.encapsulation.names_nodes();
        if let Some(says) = members.iter().find(|member| member.routes.contains_key(&group)) {
            if passes_on && goes_in_circles(group, members) {
                let text =
                    "what is for all goes in a circle among members that name each other, and never ends";
                let help = "say of each member where it goes, such that ways are a tree: who says nothing sends to all";
                self.fault(says.span, text, help);
            }
            return;
        }
        let words = written.0.iter().flat_map(|(_, told)| told.to.values());
        for word in words.filter(|word| word.value.0.names_nodes() != passes_on) {
            let [naming, other] = match passes_on {
                true => [config.encapsulation, word.value.0],
                false => [word.value.0, config.encapsulation],
            };
            self.fault(
                word.span,
                format!(
                    "{naming} names nodes and {other} does not, so that what is for all would come to some twice, or not \
                     at all"
                ),
                format!("say of members where it goes, such as `routes: {{{group}: [b, c]}}`, or leave out `to`"),
            );
        }
    }

    /// Reads to whom members' packets go, and in what.
    pub(super) fn ways(
        &mut self,
        members: &mut [Member],
        written: &Members,
        config: &ApplicationConfig,
        control: &ControlForm,
    ) {
        let is_static = *control == ControlForm::Word(ControlWord::Static);
        for word in written.0.iter().flat_map(|(_, told)| told.to.values()) {
            self.floods(word.span, word.value.0, members, config.carries, control);
            if matches!(control, ControlForm::Evpn(_)) {
                self.fault(word.span, "what EVPN tells is all of VXLAN", "leave out `to`");
            }
        }
        let locators = written.0.iter().flat_map(|(_, told)| told.locators.iter().flat_map(|all| &all.0));
        for weight in locators.filter_map(|(_, weight)| *weight) {
            if matches!(control, ControlForm::Evpn(_)) {
                self.fault(weight.span, "EVPN tells no weights", "write `locators` as a list of one address");
            }
        }
        let known: Vec<(NodeIndex, NodeId)> = members.iter().map(|member| (member.node, member.id)).collect();
        for member in members {
            let told = written.0.iter().find(|(node, _)| node.span == member.span).map(|(_, told)| told);
            let Some(told) = told else { continue };
            for (destination, next_hops) in &told.routes {
                if !is_static {
                    self.fault(
                        destination.span,
                        "`routes` belong to `control: static`: other control planes decide them",
                        "write `control: static`, or leave them out",
                    );
                    break;
                }
                let Some(id) = self.destination(destination, &known) else { continue };
                let mut ids: BTreeSet<NodeId> =
                    next_hops.0.iter().filter_map(|name| self.member_of(name, &known)).collect();
                // Each is one of all.
                ids.extend((Some(id) == config.group).then_some(member.id));
                // Who is one of a group may be a next hop of its own.
                let ends_here = ids.contains(&member.id) && known.iter().any(|(_, of)| *of == id);
                if id == member.id || ends_here || ids.is_empty() {
                    self.fault(
                        destination.span,
                        "packets for a member itself, or that go to itself or to nobody, have no way",
                        "name another member, and other members to whom they go",
                    );
                }
                member.routes.insert(id, ids);
            }
            for (name, word) in &told.to {
                let name = Spanned::new(NodeName(name.value.clone()), name.span);
                let Some(id) = self.member_of(&name, &known) else { continue };
                let alone = ApplicationConfig { encapsulation: word.value.0, ..config.clone() };
                let fits = alone.check().and_then(|()| alone.check_vni(config.vni));
                if let Err(error) = fits
                    && !matches!(error, BadConfig::Vni(_))
                {
                    self.faults.push(Diagnostic::new(word.span, error.to_string()));
                }
                member.to.insert(id, word.value.0);
            }
        }
    }

    /// The identity of a member, or one written as four numbers.
    fn destination(&mut self, name: &Spanned<String>, known: &[(NodeIndex, NodeId)]) -> Option<NodeId> {
        match name.value.parse() {
            Ok(id) => Some(id),
            Err(_) => self.member_of(&Spanned::new(NodeName(name.value.clone()), name.span), known),
        }
    }

    /// The identity of a member.
    fn member_of(&mut self, name: &Spanned<NodeName>, known: &[(NodeIndex, NodeId)]) -> Option<NodeId> {
        let index = self.node(name)?;
        let id = known.iter().find(|(node, _)| *node == index).map(|(_, id)| *id);
        if id.is_none() {
            self.stranger(name);
        }
        id
    }

    pub(super) fn stranger(&mut self, name: &Spanned<NodeName>) {
        let text = format!("`{}` is no member of the overlay", name.value.0);
        self.fault(name.span, text, "add it to the overlay's `members`");
    }

    /// Reads at which members identifiers are.
    pub(super) fn stations(
        &mut self,
        written: &Stations,
        carries: Carries,
        members: &[Member],
    ) -> Vec<Spanned<(Identifier, NodeId)>> {
        let known: Vec<(NodeIndex, NodeId)> = members.iter().map(|member| (member.node, member.id)).collect();
        let mut stations = Vec::new();
        for (text, at) in written {
            let identifier = match (text.value.parse::<Identifier>(), carries) {
                (Ok(station @ Identifier::Station(_)), Carries::Ethernet) => Some(station),
                (Ok(host @ Identifier::Network(network)), Carries::Ip)
                    if network.prefix_len() == network.max_prefix_len() =>
                {
                    Some(host)
                }
                _ => None,
            };
            let Some(identifier) = identifier else {
                let (kind, such) = match carries {
                    Carries::Ip => ("address", "10.99.0.7"),
                    _ => ("hardware address", "02:00:00:00:00:07"),
                };
                self.fault(
                    text.span,
                    format!("`{}` is no {kind}", text.value),
                    format!("write one such as `\"{such}\"`"),
                );
                continue;
            };
            let said = self.member_of(at, &known).map(|id| (identifier, id));
            stations.extend(said.map(|value| Spanned { value, span: text.span }));
        }
        stations
    }

    /// Looks whether each identifier is said to be at one member alone. Choice: two are a fault, and no anycast. A table's entry
    /// leads to one node, so that the last one said would be the only one that gets packets; and what a device of frames learns
    /// is no matter of the file's, so that of these several members may have one IP address, as gateways do.
    pub(super) fn at_one_member(&mut self, said: &[Spanned<(Identifier, NodeId)>], members: &[Member]) {
        let network = self.network;
        let name = |id: NodeId| {
            let member = members.iter().find(|member| member.id == id);
            member.map_or("", |member| network.nodes[member.node].name.as_str())
        };
        let mut first = BTreeMap::new();
        for Spanned { value: (identifier, id), span } in said {
            let (known, at) = *first.entry(*identifier).or_insert((*id, *span));
            if known == *id {
                continue;
            }
            let text = format!("{identifier} is said to be at `{}` and at `{}`", name(known), name(*id));
            let fault = Diagnostic::new(*span, text).note(at, format!("here it is at `{}`", name(known)));
            self.faults.push(fault.help("say it of one member: packets for it go to one alone"));
        }
    }
}

/// Whether what is for a group comes back to who passed it on: a member takes it from those that it would pass it on to.
fn goes_in_circles(group: NodeId, members: &[Member]) -> bool {
    let sends = |from: &Member, to: &Member| from.routes.get(&group).is_none_or(|hops| hops.contains(&to.id));
    let mut builder = GraphBuilder::new(members.len());
    for (at, one) in members.iter().enumerate() {
        for (other_at, other) in members.iter().enumerate().skip(at + 1) {
            if sends(one, other) && sends(other, one) {
                builder.edge(at, other_at, 1);
            }
        }
    }
    let graph = builder.build();
    graph.edges().len() + graph.components().count() > graph.vertices()
}
