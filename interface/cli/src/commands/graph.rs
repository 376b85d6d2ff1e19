//! `plait graph`.

use crate::arguments::{GraphArguments, GraphFormat};
use crate::load::load;
use crate::output::{Failure, Output};
use plait_model_topology::Network;
use plait_model_topology::vocabulary::Role;
use plait_testbed_experiment::report::draw;
use serde_json::json;
use std::process::ExitCode;

pub fn graph(arguments: GraphArguments, output: &Output) -> Result<ExitCode, Failure> {
    let loaded = load(&arguments.file)?;
    let network = loaded.network();
    let text = match arguments.format {
        GraphFormat::Dot => dot(network),
        GraphFormat::Svg => draw(network)
            .ok_or_else(|| Failure::new("too many nodes to draw: use `--format dot` and Graphviz' `sfdp`"))?,
    };
    output.result(&json!({ "graph": text }), || text.clone())?;
    Ok(ExitCode::SUCCESS)
}

/// Graphviz' language.
fn dot(network: &Network) -> String {
    let mut text = format!("graph \"{}\" {{\n  node [fontname=\"sans-serif\"];\n", network.name);
    for node in &network.nodes {
        let shape = match node.role {
            Role::Host => "box",
            Role::Router => "ellipse",
            Role::Switch => "hexagon",
        };
        text.push_str(&format!("  \"{}\" [shape={shape}];\n", node.name));
    }
    for link in &network.links {
        let [a, b] = link.ends.map(|end| &network.nodes[end.node].name);
        let label = match &link.conditions {
            [there, back] if there.is_unimpaired() && back.is_unimpaired() => String::new(),
            [there, back] if there == back => format!(" [label=\"{there}\"]"),
            [there, back] => format!(" [label=\"{there} | {back}\"]"),
        };
        text.push_str(&format!("  \"{a}\" -- \"{b}\"{label};\n"));
    }
    for lan in &network.lans {
        text.push_str(&format!("  \"lan {}\" [shape=underline];\n", lan.name));
        for member in &lan.members {
            text.push_str(&format!("  \"lan {}\" -- \"{}\";\n", lan.name, network.nodes[member.node].name));
        }
    }
    text.push_str("}\n");
    text
}
