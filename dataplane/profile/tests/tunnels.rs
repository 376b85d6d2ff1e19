//! What the kernel's tunnels between two hosts carry, and in what.

use plait_dataplane_links::scratch::Namespace;
use plait_dataplane_profile::Tunnel;
use plait_dataplane_profile::lab::{Lab, Way};
use plait_model_wire::number::{port, protocol};
use plait_model_wire::{ethernet, ipv4, nsh, udp, vxlan_gpe};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketType, recv, socket};
use std::net::UdpSocket;
use std::num::NonZeroU32;
use std::time::Duration;

/// In each tunnel packets of all sizes get there; the tunnels that the kernel does not have.
fn each_carries() -> Option<Vec<Tunnel>> {
    if !rustix::process::geteuid().is_root() {
        println!("skipped: tunnels are made by root only");
        return None;
    }
    let lab = Lab::tunnels(&Tunnel::ALL).unwrap();
    for way in &lab.ways {
        let seen = outside(&way.to.namespace, || exchange(way));
        let is_nsh = |frame: &&Vec<u8>| has_nsh(frame);
        assert_eq!(seen.iter().filter(is_nsh).count() >= 3, way.name == "nsh (kernel)", "{}", way.name);
    }
    Some(lab.absent.clone())
}

/// To and fro, the second one being longer than the link has room for with any header.
fn exchange(way: &Way) {
    let [near, far] = [&way.from, &way.to].map(|end| {
        let socket = end.namespace.run(|| UdpSocket::bind((end.address, 0))).unwrap().unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket
    });
    let mut buffer = [0; 2000];
    for bytes in [1, 1472] {
        for (from, to) in [(&near, &far), (&far, &near)] {
            from.send_to(&vec![7; bytes], to.local_addr().unwrap()).unwrap();
            let (length, sender) = to.recv_from(&mut buffer).unwrap();
            assert_eq!((length, sender), (bytes, from.local_addr().unwrap()), "{}", way.name);
        }
    }
}

/// The frames that cross a host's devices meanwhile.
fn outside(host: &Namespace, act: impl FnOnce()) -> Vec<Vec<u8>> {
    // ETH_P_ALL, in network order.
    let all = Protocol::from_raw(NonZeroU32::new(u32::from(3u16.to_be())).unwrap());
    let open = || socket(AddressFamily::PACKET, SocketType::RAW, Some(all));
    let socket = host.run(open).unwrap().unwrap();
    act();
    let (mut buffer, mut frames) = ([0; 4096], Vec::new());
    while let Ok((_, length)) = recv(&socket, &mut buffer[..], RecvFlags::DONTWAIT) {
        frames.push(buffer[..length].to_vec());
    }
    frames
}

/// Whether a frame carries one in NSH.
fn has_nsh(frame: &[u8]) -> bool {
    let service = || {
        let ip = ipv4::Packet::parse(ethernet::Frame::parse(frame).ok()?.payload()).ok()?;
        let datagram =
            (ip.protocol() == protocol::UDP).then(|| udp::Datagram::parse(ip.payload()).ok())??;
        let tunnel = (datagram.destination() == port::VXLAN_GPE).then(|| datagram.payload())?;
        let tunnel = vxlan_gpe::Packet::parse(tunnel).ok()?;
        (tunnel.next_protocol() == vxlan_gpe::next::NSH).then(|| nsh::Packet::parse(tunnel.payload()).ok())?
    };
    service().is_some_and(|service| service.next_protocol() == nsh::next::ETHERNET)
}

#[test]
fn each_that_there_is_carries_packets_of_all_sizes() {
    if let Some(absent) = each_carries() {
        assert!(!absent.contains(&Tunnel::Vxlan));
    }
}

#[test]
#[ignore = "for kernels that have them: a guest's runs it in interface/cli, tests/interop.rs"]
fn none_is_missing_and_each_carries_packets() {
    assert_eq!(each_carries(), Some(Vec::new()));
}
