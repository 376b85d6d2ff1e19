//! The page of an experiment: what its runs say together.

use super::distribution::DistributionPlot;
use super::levels::{COLOURS, LevelPlot, Point, Series};
use super::page::{FOOT, add, facts, figure, head};
use super::tables::{state, table};
use super::text::{escape, measured, plural, range, short};
use crate::analysis::{Effect, Estimate};
use crate::sweep::{CellSummary, Summary};
use crate::world::VerdictWord;

/// More panels than a reader compares.
const MOST_PANELS: usize = 12;
/// More levels than fit beside each other.
const MOST_LEVELS: usize = 12;

/// The whole page.
pub(super) fn page(summary: &Summary) -> String {
    let title = summary.question.title.clone().unwrap_or_else(|| summary.name.clone());
    let mut html = head(&summary.plait, &title);
    header(&mut html, summary, &title);
    trust(&mut html, summary);
    for (metric, unit) in &summary.metrics {
        let mut body = pictures(summary, metric, unit);
        body += &spread(summary, metric, unit);
        body += &cells(summary, metric, unit);
        body += &effects(summary, metric, unit);
        body += &sensitivity(summary, metric);
        add(&mut html, &escape(metric), &body);
    }
    runs(&mut html, summary);
    provenance(&mut html, summary);
    html + FOOT
}

fn header(html: &mut String, summary: &Summary, title: &str) {
    *html += &format!("<header>\n<h1>{}</h1>\n", escape(title));
    if let Some(question) = &summary.question.question {
        *html += &format!("<p class=\"question\">{}</p>\n", escape(question));
    }
    let counting = summary.runs.iter().filter(|run| run.counts).count();
    let mut known = vec![
        ("Network", escape(&summary.name)),
        ("Cells", summary.cells.len().to_string()),
        ("Runs", format!("n = {counting}")),
        ("Attempts", summary.attempts.to_string()),
        ("Seed", summary.seed.to_string()),
    ];
    if let Some(started) = &summary.started {
        known.insert(1, ("Started", escape(&started.replace('T', " ").replace('Z', " UTC"))));
    }
    if let Some(class) = summary.accuracy {
        known.push(("Accuracy", format!("class {class:?}")));
    }
    *html += &facts(&known);
    for note in &summary.question.notes {
        *html += &format!("<p>{}</p>\n", escape(note));
    }
    *html += "</header>\n";
}

/// What a reader must know before any figure.
fn trust(html: &mut String, summary: &Summary) {
    let valid: usize = summary.cells.iter().map(|cell| cell.valid).sum();
    let tainted: usize = summary.cells.iter().map(|cell| cell.tainted).sum();
    let (class, badge) = if tainted == 0 { ("good", "✓ valid") } else { ("bad", "✗ partly tainted") };
    let more = match tainted {
        0 => "In every run that counts, links did what was asked of them.".to_owned(),
        _ => format!(
            "In {} no attempt had links that did what was asked all the time. Their values stand apart and are in no figure.",
            plural(tainted, "run", "runs")
        ),
    };
    *html += &format!(
        "<div class=\"verdict {class}\"><p><strong class=\"badge\">{badge}</strong> {} counted, {} made, {} of them tainted and tried again. {more}</p></div>\n",
        plural(valid, "run", "runs"),
        plural(summary.attempts, "attempt", "attempts"),
        summary.tainted
    );
    if summary.failed > 0 {
        *html += &format!(
            "<div class=\"verdict bad\"><p><strong class=\"badge\">✗ failed</strong> In {} something did not happen as the file says; see the runs below.</p></div>\n",
            plural(summary.failed, "run", "runs")
        );
    }
    if !summary.assertions.is_empty() {
        let rows = summary.assertions.iter().map(|assertion| {
            let good = assertion.broken == 0 && assertion.held > 0;
            vec![
                escape(&assertion.text),
                state(good, if good { "holds" } else { "does not hold" }),
                assertion.held.to_string(),
                assertion.broken.to_string(),
                assertion.undecided.to_string(),
            ]
        });
        let headings = ["Assertion", "State", "#Held in", "#Broken in", "#Undecided (tainted)"];
        *html += &table("What was asserted of each run, in runs", &headings, rows.collect());
    }
}

/// The metric over the factor with most levels, in a colour for each level of the next and a panel for each choice of
/// the others.
fn pictures(summary: &Summary, metric: &str, unit: &str) -> String {
    let full =
        summary.cells.len() == summary.factors.iter().map(|factor| factor.levels.len()).product::<usize>();
    if summary.factors.is_empty() || !full {
        return String::new();
    }
    let mut order: Vec<usize> = (0..summary.factors.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(summary.factors[*at].levels.len()));
    let (axis, colour, rest) = (order[0], order.get(1).copied(), order.get(2..).unwrap_or_default());
    let fits = summary.factors[axis].levels.len() <= MOST_LEVELS
        && colour.is_none_or(|colour| summary.factors[colour].levels.len() <= COLOURS);
    let mut panels: Vec<Vec<(usize, &String)>> = vec![Vec::new()];
    for at in rest {
        let levels = &summary.factors[*at].levels;
        let with = |panel: &Vec<(usize, _)>, level| panel.iter().copied().chain([(*at, level)]).collect();
        panels = panels
            .iter()
            .flat_map(|panel| levels.iter().map(|level| with(panel, level)).collect::<Vec<_>>())
            .collect();
    }
    if !fits || panels.len() > MOST_PANELS {
        return String::new();
    }
    let tops = summary.cells.iter().filter_map(|cell| cell.metrics.get(metric)).flat_map(|metric| {
        let high = metric.mean.and_then(|mean| mean.interval).map(|(_, high)| high);
        metric.values.iter().copied().chain(high)
    });
    let high = tops.filter(|top| top.is_finite()).fold(0.0, f64::max);
    let legend = colour.map(|colour| legend(&summary.factors[colour].name, &summary.factors[colour].levels));
    let drawn: String = panels
        .iter()
        .filter_map(|panel| {
            let title: Vec<String> =
                panel.iter().map(|(at, level)| format!("{} {level}", summary.factors[*at].name)).collect();
            let title = title.join(", ");
            let plot = LevelPlot {
                describe: format!("{metric} by {} {title}", summary.factors[axis].name),
                unit,
                factor: &summary.factors[axis].name,
                levels: &summary.factors[axis].levels,
                series: series(summary, metric, axis, colour, panel),
                high,
            };
            Some(figure(&escape(&title), &plot.svg()?, ""))
        })
        .collect();
    if drawn.is_empty() {
        return drawn;
    }
    format!(
        "{}<div class=\"pair\">{drawn}</div><p class=\"quiet\">Large dots are means over valid runs, bars their 95 % intervals, small dots the runs.</p>",
        legend.unwrap_or_default()
    )
}

fn legend(factor: &str, levels: &[String]) -> String {
    let items: String = levels
        .iter()
        .enumerate()
        .map(|(at, level)| {
            format!("<li><span class=\"key c{at}\"></span>{} {}</li>", escape(factor), escape(level))
        })
        .collect();
    format!("<ul class=\"legend\">{items}</ul>")
}

fn series<'a>(
    summary: &'a Summary,
    metric: &str,
    axis: usize,
    colour: Option<usize>,
    panel: &[(usize, &String)],
) -> Vec<Series<'a>> {
    let point = |level: &String, shade: Option<&String>| {
        let matches = |cell: &&CellSummary| {
            cell.levels[axis] == *level
                && colour.is_none_or(|colour| Some(&cell.levels[colour]) == shade)
                && panel.iter().all(|(at, level)| cell.levels[*at] == **level)
        };
        let found = summary.cells.iter().find(matches)?.metrics.get(metric)?;
        let mean = found.mean?;
        Some(Point { mean: mean.value, interval: mean.interval, values: &found.values })
    };
    let one = |shade: Option<&String>| Series {
        label: shade.cloned().unwrap_or_default(),
        points: summary.factors[axis].levels.iter().map(|level| point(level, shade)).collect(),
    };
    match colour {
        Some(colour) => summary.factors[colour].levels.iter().map(|shade| one(Some(shade))).collect(),
        None => vec![one(None)],
    }
}

/// How the runs of each cell are spread, where cells can be told apart and have runs enough to be spread.
fn spread(summary: &Summary, metric: &str, unit: &str) -> String {
    const FEWEST: usize = 5;
    let values =
        |cell: &CellSummary| cell.metrics.get(metric).map(|found| found.values.clone()).unwrap_or_default();
    let all: Vec<_> = summary.cells.iter().map(|cell| (cell.levels.join(" "), values(cell))).collect();
    if all.len() > COLOURS || all.iter().any(|(_, values)| values.len() < FEWEST) {
        return String::new();
    }
    let series =
        all.iter().zip(0..).map(|((label, values), colour)| (label.as_str(), colour, values.clone()));
    let describe = format!("How {metric} is spread over the runs of each cell");
    let plot = DistributionPlot { describe, unit, series: series.collect() };
    let picture = plot.svg().map(|picture| figure("Spread of the runs", &picture, "a step is a valid run"));
    let labels: Vec<String> = all.into_iter().map(|(label, _)| label).collect();
    picture.map_or(String::new(), |picture| {
        format!("{}<div class=\"pair\">{picture}</div>", legend("", &labels))
    })
}

fn interval(estimate: Option<Estimate>, unit: &str) -> String {
    let ends = estimate.and_then(|estimate| estimate.interval);
    ends.map_or("–".to_owned(), |(low, high)| range(low, high, unit))
}

fn cells(summary: &Summary, metric: &str, unit: &str) -> String {
    let names: Vec<String> = summary.factors.iter().map(|factor| escape(&factor.name)).collect();
    let headings: Vec<&str> = ["#Cell"]
        .into_iter()
        .chain(names.iter().map(String::as_str))
        .chain(["#n", "#Mean", "#95 % (Student)", "#95 % (bootstrap)", "#Median", "#Tainted, apart"])
        .collect();
    let rows = summary.cells.iter().map(|cell| {
        let known = cell.metrics.get(metric);
        let value =
            |estimate: Option<Estimate>| estimate.map_or("–".to_owned(), |of| measured(of.value, unit));
        let tainted =
            known.map(|known| known.tainted.iter().map(|value| measured(*value, unit)).collect::<Vec<_>>());
        let mut row = vec![cell.cell.to_string()];
        row.extend(cell.levels.iter().map(|level| escape(level)));
        row.extend([
            known.map_or(0, |known| known.values.len()).to_string(),
            value(known.and_then(|known| known.mean)),
            interval(known.and_then(|known| known.mean), unit),
            interval(known.and_then(|known| known.bootstrap), unit),
            value(known.and_then(|known| known.median)),
            tainted.filter(|values| !values.is_empty()).map_or("–".to_owned(), |values| values.join(", ")),
        ]);
        row
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let caption = "Each cell, over its valid runs";
    match rows.len() {
        0..=40 => table(caption, &headings, rows),
        many => {
            format!("<details><summary>{many} cells</summary>{}</details>", table(caption, &headings, rows))
        }
    }
}

fn effects(summary: &Summary, metric: &str, unit: &str) -> String {
    let Some(effects) = summary.effects.get(metric).filter(|effects| !effects.is_empty()) else {
        return String::new();
    };
    let name = |effect: &Effect| {
        let names: Vec<String> = effect.factors.iter().map(|at| escape(&summary.factors[*at].name)).collect();
        names.join(" × ")
    };
    let rows = effects.iter().map(|effect| {
        let share = format!("{} %", short(100.0 * effect.share));
        let p =
            effect.p.map_or("–".to_owned(), |p| if p < 0.001 { "&lt; 0.001".to_owned() } else { short(p) });
        vec![name(effect), share, effect.f.map_or("–".to_owned(), short), effect.degrees.to_string(), p]
    });
    let mut html = table(
        "What each factor does, and what two do beyond that (analysis of variance over runs)",
        &["Factor", "#Of the variation", "#F", "#Degrees", "#p"],
        rows.collect(),
    );
    let levels = effects.iter().filter(|effect| effect.factors.len() == 1).flat_map(|effect| {
        let factor = &summary.factors[effect.factors[0]];
        factor.levels.iter().zip(&effect.levels).map(|(level, estimate)| {
            let sign = if estimate.value >= 0.0 { "+" } else { "" };
            vec![
                escape(&factor.name),
                escape(level),
                format!("{sign}{}", measured(estimate.value, unit)),
                interval(Some(*estimate), unit),
                estimate.n.to_string(),
            ]
        })
    });
    html += &table(
        "Main effects: how far the mean at a level is from the mean of all",
        &["Factor", "Level", "#Effect", "#95 %", "#n"],
        levels.collect(),
    );
    html
}

fn sensitivity(summary: &Summary, metric: &str) -> String {
    let known = summary.sensitivity.get(metric).map(Vec::as_slice).unwrap_or_default();
    let rows: Vec<Vec<String>> = summary
        .factors
        .iter()
        .zip(known)
        .filter_map(|(factor, correlation)| {
            let correlation = (*correlation)?;
            Some(vec![
                escape(&factor.name),
                short(correlation.value),
                interval(Some(correlation), ""),
                correlation.n.to_string(),
            ])
        })
        .collect();
    if rows.is_empty() || summary.effects.contains_key(metric) {
        return String::new();
    }
    table(
        "Sensitivity: Spearman's rank correlation of levels and cell means",
        &["Factor", "#ρ", "#95 %", "#Cells"],
        rows,
    )
}

fn runs(html: &mut String, summary: &Summary) {
    let rows = summary.runs.iter().map(|run| {
        let valid = run.verdict == VerdictWord::Valid;
        let passed = match (run.interrupted, run.passed) {
            (true, _) => "ended early".to_owned(),
            (false, passed) => state(passed, if passed { "passed" } else { "failed" }),
        };
        vec![
            format!("<a href=\"runs/{0}/report.html\">{0}</a>", escape(&run.run)),
            escape(&summary.cells[run.cell - 1].levels.join(" ")),
            state(valid, if valid { "valid" } else { "tainted" }),
            passed,
            if run.counts { "yes" } else { "no" }.to_owned(),
            format!("{} s", short(run.duration_s)),
            escape(&run.complaints().join("; ")),
        ]
    });
    let headings = ["Run", "Cell", "Links", "Commands", "Counts", "#Lasted", "What failed"];
    let body = table("Every attempt, in its own folder with a report of its own", &headings, rows.collect());
    let open = if summary.failed > 0 { " open" } else { "" };
    let head = plural(summary.runs.len(), "attempt", "attempts");
    add(html, "Runs", &format!("<details{open}><summary>{head}</summary>{body}</details>"));
}

fn provenance(html: &mut String, summary: &Summary) {
    let row = |name: &str, value: String| format!("<tr><th scope=\"row\">{name}</th><td>{value}</td></tr>");
    let mut rows = row("Plait", escape(&summary.plait));
    if let Some(machine) = &summary.machine {
        rows += &row("Kernel", escape(&machine.kernel));
        rows +=
            &row("Machine", format!("{}, {}", escape(&machine.cpu), plural(machine.cores, "core", "cores")));
    }
    rows += &row("Seed", summary.seed.to_string());
    let hash = escape(&summary.sha256);
    rows += &row(
        "Network file",
        format!("{}, SHA-256 <code class=\"hash\">{hash}</code>", escape(&summary.file)),
    );
    rows += &row(
        "Statistics",
        "The unit is the run: each gives one value per metric, and n, intervals and tests are over valid runs. Student's interval of the mean; the bias-corrected and accelerated bootstrap (2,000 resamples); effects by the analysis of unweighted cell means with the pooled variance within cells. Whether a run is tried again depends on its links and never on its result."
            .to_owned(),
    );
    let body = format!(
        "<p>From inside this folder:</p><pre><code>plait run network.yaml</code></pre><div class=\"scroll\"><table class=\"facts\"><tbody>{rows}</tbody></table></div>"
    );
    add(html, "Run it again", &body);
}
