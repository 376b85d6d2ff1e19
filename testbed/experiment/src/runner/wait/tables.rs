//! The kernel's tables of sockets and routes as text: `/proc/net/{tcp,udp,route}` and their namesakes for IPv6
//! (proc_net_tcp.rst; `tcp4_seq_show`, `udp4_seq_show`, `fib_route_seq_show`, `rt6_native_seq_show`).
//!
//! Lines that are none of these are passed over: their heads, and whatever else may stand there.

use crate::section::Protocol;
use std::collections::BTreeSet;

/// States of a socket as the kernel numbers them: listening for TCP, without a peer for UDP.
const LISTEN: u8 = 0x0a;
const CLOSE: u8 = 0x07;

/// Columns of a route that count its use; they change though the route does not.
const ROUTE_COUNTERS: [usize; 2] = [4, 5];
const IPV6_ROUTE_COUNTERS: [usize; 2] = [6, 7];

/// Whether a table of sockets has one that takes what anybody sends to a port.
pub(super) fn is_open(table: &str, protocol: Protocol, port: u16) -> bool {
    let state = match protocol {
        Protocol::Tcp => LISTEN,
        Protocol::Udp => CLOSE,
    };
    table.lines().filter_map(socket).any(|socket| socket == (port, state))
}

/// `0: 0100007F:0016 00000000:0000 0A …`: local port and state.
fn socket(line: &str) -> Option<(u16, u8)> {
    let mut columns = line.split_whitespace();
    columns.next()?.strip_suffix(':')?;
    let (_, port) = columns.next()?.rsplit_once(':')?;
    let state = columns.nth(1)?;
    Some((u16::from_str_radix(port, 16).ok()?, u8::from_str_radix(state, 16).ok()?))
}

/// The routes of a table, without what changes when they are used.
///
/// The tables show one next hop of an IPv4 route that has several.
pub(super) fn routes(table: &str) -> BTreeSet<String> {
    table.lines().filter_map(route).collect()
}

fn route(line: &str) -> Option<String> {
    let columns: Vec<&str> = line.split_whitespace().collect();
    let counters = match columns.as_slice() {
        ["Iface", ..] => return None,
        [.., _] if columns.len() == 11 => ROUTE_COUNTERS,
        [destination, ..] if columns.len() == 10 && destination.len() == 32 => IPV6_ROUTE_COUNTERS,
        _ => return None,
    };
    let kept = columns.iter().enumerate().filter(|(place, _)| !counters.contains(place));
    Some(kept.map(|(_, column)| *column).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TCP: &str = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 8119 1 ffff 100 0 0 10 0
   1: 0100007F:0016 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 8120 1 ffff 100 0 0 10 0
  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt
   0: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000
";
    const UDP: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref
  412: 00000000:0035 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 9 2 ffff 0
  413: 0100007F:0036 0100007F:C350 01 00000000:00000000 00:00000000 00000000     0        0 9 2 ffff 0
";

    #[test]
    fn a_tcp_port_is_open_when_a_socket_listens_at_it() {
        assert!(is_open(TCP, Protocol::Tcp, 8080));
        assert!(is_open(TCP, Protocol::Tcp, 443), "an IPv6 socket listens too");
        assert!(!is_open(TCP, Protocol::Tcp, 22), "a connection from a port is no listener at it");
        assert!(!is_open(TCP, Protocol::Tcp, 80));
    }

    #[test]
    fn a_udp_port_is_open_when_a_socket_without_a_peer_has_it() {
        assert!(is_open(UDP, Protocol::Udp, 53));
        assert!(!is_open(UDP, Protocol::Udp, 54), "this one hears its peer only");
    }

    #[test]
    fn a_route_that_is_used_is_the_same_route() {
        let table = |used: u32, gateway: &str| {
            format!(
                "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                 eth0\t0001000A\t{gateway}\t0003\t{used}\t{used}\t20\t00FFFFFF\t0\t0\t0\n\
                 fd000000000000000000000000000000 40 00000000000000000000000000000000 00 \
                 00000000000000000000000000000000 00000100 {used:08x} {used:08x} 00000001     eth0\n"
            )
        };
        assert_eq!(routes(&table(0, "0100000A")).len(), 2, "the head is no route");
        assert_eq!(routes(&table(0, "0100000A")), routes(&table(7, "0100000A")));
        assert_ne!(routes(&table(0, "0100000A")), routes(&table(0, "0200000A")));
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parsers_panic(text in "(\\PC|[0-9a-fA-F: \t\n]){0,200}", port: u16) {
            is_open(&text, Protocol::Tcp, port);
            is_open(&text, Protocol::Udp, port);
            routes(&text);
        }
    }
}
