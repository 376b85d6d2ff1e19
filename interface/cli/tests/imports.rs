//! `plait import`: what it prints, and that every room accepts it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn plait(arguments: &[&str], folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plait"));
    command.args(arguments).current_dir(folder).output().expect("plait was built")
}

fn said(output: &[u8]) -> String {
    String::from_utf8_lossy(output).into_owned()
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/vito");
    let entries = std::fs::read_dir(folder).expect("the examples are there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn every_experiment_of_vito_is_imported_and_valid() {
    let home = tempfile::tempdir().unwrap();
    let files = examples();
    assert_eq!(files.len(), 7);
    for file in files {
        let imported = plait(&["import", file.to_str().unwrap()], home.path());
        assert!(imported.status.success(), "{}: {}", file.display(), said(&imported.stderr));
        std::fs::write(home.path().join("net.yaml"), &imported.stdout).unwrap();
        let checked = plait(&["validate", "net.yaml"], home.path());
        assert!(checked.status.success(), "{}: {}", file.display(), said(&checked.stderr));
    }
}

const LAB: &str = "name: pair\ntopology:\n  nodes:\n    r1: {kind: linux, image: quay.io/frrouting/frr}\n    pc1:\n\
\x20     kind: linux\n      image: alpine:3\n      env: {ROLE: client}\n      cpu: 0.5\n      cpu-set: \"0\"\n\
\x20     exec: [ip addr add 10.1.0.2/24 dev eth1, ip route add 10.0.0.0/8 via 10.1.0.1]\n  links:\n\
\x20   - {endpoints: ['pc1:eth1', 'r1:eth1'], ipv4: ['', 10.1.0.1/24]}\n";

#[test]
fn a_lab_of_containerlab_is_imported_and_valid_and_its_losses_have_lines() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("pair.clab.yml"), LAB).unwrap();
    let imported = plait(&["import", "pair.clab.yml"], home.path());
    let losses = said(&imported.stderr);
    assert!(losses.contains("pair.clab.yml:8: env of node pc1"), "{losses}");
    std::fs::write(home.path().join("net.yaml"), &imported.stdout).unwrap();
    let checked = plait(&["validate", "net.yaml"], home.path());
    assert!(checked.status.success(), "{}", said(&checked.stderr));
}

const MAP: &str = "graph [\n  node [ id 0 graphics [ x 0 y 0 ] ]\n  node [ id 1 graphics [ x 100 y 0 ] ]\n\
  edge [ source 0 target 1 LinkLabel \"10 Gbps\" ]\n]\n";

#[test]
fn rates_and_drawings_are_scaled_when_asked() {
    let home = tempfile::tempdir().unwrap();
    std::fs::write(home.path().join("map.txt"), MAP).unwrap();
    let plain = plait(&["import", "map.txt"], home.path());
    assert!(said(&plain.stdout).contains("rate: 10Gbit"), "{}", said(&plain.stdout));
    assert!(said(&plain.stderr).contains("above the 1Gbit"), "{}", said(&plain.stderr));
    let options = ["import", "map.txt", "--format", "gml", "--scale", "0.05", "--kilometres-per-unit", "10"];
    let scaled = plait(&options, home.path());
    let yaml = said(&scaled.stdout);
    assert!(yaml.contains("rate: 500Mbit") && yaml.contains("delay: 5.003ms"), "{yaml}");
    for wrong in [["--scale", "0"], ["--scale", "-1"], ["--scale", "nan"], ["--format", "visio"]] {
        let refused = plait(&[&["import", "map.txt"], &wrong[..]].concat(), home.path());
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn a_folder_is_checked_file_by_file() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("files");
    std::fs::create_dir(&folder).unwrap();
    for (name, text) in [("a.clab.yml", LAB), ("b.gml", MAP), ("c.gml", "graph [")] {
        std::fs::write(folder.join(name), text).unwrap();
    }
    let checked = plait(&["import", "--check", "files"], home.path());
    assert_eq!(checked.status.code(), Some(3));
    let table = said(&checked.stdout);
    assert_eq!(table.matches("fine").count(), 2, "{table}");
}
