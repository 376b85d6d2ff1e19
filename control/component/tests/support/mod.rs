//! Components built from C as anybody would: clang for the module, then its world.
#![allow(dead_code)]

#[path = "../../examples/componentize/encode.rs"]
mod encode;

use plait_control_runtime::{Manifest, Name};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The component of a C file and the world beside it.
pub fn component(source: &Path, defines: &[&str]) -> Vec<u8> {
    static BUILT: AtomicUsize = AtomicUsize::new(0);
    let number = BUILT.fetch_add(1, Ordering::Relaxed);
    let module = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}.wasm", std::process::id()));
    let status = Command::new("clang")
        .args(["--target=wasm32", "-O2", "-mbulk-memory", "-nostdlib", "-Wall", "-Wl,--no-entry"])
        .args(["-Wno-infinite-recursion", "-Wl,-z,stack-size=65536"])
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg("-o")
        .args([module.as_path(), source])
        .status()
        .expect("clang is there");
    assert!(status.success(), "clang and lld build {}", source.display());
    let wit = std::fs::read_to_string(source.with_extension("wit")).unwrap();
    let built = std::fs::read(&module).unwrap();
    std::fs::remove_file(module).unwrap();
    encode::component(built, &wit).unwrap()
}

/// One of the tests' own components.
pub fn own(name: &str, defines: &[&str]) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/components");
    component(&folder.join(name).with_extension("c"), defines)
}

/// The example that is written in C, and its manifest.
pub fn least_delay() -> (Manifest, Vec<u8>) {
    let folder = repository().join("examples/control/least-delay");
    let manifest = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    (serde_json::from_str(&manifest).unwrap(), component(&folder.join("least-delay.c"), &[]))
}

pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}
