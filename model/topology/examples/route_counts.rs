//! Prints how long addressing and routing take and how many routes they lead to:
//! `cargo run --release -p plait-model-topology --example route_counts [FILE…]`.
//!
//! Files are network files or what an importer reads; without any it prints generated networks, the 70 × 71 torus last.

use plait_model_topology::address::assign;
use plait_model_topology::document::Source;
use plait_model_topology::generate::{Generator, Shape};
use plait_model_topology::import::{Options, importer_for};
use plait_model_topology::route::TableBuilder;
use plait_model_topology::{Vocabulary, parse_network};
use std::time::Instant;

fn main() {
    let files: Vec<String> = std::env::args().skip(1).collect();
    println!(
        "{:24} {:>6} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}",
        "network", "nodes", "links", "routes", "full", "longest", "assign", "tables"
    );
    if !files.is_empty() {
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a readable file");
            let name = file.rsplit('/').next().unwrap_or(&file);
            match importer_for(&Source::new(name, text.as_str())) {
                None => line(name, &text),
                Some(importer) => match importer.import(&Source::new(name, text), &Options::default()) {
                    Ok(imported) => {
                        line(name, &imported.yaml);
                        let (losses, parts) = (imported.losses.len(), imported.parts);
                        println!("    {losses} losses, {parts} parts");
                        for loss in imported.losses.iter().take(6) {
                            println!("    {:?}: {}: {}", loss.line, loss.what, loss.why);
                        }
                    }
                    Err(report) => println!("{report}"),
                },
            }
        }
        return;
    }
    let shapes = [
        Shape::Line { nodes: 1000 },
        Shape::Ring { nodes: 1000 },
        Shape::Tree { arity: 2, depth: 9 },
        Shape::Tree { arity: 10, depth: 3 },
        Shape::Star { leaves: 1000 },
        Shape::Grid { rows: 32, columns: 32 },
        Shape::Torus { rows: 32, columns: 32 },
        Shape::FullMesh { nodes: 50 },
        Shape::FatTree { k: 4 },
        Shape::FatTree { k: 8 },
        Shape::FatTree { k: 16 },
        Shape::RandomRegular { nodes: 1000, degree: 4 },
        Shape::RandomRegular { nodes: 1000, degree: 8 },
        Shape::Torus { rows: 70, columns: 71 },
    ];
    for shape in shapes {
        let text = Generator::from(shape).generate(1).expect("a graph");
        let name = text.lines().find_map(|line| line.strip_prefix("name: ")).expect("a name").to_owned();
        line(&name, &text);
    }
}

fn line(name: &str, text: &str) {
    let network =
        parse_network(&Source::new(name, text), &Vocabulary::core(), &|_| Err("no file".to_owned()));
    let network = network.unwrap_or_else(|report| panic!("{report}"));
    let start = Instant::now();
    let assignment = assign(&network, None).unwrap_or_else(|faults| panic!("{faults:?}"));
    let assigned = start.elapsed();
    let start = Instant::now();
    let builder = TableBuilder::new(&network, &assignment);
    let lengths: Vec<usize> = (0..network.nodes.len()).map(|node| builder.table(node).len()).collect();
    let routed = start.elapsed();
    let full: usize = (0..network.nodes.len()).map(|node| builder.full_table(node).len()).sum();
    println!(
        "{name:24} {:6} {:6} {:9} {full:9} {:9} {:6} ms {:6} ms",
        network.nodes.len(),
        network.links.len(),
        lengths.iter().sum::<usize>(),
        lengths.iter().max().copied().unwrap_or(0),
        assigned.as_millis(),
        routed.as_millis(),
    );
}
