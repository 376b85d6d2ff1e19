//! The mirror that measurements send packets to.

use super::*;

#[test]
fn a_mirror_sends_back_puts_as_it_was_forwards_swallows_and_notes() {
    if !may_load() {
        return;
    }
    let packet = arriving(&overlay_header(), &[1; 90]);
    let mirror = Mirror::load(packet[..RELAYED].try_into().unwrap()).unwrap();
    let sent = mirror.reflect(&packet).unwrap();
    assert_eq!(sent.verdict, Verdict::Redirected);
    let frame = ethernet::Frame::parse(&sent.packet).unwrap();
    assert_eq!((frame.destination(), frame.source(), frame.payload()), (GATEWAY, UNDERLAY, &packet[14..]));

    let mut changed = packet.clone();
    changed[..RELAYED].fill(0xee);
    let taken = mirror.restore(&changed).unwrap();
    assert_eq!((taken.verdict, &taken.packet), (Verdict::Dropped, &packet));
    assert_eq!(mirror.swallow(&packet).unwrap().verdict, Verdict::Dropped);
    assert_eq!(mirror.swallowed().unwrap(), 1);
    assert_eq!(mirror.forward(&packet, 0).unwrap().verdict, Verdict::Dropped);
    assert_eq!(mirror.forward(&packet, 1).unwrap().verdict, Verdict::Redirected);
    assert_eq!(mirror.restore(&[0xee; 40]).unwrap().packet, [0xee; 40], "one that is shorter stays as it is");

    // For an address of each kind, and for one that mixes two; to the original's port, and to another.
    let counts = || mirror.sightings().unwrap().map(|kinds| kinds.map(|sighting| sighting.packets));
    for (bytes, kind) in [([0x10; 5], 0), ([0x11; 5], 1), ([0x11, 0x11, 0x10, 0x11, 0x11], 2)] {
        let mut packet = packet.clone();
        packet[1..6].copy_from_slice(&bytes);
        let mut other = packet.clone();
        other[14 + 20 + 3] ^= 1;
        mirror.forget_sightings().unwrap();
        for (packet, of) in [(&packet, 0), (&other, 1), (&packet, 0)] {
            assert_eq!(mirror.sight(packet).unwrap().verdict, Verdict::Dropped);
            let sighting = mirror.sightings().unwrap()[of][kind];
            assert!(sighting.first > 0 && sighting.last >= sighting.first, "{sighting:?}");
        }
        let mut expected = [[0; 3]; 2];
        (expected[0][kind], expected[1][kind]) = (2, 1);
        assert_eq!(counts(), expected);
    }
    let arp = support::frame(STATION_A, STATION_B, ether_type::ARP, &[1; 60]);
    assert_eq!(mirror.sight(&arp).unwrap().verdict, Verdict::Next, "what is no UDP goes on");
}
