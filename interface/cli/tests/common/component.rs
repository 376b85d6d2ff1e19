//! Examples of control applications in C, built as anybody would.

#[path = "../../../../control/component/examples/componentize/encode.rs"]
mod encode;

use std::fs;
use std::path::Path;
use std::process::Command;

/// The component of an example, and its manifest.
pub fn example(name: &str) -> (Vec<u8>, String) {
    example_with(name, &[])
}

/// The same with other words of the compiler's.
pub fn example_with(name: &str, words: &[&str]) -> (Vec<u8>, String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/control").join(name);
    let module = tempfile::NamedTempFile::new().unwrap();
    let built = Command::new("clang")
        .args(["--target=wasm32", "-O2", "-mbulk-memory", "-nostdlib", "-Wall", "-Wl,--no-entry"])
        .args(words)
        .arg("-o")
        .args([module.path(), &folder.join(name).with_extension("c")])
        .status()
        .expect("clang is there");
    assert!(built.success());
    let wit = fs::read_to_string(folder.join(name).with_extension("wit")).unwrap();
    let component = encode::component(fs::read(module.path()).unwrap(), &wit).unwrap();
    (component, fs::read_to_string(folder.join("manifest.json")).unwrap())
}
