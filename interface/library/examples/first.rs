//! A first network, and a ping through it.
//!
//!     cargo run --release --package plait-interface-library --example first

use plait::Network;

fn main() -> Result<(), plait::Error> {
    let network =
        Network::new("first")
            .host("a")
            .router("r")
            .host("b")
            .link("a", "r")
            .link_with("r", "b", |link| link.rate("10Mbit").delay("20ms").queue("50ms"));

    // It is up as long as this variable is.
    let testbed = network.up()?;
    let ping = testbed.on("a").exec("ping -c 3 -i 0.2 b")?;
    print!("{}", ping.stdout);
    assert!(ping.success());

    for found in testbed.link("r-b").check()? {
        let plait::Verification { direction, property, asked, got, unit, .. } = found;
        println!("{direction:?} {property}: asked {asked:.3} {unit}, got {got:.3} {unit}");
    }
    Ok(())
}
