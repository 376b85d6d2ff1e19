//! A network that changes while packets flow: a link slows down and is cut, and a host comes.
//!
//!     cargo run --release --package plait-interface-library --example change

use plait::{Network, TimeSpan};
use std::time::Duration;

fn main() -> Result<(), plait::Error> {
    let network =
        Network::new("change")
            .host("a")
            .router("r")
            .host("b")
            .link("a", "r")
            .link_with("r", "b", |link| link.delay(TimeSpan::from_millis(10)).dynamic());
    let testbed = network.up()?;

    // What is spawned is killed when it is dropped.
    let pings = testbed.on("a").spawn("ping -i 0.1 b")?;
    testbed.link("r-b").set(|link| link.delay(Duration::from_millis(40)).loss("1%"))?;
    std::thread::sleep(Duration::from_secs(1));
    testbed.link("r-b").fail()?;
    let answer = testbed.on("a").timeout(Duration::from_secs(2)).exec("ping -c 1 -W 1 b")?;
    assert!(!answer.success(), "nothing passes a link that failed");
    testbed.link("r-b").recover()?;
    let said = pings.stop()?.stdout;
    println!("{}", said.lines().rev().take(3).collect::<Vec<_>>().join("\n"));

    // Another network; what does not differ is not touched.
    let larger = network.host("c").link("r", "c");
    for step in testbed.apply(&larger)? {
        println!("{step}");
    }
    assert!(testbed.on("a").exec("ping -c 1 c")?.success());
    testbed.down()
}
