//! What a dump says while what it tells changes, in a namespace of the test's own.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_netlink::Netlink;
use std::time::{Duration, Instant};

#[test]
fn what_stays_is_in_every_dump_once_however_much_comes_and_goes() {
    let built = || -> std::io::Result<_> {
        let (here, there) = (Namespace::new()?, Namespace::new()?);
        // More devices than one read tells.
        for number in 0..40 {
            here.veth(&format!("stays{number}"), &there, &format!("peer{number}"))?;
        }
        Ok((here, there))
    };
    let Ok((here, there)) = built() else {
        println!("skipped: namespaces cannot be made here");
        return;
    };
    std::thread::scope(|scope| {
        let passing = scope.spawn(|| {
            let (began, mut came) = (Instant::now(), 0u32);
            while began.elapsed() < Duration::from_secs(2) {
                here.veth("comes", &there, "and-goes").unwrap();
                here.run(|| {
                    let netlink = Netlink::open().unwrap();
                    let mut ask = LinkMessage::default();
                    ask.attributes.push(LinkAttribute::IfName("comes".to_owned()));
                    netlink.request(RouteNetlinkMessage::DelLink(ask), 0).unwrap();
                })
                .unwrap();
                came += 1;
            }
            came
        });
        let look = || {
            let netlink = Netlink::open().unwrap();
            let mut looks = 0u32;
            while !passing.is_finished() {
                let ask = RouteNetlinkMessage::GetLink(LinkMessage::default());
                let name_of = |message: Option<RouteNetlinkMessage>| {
                    let Some(RouteNetlinkMessage::NewLink(link)) = message else { return None };
                    link.attributes.into_iter().find_map(|attribute| match attribute {
                        LinkAttribute::IfName(name) => Some(name),
                        _ => None,
                    })
                };
                let mut names = netlink.dump_as(ask, name_of).unwrap();
                names.retain(|name| name.starts_with("stays"));
                names.sort();
                assert_eq!(names.len(), 40, "{names:?}");
                names.dedup();
                assert_eq!(names.len(), 40, "a device is told twice");
                looks += 1;
            }
            looks
        };
        let looks = here.run(look).unwrap();
        let came = passing.join().unwrap();
        println!("{looks} looks while {came} devices came and went");
        assert!(looks > 0 && came > 0);
    });
}
