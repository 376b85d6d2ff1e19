//! The distribution's Open vSwitch in a node, with its datapath in user space: what a user without root can have.

mod common;

use common::{Person, START_OPEN_VSWITCH, as_root_and_as_user, eventually, has_open_vswitch};

/// A bridge of both interfaces.
const BRIDGE: &str = "ovs-vsctl --db=unix:$OVS_RUNDIR/db.sock --timeout=10 add-br br0 \\
    -- set bridge br0 datapath_type=netdev -- add-port br0 eth0 -- add-port br0 eth1";

#[test]
fn open_vswitch_switches_in_user_space() {
    if !has_open_vswitch() {
        return;
    }
    as_root_and_as_user(|person| {
        // Two links share a prefix, which Plait would not assign.
        let address = |last: u8| format!("{{commands: ['ip address add 10.9.0.{last}/24 dev eth0']}}");
        let text = format!(
            "plait: 1\nname: switched\nrouting: none\nnodes: {{a: {}, s: host, b: {}}}\n\
             links: [{{endpoints: [a:eth0, s:eth0]}}, {{endpoints: [s:eth1, b:eth0]}}]\n",
            address(1),
            address(2)
        );
        up_where_tun_is_open(person, &text);
        let exec =
            |node: &str, line: &str| person.plait(&["exec", "-t", "switched", node, "--", "sh", "-c", line]);
        exec("s", &[START_OPEN_VSWITCH, BRIDGE].concat()).fine();
        let ping = || exec("a", "ping -c 1 -W 1 10.9.0.2").code();
        let log = || exec("s", "cat /run/node/log/ovs-vswitchd.log").stdout;
        assert!(eventually(|| ping() == Some(0)), "{}", log());
        // A rule of the switch counts: OpenFlow is there too.
        exec("s", "OVS_RUNDIR=/run/ovs ovs-ofctl add-flow br0 priority=100,icmp,actions=drop").fine();
        assert_ne!(ping(), Some(0));
        person.plait(&["down", "switched"]).fine();
        person.assert_nothing_runs();
    });
}

/// The switch's own interface is a TUN device, which most distributions let everybody open, and this machine may not: a
/// device file that does lies over it in the mount namespace of the command.
fn up_where_tun_is_open(person: &Person, text: &str) {
    let file = person.file("switched.yaml", text);
    if person.is_root() {
        person.plait(&["up", file.to_str().unwrap()]).fine();
        return;
    }
    let tun = person.work().join("tun").display().to_string();
    let open = format!("mknod -m 666 {tun} c 10 200 && mount --bind {tun} /dev/net/tun");
    person.plait_after(&open, &["up", file.to_str().unwrap()]).fine();
}
