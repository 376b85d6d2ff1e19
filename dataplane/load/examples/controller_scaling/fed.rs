//! What the model is fed with: the costs of stages, by workers, as they were measured.

use super::DESIGNS;
use super::measure::Measured;
use super::model::Costs;
use plait_control_openflow::Design;

/// Costs for every number of workers.
pub struct Fed {
    /// By workers: of those that all serve all switches, and of those that have switches of their own.
    all: Vec<Costs>,
    own: Vec<Costs>,
    /// Nanoseconds by which a request of the shared queue costs more than one of round robin, with one worker.
    queue: f64,
}

impl Fed {
    /// From one worker that cuts the same work into smaller pieces, and of each design by workers.
    pub fn new(fine: &Measured, by_workers: &[&[Measured]]) -> Self {
        let [all, queue, own] =
            [Design::RoundRobin, Design::SharedQueue, Design::StaticPartition].map(|design| {
                let place = DESIGNS.iter().position(|(_, of)| *of == design);
                by_workers[place.expect("each is there")]
            });
        // Two ways to cut the same work tell what a piece costs, and what a request.
        let alone = Costs::between(&all[0].counted, &fine.counted);
        let beside = |of: &[Measured]| {
            let others = of[1..].iter().map(|of| alone.beside(&all[0].counted, &of.counted));
            std::iter::once(alone).chain(others).collect()
        };
        let queue = (1e9 / queue[0].rate - 1e9 / all[0].rate).max(0.0);
        Self { all: beside(all), own: beside(own), queue }
    }

    /// Of a number of workers; what was measured of the most, where there are more.
    pub fn costs(&self, design: Design, workers: usize) -> Costs {
        let of = match design {
            Design::RoundRobin | Design::SharedQueue => &self.all,
            Design::StaticPartition | Design::DynamicPartition => &self.own,
        };
        let costs = of[workers.min(of.len()) - 1];
        let queue = if design == Design::SharedQueue { self.queue } else { 0.0 };
        Costs { decide: costs.decide + queue, ..costs }
    }

    /// Whether what was measured of so many workers of a design is what the model is fed with for them. Of the shared queue that is a
    /// difference, which is none where the queue was the faster one.
    pub fn is_of(design: Design, workers: usize) -> bool {
        match design {
            Design::RoundRobin => true,
            Design::StaticPartition => workers > 1,
            Design::SharedQueue | Design::DynamicPartition => false,
        }
    }

    /// Prints it.
    pub fn tell(&self) {
        let mut columns = vec![("alone".to_owned(), self.all[0])];
        for (place, (all, own)) in self.all.iter().zip(&self.own).enumerate().skip(1) {
            columns.push((format!("{} that serve all", place + 1), *all));
            columns.push((format!("{} that have their own", place + 1), *own));
        }
        let heads: Vec<&str> = columns.iter().map(|(head, _)| &**head).collect();
        println!("| ns a piece + a request | {} |", heads.join(" | "));
        println!("| --- {}|", "| ---: ".repeat(columns.len()));
        let row = |name: &str, of: &dyn Fn(&Costs) -> (f64, f64)| {
            let cells = columns.iter().map(|(_, costs)| of(costs));
            let cells: Vec<String> = cells.map(|(piece, each)| format!("{piece:.0} + {each:.0}")).collect();
            println!("| {name} | {} |", cells.join(" | "));
        };
        row("read, cut, parse; a piece is a visit", &|of| (of.visit, of.parse));
        row("control runtime and application; a batch", &|of| (of.batch, of.decide));
        row("output; a batch's part for a switch", &|of| (of.output, of.answer));
        println!("\nOf the shared queue a request takes {:.0} ns more.\n", self.queue);
    }
}
