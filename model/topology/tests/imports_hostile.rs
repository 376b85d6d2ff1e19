//! Importers do no harm, whatever they are given. `make fuzz` asks again, many times.

mod imports_common;

use imports_common::{
    BARE_LAB, DRAWN, GML, HYBRID, LAB, MAP, MESH, NETWORKX, REPETITA, ROCKETFUEL, YED, ZOO, import, read,
};
use plait_model_topology::document::Source;
use plait_model_topology::import::{Options, importers};
use proptest::prelude::*;

#[test]
fn deep_nesting_is_refused_or_read_but_no_harm() {
    for depth in [1_000, 200_000] {
        let text = format!("<graphml>{}{}</graphml>", "<graph>".repeat(depth), "</graph>".repeat(depth));
        assert!(import("deep.graphml", &text).is_err());
        let _ = import("cut.graphml", &"<graph>".repeat(depth));
    }
}

#[test]
fn many_of_one_name_and_names_without_end_cost_no_more_than_their_length() {
    let nodes: String = (0..50_000).map(|id| format!("node [ id {id} label \"None\" ]\n")).collect();
    assert_eq!(import("same.gml", &format!("graph [\n{nodes}]")).unwrap().nodes, 50_000);
    let long = "n".repeat(1_000_000);
    let edge = format!("graph [\nnode [ id {long} ]\nedge [ source {long}1 target {long} ]\n]");
    assert!(import("long.gml", &edge).unwrap_err().contains("is no node"));
}

#[test]
fn what_many_nodes_inherit_is_bounded() {
    let execs: String = (0..2_000).map(|_| "      - \"true\"\n").collect();
    let nodes: String = (0..2_000).map(|index| format!("    n{index}: {{kind: linux}}\n")).collect();
    let lab = format!("topology:\n  defaults:\n    exec:\n{execs}  nodes:\n{nodes}");
    assert!(import("fat.clab.yml", &lab).unwrap_err().contains("inherits too much"));
}

/// One of the samples with pieces cut out, doubled or replaced, and lines moved.
fn mutated(samples: &'static [&'static str]) -> impl Strategy<Value = String> {
    let new = "\\PC{0,6}|[<>&\"'0-9 .:\\[\\]{}-]{0,6}|-?[0-9]{1,22}(e[0-9]{1,3})?(ms|Mbit|%|/[0-9]{1,3})?";
    let pieces = prop::collection::vec((any::<prop::sample::Index>(), 0..30usize, 0..6u8, new), 1..5);
    (prop::sample::select(samples), pieces).prop_map(|(sample, pieces)| {
        let mut text: Vec<char> = sample.chars().collect();
        for (at, length, how, new) in pieces {
            let start = at.index(text.len().max(1)).min(text.len());
            let end = (start + length).min(text.len());
            let line =
                text[start..].iter().position(|c| *c == '\n').map_or(text.len(), |end| start + end + 1);
            let piece: Vec<char> = text[start..end].to_vec();
            match how {
                0 => drop(text.splice(start..end, [])),
                1 => drop(text.splice(start..start, piece)),
                2 | 3 => drop(text.splice(start..(start + length / 6).min(text.len()), new.chars())),
                4 => text = [&text[line..], &text[..line]].concat(),
                _ => text.truncate(end),
            }
        }
        text.into_iter().collect()
    })
}

/// Whatever an importer accepts can be read back, and whatever it refuses it refuses with a place.
fn ask(name: &str, text: &str) -> Result<(), TestCaseError> {
    let importer = importers().into_iter().find(|importer| importer.name() == name).expect("it is known");
    match importer.import(&Source::new("some.file", text), &Options::default()) {
        Ok(imported) => drop(read(&imported)),
        Err(report) => prop_assert!(report.to_string().contains("some.file:")),
    }
    Ok(())
}

/// Few cases unless `PROPTEST_CASES` asks for more.
fn config() -> ProptestConfig {
    let usual = ProptestConfig::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(1000, |_| usual.cases);
    ProptestConfig { cases, failure_persistence: None, ..usual }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_is_read_as_containerlab_is_a_network(text in mutated(&[BARE_LAB, LAB])) {
        ask("containerlab", &text)?;
    }

    #[test]
    fn whatever_is_read_as_gml_is_a_network(text in mutated(&[GML, NETWORKX, YED])) {
        ask("gml", &text)?;
    }

    #[test]
    fn whatever_is_read_as_graphml_is_a_network(text in mutated(&[DRAWN, ZOO])) {
        ask("graphml", &text)?;
    }

    #[test]
    fn whatever_is_read_as_netjson_is_a_network(text in mutated(&[MAP, MESH])) {
        ask("netjson", &text)?;
    }

    #[test]
    fn whatever_is_read_as_repetita_is_a_network(text in mutated(&[REPETITA, ROCKETFUEL])) {
        ask("repetita", &text)?;
    }

    #[test]
    fn whatever_is_read_as_vito_is_a_network(text in mutated(&[HYBRID])) {
        ask("vito", &text)?;
    }

    #[test]
    fn whatever_is_read_is_a_network_and_whatever_is_not_is_a_report(
        text in "(graph \\[|<graphml>|NODES |\\{|topology:|<experiment)?\\PC{0,80}"
    ) {
        for importer in importers() {
            ask(importer.name(), &text)?;
        }
    }
}
