//! `plait import`.

use crate::arguments::ImportArguments;
use crate::output::{Failure, Output, table};
use clap::builder::PossibleValuesParser;
use plait::{read_text, vocabulary};
use plait_model_topology::document::Source;
use plait_model_topology::import::{Imported, Options, importer_for, importers};
use plait_model_topology::parse_network;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub fn import(arguments: ImportArguments, output: &Output) -> Result<ExitCode, Failure> {
    if arguments.check {
        return check(&arguments, output);
    }
    let imported = one(&arguments.path, &arguments)?;
    for loss in &imported.losses {
        let line = loss.line.map(|line| format!(":{line}")).unwrap_or_default();
        output.note(&format!("{}{line}: {}: {}", arguments.path.display(), loss.what, loss.why));
    }
    output.result(&value(&arguments.path, &imported), || imported.yaml.clone())?;
    Ok(ExitCode::SUCCESS)
}

/// The formats that `--format` takes.
pub fn format() -> PossibleValuesParser {
    PossibleValuesParser::new(importers().iter().map(|importer| importer.name()).collect::<Vec<_>>())
}

/// A number above nought that something can be multiplied by.
pub fn factor(text: &str) -> Result<f64, String> {
    let value: Option<f64> = text.parse().ok();
    let fine = |value: &f64| *value >= 1e-9 && *value <= 1e9;
    value.filter(fine).ok_or_else(|| "write a number above 0, such as 0.1".to_owned())
}

fn one(path: &Path, arguments: &ImportArguments) -> Result<Imported, Failure> {
    let source = Source::new(path.display().to_string(), read_text(path)?);
    let options = Options { scale: arguments.scale, kilometres_per_unit: arguments.kilometres_per_unit };
    let named = |name: &String| importers().into_iter().find(|importer| importer.name() == name);
    let Some(importer) = arguments.format.as_ref().map_or_else(|| importer_for(&source), named) else {
        let known: Vec<_> = importers().iter().map(|importer| importer.name()).collect();
        return Err(Failure {
            code: 3,
            ..Failure::new(format!(
                "{}: no importer knows this file; known here: {}",
                path.display(),
                known.join(", ")
            ))
        });
    };
    Ok(importer.import(&source, &options)?)
}

fn value(path: &Path, imported: &Imported) -> Value {
    let losses: Vec<Value> = imported
        .losses
        .iter()
        .map(|loss| json!({ "what": loss.what, "why": loss.why, "line": loss.line }))
        .collect();
    json!({ "file": path, "nodes": imported.nodes, "links": imported.links, "parts": imported.parts,
        "losses": losses, "yaml": imported.yaml })
}

/// Imports every file of a folder and reads the result back.
fn check(arguments: &ImportArguments, output: &Output) -> Result<ExitCode, Failure> {
    let folder = &arguments.path;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    let mut rows = vec![["FILE", "NODES", "LINKS", "PARTS", "LOSSES", ""].map(str::to_owned).to_vec()];
    let mut values = Vec::new();
    let mut all = true;
    for path in &files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let checked = one(path, arguments).and_then(|imported| {
            let source = Source::new(format!("{name} as imported"), imported.yaml.clone());
            parse_network(&source, &vocabulary(), &|path| Err(format!("no file {path}")))?;
            Ok(imported)
        });
        match checked {
            Ok(imported) => {
                let losses = imported.losses.len();
                rows.push(vec![
                    name,
                    imported.nodes.to_string(),
                    imported.links.to_string(),
                    imported.parts.to_string(),
                    losses.to_string(),
                    "fine".to_owned(),
                ]);
                values.push(value(path, &imported));
            }
            Err(failure) => {
                all = false;
                let first = failure.message.lines().next().unwrap_or_default().to_owned();
                rows.push(vec![name, String::new(), String::new(), String::new(), String::new(), first]);
                values.push(json!({ "file": path, "error": failure.message, "faults": failure.detail }));
            }
        }
    }
    output.result(&json!(values), || table(&rows))?;
    Ok(if all { ExitCode::SUCCESS } else { ExitCode::from(3) })
}
