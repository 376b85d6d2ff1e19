//! A question with factors: how far does a queue lengthen the way of a ping beside a flow?
//!
//!     cargo run --release --package plait-interface-library --example question

use plait::Network;

fn main() -> Result<(), plait::Error> {
    let network = Network::new("question")
        .title("What a queue does to a ping")
        .host("sender")
        .router("gateway")
        .host("receiver")
        .link("sender", "gateway")
        .link_with("gateway", "receiver", |link| link.rate("10Mbit").delay("10ms").queue("$queue"))
        .factor("queue", ["10ms", "200ms"])
        .repeats(2)
        .warmup("1s")
        .metric("rtt", |metric| metric.tcp("srtt_ms").on("sender").take("p95"))
        .metric("goodput", |metric| {
            metric.output("bulk").field("end.sum_received.bits_per_second").unit("bit/s")
        })
        .assert("goodput <= 10Mbit")
        .at("0s", |event| event.on("receiver").exec("iperf3 -s -1").background())
        .until("port 5201 open on receiver")
        .at("0s", |event| event.on("sender").name("bulk").exec("iperf3 -J -c receiver -t 3").timeout("20s"));

    let outcome = network
        .runner()
        .attempts(|attempt, done, all| println!("{done}/{all}  {attempt}"))
        .progress(|at, moment| println!("{at:7.2} s  {moment}"))
        .sweep()?;

    for cell in &outcome.summary.cells {
        for (name, metric) in &cell.metrics {
            let Some(mean) = metric.mean else { continue };
            println!(
                "{}  {name}: {:.4e} {}",
                cell.levels.join(" "),
                mean.value,
                outcome.summary.metrics[name]
            );
        }
    }
    println!("{}", outcome.folder.join("report.html").display());
    if outcome.summary.undecided() {
        println!("others took too much of this machine: no run was valid");
        return Ok(());
    }
    assert!(outcome.summary.succeeded());
    Ok(())
}
