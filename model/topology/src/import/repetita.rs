//! REPETITA's `.graph` (Gay, Schaus, Vissicchio, "REPETITA: repeatable experiments for performance evaluation of
//! traffic-engineering algorithms", 2017), in which Rocketfuel's maps (Spring, Mahajan, Wetherall, SIGCOMM 2002) are
//! passed on.
//!
//! ```text
//! NODES 2
//! label x y
//! London -0.13 51.51
//! Paris 2.35 48.86
//!
//! EDGES 2
//! label src dest weight bw delay
//! edge_0 0 1 10 10000000 1720
//! edge_1 1 0 10 10000000 1720
//! ```
//!
//! Each edge is one direction; the k-th from a to b and the k-th from b to a make one link. `bw` is in kbit/s and
//! `delay` in microseconds. Choice: where no node has coordinates and no delay reaches 1000, delays are milliseconds,
//! because those files hold Rocketfuel's estimates as they were (New York to London is 29); that is reported.

use super::draft::{Draft, DraftLink, HIGHEST_COST, Way};
use super::pairs::Pairs;
use super::{Imported, Importer, Options};
use crate::diagnostic::{Diagnostic, Report};
use crate::document::{Source, Span};
use crate::generate::MOST;
use plait_model_quantity::{Bandwidth, TimeSpan};

/// Reads REPETITA's `.graph`.
pub struct Repetita;

impl Importer for Repetita {
    fn name(&self) -> &'static str {
        "repetita"
    }

    fn extensions(&self) -> &'static [&'static str] {
        &["graph"]
    }

    fn sniff(&self, text: &str) -> bool {
        text.trim_start_matches('\u{feff}').split_ascii_whitespace().next() == Some("NODES")
    }

    fn import(&self, source: &Source, options: &Options) -> Result<Imported, Report> {
        let mut lines = Lines::new(&source.text);
        read(&mut lines)
            .map(|draft| draft.finish(source, options))
            .map_err(|fault| Report::new(source.clone(), vec![fault]))
    }
}

/// One line with words on it.
#[derive(Clone)]
struct Line<'a> {
    number: usize,
    span: Span,
    words: Vec<&'a str>,
}

/// The lines that have words on them.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Self { text, at, number: 0 }
    }

    fn next(&mut self) -> Option<Line<'a>> {
        while self.at < self.text.len() {
            let rest = &self.text[self.at..];
            let line = rest.split_inclusive('\n').next().unwrap_or(rest);
            let span = Span { start: self.at, end: self.at + line.trim_end().len() };
            self.at += line.len();
            self.number += 1;
            let words: Vec<&str> = line.split_whitespace().collect();
            if !words.is_empty() {
                return Some(Line { number: self.number, span, words });
            }
        }
        None
    }

    /// The next line, or a fault that says what is missing at the end.
    fn expect(&mut self, what: &str) -> Result<Line<'a>, Diagnostic> {
        let end = self.text.trim_end().len();
        self.next().ok_or_else(|| {
            Diagnostic::new(
                Span { start: end.saturating_sub(1), end },
                format!("the file ends where {what} should be"),
            )
            .help("the file is cut off; fetch it again, or lower the count in its header")
        })
    }
}

/// One direction of a link.
struct Arc {
    ends: (usize, usize),
    weight: u64,
    rate: Option<Bandwidth>,
    delay: f64,
    line: usize,
}

fn read(lines: &mut Lines<'_>) -> Result<Draft, Diagnostic> {
    let mut draft = Draft::new(Repetita.name());
    let count = header(lines, "NODES", "label x y")?;
    if count == 0 {
        return Err(Diagnostic::new(Span { start: 0, end: 1 }, "this network has no nodes")
            .help("write `NODES 2` or more"));
    }
    let mut placed = false;
    for index in 0..count {
        let line = lines.expect(&format!("node {} of {count}", index + 1))?;
        let [label, x, y] = line.words[..] else {
            return Err(words(&line, "a node", "label x y"));
        };
        let place = [number(&line, "x", x)?, number(&line, "y", y)?];
        placed |= place != [0.0, 0.0];
        draft.node(Some(label), &format!("n{index}"), line.number);
    }
    let arcs = header(lines, "EDGES", "label src dest weight bw delay")?;
    let mut read = Vec::new();
    for index in 0..arcs {
        let line = lines.expect(&format!("edge {} of {arcs}", index + 1))?;
        read.extend(arc(&line, count, &mut draft)?);
    }
    if let Some(line) = lines.next() {
        return Err(Diagnostic::new(line.span, format!("there is more after the last of {arcs} edges"))
            .help("raise the count after `EDGES`, or remove the line"));
    }
    let longest = read.iter().map(|arc| arc.delay).fold(0.0, f64::max);
    let milliseconds = !placed && longest > 0.0 && longest < 1000.0;
    if milliseconds {
        let why = format!(
            "no node has coordinates and the longest is {longest}: read as milliseconds, not microseconds"
        );
        draft.lose("unit of delays", why, None);
    }
    join(read, if milliseconds { 1e6 } else { 1e3 }, &mut draft);
    Ok(draft)
}

/// `NODES 12` and the line of column names below it.
fn header(lines: &mut Lines<'_>, word: &str, columns: &str) -> Result<usize, Diagnostic> {
    let line = lines.expect(&format!("`{word}`"))?;
    if line.words[0] != word {
        return Err(Diagnostic::new(line.span, format!("expected `{word}`, found `{}`", line.words[0]))
            .help(format!(
                "write `{word}` and how many there are; a wrong count before it also leads here"
            )));
    }
    let [_, count] = line.words[..] else {
        return Err(words(&line, "the header", &format!("{word} COUNT")));
    };
    let count = count.parse().ok().filter(|&count: &usize| count <= 2 * MOST);
    let count = count.ok_or_else(|| {
        Diagnostic::new(line.span, format!("`{}` is not a count up to {}", line.words[1], 2 * MOST))
            .help(format!("write `{word} 12`"))
    })?;
    let names = lines.expect(&format!("`{columns}`"))?;
    if names.words != columns.split(' ').collect::<Vec<_>>() {
        return Err(Diagnostic::new(names.span, format!("expected `{columns}`"))
            .help("add the line with the names of the columns"));
    }
    Ok(count)
}

fn words(line: &Line<'_>, what: &str, columns: &str) -> Diagnostic {
    let wanted = columns.split(' ').count();
    Diagnostic::new(line.span, format!("{what} has {wanted} words, this line has {}", line.words.len()))
        .help(format!("write `{columns}`, without spaces inside a word"))
}

fn number(line: &Line<'_>, what: &str, word: &str) -> Result<f64, Diagnostic> {
    word.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
        Diagnostic::new(line.span, format!("`{word}` is not a number"))
            .help(format!("write {what} as a number"))
    })
}

fn arc(line: &Line<'_>, nodes: usize, draft: &mut Draft) -> Result<Option<Arc>, Diagnostic> {
    let [label, from, to, weight, rate, delay] = line.words[..] else {
        return Err(words(line, "an edge", "label src dest weight bw delay"));
    };
    let end = |word: &str| {
        word.parse().ok().filter(|&node: &usize| node < nodes).ok_or_else(|| {
            Diagnostic::new(line.span, format!("`{word}` is no node"))
                .help(format!("nodes are numbered from 0 to {} in the order they stand", nodes - 1))
        })
    };
    let ends = (end(from)?, end(to)?);
    let amount = |what: &str, word: &str| {
        let value = number(line, what, word)?;
        if (0.0..1e15).contains(&value) {
            return Ok(value);
        }
        Err(Diagnostic::new(line.span, format!("`{word}` is out of range for {what}"))
            .help("write a number from 0 to 10^15"))
    };
    let (weight, rate, delay) = (amount("weight", weight)?, amount("bw", rate)?, amount("delay", delay)?);
    if ends.0 == ends.1 {
        draft.lose(
            format!("edge {label}"),
            "leads from a node to itself; it was left out",
            Some(line.number),
        );
        return Ok(None);
    }
    let rate = super::speed::bits(rate * 1000.0);
    if rate.is_none() {
        draft.lose(format!("edge {label}"), "has no bandwidth; no rate comes from it", Some(line.number));
    }
    if weight < 1.0 || weight.fract() != 0.0 {
        draft.lose(
            format!("edge {label}"),
            format!("weight {weight} became a whole number from 1"),
            Some(line.number),
        );
    }
    Ok(Some(Arc { ends, weight: libm::round(weight).max(1.0) as u64, rate, delay, line: line.number }))
}

/// Makes links of the directions: the first of each pair gives the forward conditions and the cost.
fn join(arcs: Vec<Arc>, nanoseconds: f64, draft: &mut Draft) {
    let highest = arcs.iter().map(|arc| arc.weight).max().unwrap_or(1);
    let divisor = highest.div_ceil(HIGHEST_COST);
    if divisor > 1 {
        draft.lose(
            "weights",
            format!("the highest is {highest}; all were divided by {divisor}, rounded"),
            None,
        );
    }
    let cost = |weight: u64| u32::try_from(((weight + divisor / 2) / divisor).max(1)).unwrap_or(u32::MAX);
    let mut pairs = Pairs::default();
    for arc in arcs {
        let delay = TimeSpan::from_nanos(libm::round(arc.delay * nanoseconds) as u64);
        let delay = Some(delay).filter(|delay| delay.as_nanos() > 0);
        let way = Way { rate: arc.rate, delay, ..Way::default() };
        let (a, b) = arc.ends;
        if let Some(link) = pairs.meet(a, b) {
            draft.links[link].ways[1] = way;
            let forward = draft.links[link].cost.unwrap_or(1);
            if forward != cost(arc.weight) {
                let what = format!("link {}-{}", draft.name(b), draft.name(a));
                let why = format!(
                    "costs {forward} there and {} back; {forward} was kept for both",
                    cost(arc.weight)
                );
                draft.lose(what, why, Some(arc.line));
            }
            continue;
        }
        draft.links.push(DraftLink { cost: Some(cost(arc.weight)), ..DraftLink::new([a, b], way) });
        pairs.wait(a, b, draft.links.len() - 1, arc.line);
    }
    for (link, line) in pairs.alone() {
        let [a, b] = draft.links[link].ends;
        let what = format!("link {}-{}", draft.name(a), draft.name(b));
        draft.lose(what, "is given in one direction only; the other is like it", Some(line));
    }
}
