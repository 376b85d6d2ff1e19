//! The links: their proof, what they carried, their queues and losses over time.

use super::{add, figure};
use crate::report::data::{Data, LinkData};
use crate::report::marks::Marks;
use crate::report::plot::{Plot, Size};
use crate::report::scale::Quantity;
use crate::report::series::Series;
use crate::report::tables;
use crate::report::text::{bytes, count, escape, plural};
use crate::results::Results;

/// Choice: a page shows the queues of so many directions; the table has all of them.
const MOST_QUEUES: usize = 8;

/// What each link was asked, did, held and lost.
pub(super) fn section(html: &mut String, results: &Results, data: &Data, marks: &Marks) {
    let mut body = tables::verification(results).unwrap_or_default();
    if data.links.is_empty() {
        if !body.is_empty() {
            add(html, "Links", &body);
        }
        return;
    }
    body += &tables::links(results, data);
    let lively = |link: &&LinkData| link.queue.high() > 0.0 || link.lost + link.queue_dropped > 0;
    let mut shown: Vec<&LinkData> = data.links.iter().filter(lively).collect();
    let quiet = data.links.len() - shown.len();
    // Those with most traffic, back in the order of the file.
    let mut by_bytes: Vec<u64> = shown.iter().map(|link| link.bytes).collect();
    by_bytes.sort_unstable_by(|a, b| b.cmp(a));
    let least = by_bytes.get(MOST_QUEUES - 1).copied().unwrap_or(0);
    shown.retain(|link| link.bytes >= least);
    shown.truncate(MOST_QUEUES);
    for link in shown {
        let name = results.network.direction_name(&link.link, link.direction);
        let own = Marks {
            changes: marks.changes.clone(),
            outages: marks.outages.clone(),
            taints: results
                .verdict
                .reasons
                .iter()
                .filter(|reason| reason.link.as_deref().is_none_or(|known| known == link.link))
                .map(|reason| reason.seconds)
                .collect(),
        };
        let half = |title: &str, note: String, quantity: Quantity, series: Vec<&Series>, filled: bool| {
            let describe = format!("{title} from {name}, link {}", link.link);
            let plot = Plot {
                describe,
                quantity,
                end: results.duration_s,
                series,
                marks: &own,
                size: Size::Half,
                filled,
            };
            figure(title, &plot.svg(), &note)
        };
        body +=
            &format!("<h3>{} <small>{}</small></h3><div class=\"pair\">", escape(&name), escape(&link.link));
        let longest = format!("at most {}", bytes(link.queue.high() as u64));
        body += &half("Queue", longest, Quantity::Bytes, vec![&link.queue], true);
        let lost = format!(
            "<span class=\"key c1\"></span>{} dropped by the queue &ensp;<span class=\"key c0\"></span>{} lost as asked",
            count(link.queue_dropped),
            count(link.lost)
        );
        let losses = vec![&link.losses, &link.drops];
        body += &half("Losses", lost, Quantity::PacketsPerSecond, losses, false);
        body += "</div>";
    }
    if quiet > 0 {
        body += &format!(
            "<p class=\"quiet\">{} neither queued nor lost a packet.</p>",
            plural(quiet, "direction", "directions")
        );
    }
    add(html, "Links", &body);
}
