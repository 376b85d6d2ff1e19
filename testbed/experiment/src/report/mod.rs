//! The report of a run: one HTML page that needs nothing beside itself.
//!
//! [`render`] reads a results folder and nothing else, so that a report can be made again at any time. In the order in
//! which the page is made:
//!
//! 1. [`data`] reads the samples into flows and link series;
//! 2. [`plot`], [`distribution`], [`drawing`] and [`timeline`] turn them into pictures, with [`scale`] and [`series`] beneath;
//! 3. [`page`] puts them under the words.
//!
//! [`render_experiment`] makes the page of a whole experiment from its summary: [`sweep`], with [`levels`] for the
//! pictures.
//!
//! What comes from outside (names, commands, their output) passes through [`text::escape`] before it is markup.

mod comparison;
mod data;
mod distribution;
mod drawing;
mod junit;
mod layout;
mod levels;
mod marks;
mod page;
mod plot;
mod scale;
mod series;
mod sweep;
mod tables;
mod text;
mod timeline;

use crate::results::{NetworkSummary, Results, ResultsError};
use crate::sweep::{Comparison, Summary};
use plait_model_topology::Network;
use std::collections::BTreeMap;
use std::path::Path;

pub use junit::{junit_of_experiment, junit_of_run, junit_of_runs};

/// A network as a picture that stands by itself: SVG with its own style. None for more nodes than can be told apart.
pub fn draw(network: &Network) -> Option<String> {
    let summary = NetworkSummary::of(network, "", String::new(), BTreeMap::new());
    let svg = drawing::svg(&summary, &[])?;
    let head = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" ";
    let style = format!("<style>svg {{ font: 14px sans-serif; }}\n{}</style>", page::STYLE);
    let svg = svg.replacen("<svg ", head, 1);
    let body = svg.find('>')? + 1;
    Some(format!("{}{style}{}\n", &svg[..body], &svg[body..]))
}

/// The report of an experiment as one HTML page. Links lead to the reports of its runs, and nowhere else.
pub fn render_experiment(summary: &Summary) -> String {
    sweep::page(summary)
}

/// Two results side by side as one HTML page.
pub fn render_comparison(comparison: &Comparison) -> String {
    comparison::page(comparison)
}

/// The report of a results folder as one HTML page.
///
/// # Errors
/// A folder that cannot be read, or is of a newer format.
pub fn render(folder: &Path) -> Result<String, ResultsError> {
    let results = Results::read(folder)?;
    let data = data::Data::read(folder, &results)?;
    Ok(page::page(folder, &results, &data))
}
