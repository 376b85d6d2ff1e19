//! `plait generate`.

use crate::arguments::{GenerateArguments, ShapeArguments};
use crate::output::{Failure, Output};
use plait_model_topology::generate::{Generator, Shape};
use serde_json::json;
use std::process::ExitCode;

pub fn generate(arguments: GenerateArguments, output: &Output) -> Result<ExitCode, Failure> {
    let mut seed = 1;
    let shape = match arguments.shape {
        ShapeArguments::FatTree { k } => Shape::FatTree { k },
        ShapeArguments::FullMesh { nodes } => Shape::FullMesh { nodes },
        ShapeArguments::Grid { rows, columns } => Shape::Grid { rows, columns },
        ShapeArguments::Line { nodes } => Shape::Line { nodes },
        ShapeArguments::RandomRegular { nodes, degree, seed: given } => {
            seed = given;
            Shape::RandomRegular { nodes, degree }
        }
        ShapeArguments::Ring { nodes } => Shape::Ring { nodes },
        ShapeArguments::Star { leaves } => Shape::Star { leaves },
        ShapeArguments::Torus { rows, columns } => Shape::Torus { rows, columns },
        ShapeArguments::Tree { arity, depth } => Shape::Tree { arity, depth },
    };
    let generator = Generator { shape, kind: arguments.kind, hosts: arguments.hosts };
    let text = generator.generate(seed).map_err(|error| Failure::usage(error.to_string()))?;
    output.result(&json!({ "yaml": text }), || text.clone())?;
    Ok(ExitCode::SUCCESS)
}
