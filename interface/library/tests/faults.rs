//! What is wrong is said with the line of the program that wrote it, in the words of the file's reader.

use plait::{Error, Fault, Network};

#[track_caller]
fn faults(network: &Network) -> (Vec<Fault>, String) {
    match network.check() {
        Err(Error::Faulty(faults)) => (faults.iter().cloned().collect(), faults.to_string()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fault_names_the_line_of_the_program_that_wrote_it() {
    let network = Network::new("n")
        .host("alpha")
        .node_with("beta", "hots", |node| node)
        .link("alpha", "bet")
        .link_with("alpha", "beta", |link| {
            link.rate("10Mbit") //
                .delay("20")
        });
    let line = line!() - 6;
    let (found, text) = faults(&network);
    let told: Vec<_> = found.iter().map(|fault| (fault.place.line as u32, fault.message.as_str())).collect();
    assert_eq!(told[0], (line, "unknown kind `hots`"));
    assert!(told.iter().any(|(at, message)| *at == line + 1 && message.contains("`bet`")), "{text}");
    assert!(told.iter().any(|(at, message)| *at == line + 4 && message.contains("has no unit")), "{text}");
    assert!(found.iter().all(|fault| fault.place.file.ends_with("tests/faults.rs")), "{text}");
    assert!(text.contains(&format!("tests/faults.rs:{line}:10\n  |\n  | nodes: ")), "{text}");
    assert!(text.contains("  = help: did you mean `host`?"), "{text}");
}

#[test]
fn the_words_and_remedies_are_those_of_the_file() {
    let network = Network::new("n").host("a").at("1s", |event| event.on("b").exec("true").expect("never"));
    let (written, _) = faults(&network);
    let (read, _) = faults(&Network::parse("n.yaml", &network.to_yaml()));
    let words = |faults: &[Fault]| -> Vec<_> {
        faults.iter().map(|fault| (fault.message.clone(), fault.help.clone())).collect()
    };
    assert!(!written.is_empty());
    assert_eq!(words(&written), words(&read));
}

#[test]
fn a_name_given_twice_names_both_lines() {
    let network = Network::new("n").host("a");
    let network = network.router("a");
    let line = line!() - 1;
    let (found, text) = faults(&network);
    assert_eq!(found[0].message, "`a` is given twice");
    assert_eq!(found[0].place.line as u32, line);
    assert!(
        text.contains(&format!("given here first: interface/library/tests/faults.rs:{}:37", line - 1)),
        "{text}"
    );
}

#[test]
fn a_file_that_was_changed_names_its_own_lines_and_those_of_the_program() {
    let text = "plait: 1\nnodes: {a: host, b: host}\nlinks:\n  - {endpoints: [a, c]}\n";
    let network = Network::parse("net.yaml", text).set("/nodes/b/memory", "64MiB");
    let line = line!() - 1;
    let (found, text) = faults(&network);
    let places: Vec<String> = found.iter().map(|fault| fault.place.to_string()).collect();
    assert!(places.iter().any(|place| place.starts_with("net.yaml:4:")), "{text}");
    assert!(places.iter().any(|place| place.contains(&format!("faults.rs:{line}:"))), "{text}");
}

#[test]
fn a_text_that_is_no_yaml_is_told_so_even_when_it_was_changed() {
    let (found, _) = faults(&Network::parse("net.yaml", "nodes: {a: [}\n").host("b"));
    assert!(found[0].message.contains("not YAML"), "{found:?}");
    assert_eq!(&*found[0].place.file, "net.yaml");
}

#[test]
fn factors_that_nothing_uses_are_a_fault_of_their_line() {
    let network = Network::new("n").host("a").factor("delay", ["1ms"]);
    let line = line!() - 1;
    let (found, _) = faults(&network);
    assert_eq!(found[0].place.line as u32, line);
    assert!(found[0].message.contains("nothing depends on the factor"), "{found:?}");
}
