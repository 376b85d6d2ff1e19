//! The guides' blocks, as a reader types them.

use super::error;
use std::fs;
use std::path::Path;
use std::process::Command;

const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/guide");

/// The blocks of a language in a page of the book.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let page = fs::read_to_string(Path::new(BOOK).join(page)).unwrap();
    let begins = format!("```{language}\n");
    page.split(&begins).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// Types a block as a person would, in a folder; what was printed.
fn types(folder: &Path, block: &str) -> String {
    let bin = Path::new(env!("CARGO_BIN_EXE_plait")).parent().unwrap().display();
    let line = format!("PATH={bin}:$PATH\n{block}");
    let typed = Command::new("sh").args(["-euc", &line]).current_dir(folder).output().unwrap();
    let said = String::from_utf8(typed.stdout.clone()).unwrap();
    assert!(typed.status.success(), "{block}: {said}{}", error(&typed));
    said
}

#[test]
fn what_the_guides_say_of_virtual_time_can_be_typed_and_prints_what_they_show() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let typed: Vec<String> = blocks("simulate.md", "sh").iter().map(|block| types(folder, block)).collect();
    let [first, plan, over, captured] = typed.try_into().expect("the guide has four blocks");
    let shown = blocks("simulate.md", "text").remove(0);
    let figures = |said: &str| -> Vec<String> {
        said.lines().filter(|line| line.starts_with("random_")).map(str::to_owned).collect()
    };
    assert_eq!(figures(&first), figures(&shown));
    assert_eq!(figures(&captured), figures(&shown), "two threads give what one does");
    assert!(plan.lines().count() > 20, "{plan}");
    // Delay's overlay goes by b.
    assert!(over.contains("load_received"), "{over}");
    let carried = |link: &str| -> u64 {
        let text = fs::read_to_string(folder.join("results/over-1/samples/links.csv")).unwrap();
        let last = text.lines().rfind(|line| line.contains(&format!(",{link},forward,"))).unwrap().to_owned();
        last.split(',').nth(4).unwrap().parse().unwrap()
    };
    assert!(
        carried("ra-rb") > 10 * carried("ra-rc"),
        "{} by b, {} straight",
        carried("ra-rb"),
        carried("ra-rc")
    );
    assert!(fs::read_dir(folder.join("results/fat-tree-4-2/captures")).unwrap().count() > 0);

    let example = Path::new(BOOK).join("../../../examples");
    let shown = blocks("steer.md", "yaml").remove(0);
    let shown = shown.strip_prefix("# examples/paths.yaml\n").expect("the guide names the file");
    assert!(fs::read_to_string(example.join("paths.yaml")).unwrap().ends_with(shown), "{shown}");
    let there = folder.join("steer");
    fs::create_dir_all(there.join("examples")).unwrap();
    fs::copy(example.join("paths.yaml"), there.join("examples/paths.yaml")).unwrap();
    let block = blocks("steer.md", "sh").into_iter().find(|block| block.contains("--world simulated"));
    assert!(types(&there, &block.unwrap()).contains("load_received"));
}
