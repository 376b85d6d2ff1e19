//! Compiles the eBPF programs, with headers made of the same lines as the Rust types.

use libbpf_cargo::SkeletonBuilder;
use plait_dataplane_reference::{paths, tables::tables_in_c};
use plait_model_wire::layout::headers_in_c;
use std::path::PathBuf;
use std::{env, fs};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo says where"));
    let head = "/* Made by build.rs; the lines to change are in Rust. */\n#pragma once\n";
    fs::write(out.join("wire.h"), format!("{head}{}", headers_in_c())).expect("OUT_DIR is writable");
    fs::write(out.join("tables.h"), format!("{head}{}", tables_in_c())).expect("OUT_DIR is writable");
    let paths = paths::tables::tables_in_c();
    fs::write(out.join("path_tables.h"), format!("{head}{paths}")).expect("OUT_DIR is writable");

    let architecture = env::var("CARGO_CFG_TARGET_ARCH").expect("cargo says which");
    let arguments = [
        format!("-I{}", out.display()),
        "-Iprograms".to_owned(),
        "-Iprograms/include".to_owned(),
        // Where Debian keeps asm/types.h.
        format!("-I/usr/include/{architecture}-linux-gnu"),
        // Atomics that return what was there, of Linux 5.12.
        "-mcpu=v3".to_owned(),
        "-Wall".to_owned(),
        "-Werror".to_owned(),
    ];
    // One is the overlay's with a driver more, for tests.
    for source in [
        "programs/mirror.bpf.c",
        "programs/overlay.bpf.c",
        "programs/paths.bpf.c",
        "programs/stamps.bpf.c",
        "tests/agreement/parity.bpf.c",
    ] {
        let name = source.rsplit('/').next().expect("a name");
        SkeletonBuilder::new()
            .source(source)
            .clang_args(&arguments)
            .obj(out.join(name).with_extension("o"))
            .build()
            .unwrap_or_else(|error| panic!("{source}: {error:#}"));
    }
    println!("cargo:rerun-if-changed=programs");
    println!("cargo:rerun-if-changed=tests/agreement/parity.bpf.c");
}
