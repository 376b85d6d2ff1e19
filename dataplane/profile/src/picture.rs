//! Stacked bars, as in the thesis's Figures 4.4 and 4.8.

use crate::profile::Profile;
use crate::stages::Stage;
use std::fmt::Write;

const WIDTH: f64 = 900.0;
/// Where bars begin: names stand before.
const LEFT: f64 = 150.0;
/// Room behind the longest bar, for its figure.
const RIGHT: f64 = 110.0;
const TOP: f64 = 56.0;
const ROW: f64 = 24.0;
const BAR: f64 = 16.0;

/// Told from its neighbours without colours, too: light and dark take turns.
fn fill(stage: Stage) -> &'static str {
    match stage {
        Stage::Socket => "#d9d9d9",
        Stage::Inner => "#7f9fc6",
        Stage::Tunnel => "#f2c14e",
        Stage::Encapsulation => "#c0643c",
        Stage::Outer => "#a8d5ba",
        Stage::Queue => "#4f7f6c",
        Stage::Device => "#b9a3cf",
    }
}

/// A bar for each way, of its stages' medians in nanoseconds.
pub fn svg(profile: &Profile) -> String {
    let longest = profile.ways.iter().map(|costs| costs.total.median).fold(1.0, f64::max);
    let scale = (WIDTH - LEFT - RIGHT) / longest;
    let bottom = TOP + ROW * profile.ways.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\" role=\"img\" \
         aria-label=\"Nanoseconds of each stage of sending a packet, by its way\">\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#fff\"/>\n",
        height = bottom + 32.0,
    );
    let mut at = LEFT;
    let is_there =
        |stage: &Stage| profile.ways.iter().any(|costs| costs.stages.iter().any(|(found, _)| found == stage));
    for stage in Stage::ALL.iter().filter(|stage| is_there(stage)) {
        let name = stage.name();
        let _ = writeln!(
            svg,
            "<rect x=\"{at:.1}\" y=\"16\" width=\"12\" height=\"12\" fill=\"{}\"/><text x=\"{:.1}\" y=\"26\">{name}</text>",
            fill(*stage),
            at + 16.0,
        );
        at += 30.0 + 8.0 * name.len() as f64;
    }
    for (row, costs) in profile.ways.iter().enumerate() {
        let y = TOP + ROW * row as f64;
        // Names are the lab's own and need no escapes.
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
            LEFT - 8.0,
            y + 12.5,
            costs.way,
        );
        let mut x = LEFT;
        for (stage, cost) in &costs.stages {
            // One that stamps cost more than it does itself has no width.
            let width = cost.median.max(0.0) * scale;
            let _ = writeln!(
                svg,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BAR}\" fill=\"{}\"><title>{} {:.0} ns</title></rect>",
                fill(*stage),
                stage.name(),
                cost.median,
            );
            x += width;
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\">{:.0} ns</text>",
            x + 6.0,
            y + 12.5,
            costs.total.median
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\" font-size=\"11\">medians of {} packets of {} bytes, Linux {}</text>\n</svg>",
        bottom + 18.0,
        profile.packets,
        profile.frame,
        profile.kernel,
    );
    svg
}
