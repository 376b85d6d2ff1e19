//! Plait's controller under Mininet, as `--controller remote`: what who comes from there tries first.

mod common;

use common::{Person, installed, skip};
use std::path::Path;

/// Mininet's network and Open vSwitch's daemons, in namespaces of their own: $1 is Plait, $2 the controller's
/// application, $3 the topology. Open vSwitch has its datapath in user space, since kernels lack its module.
const PINGALL: &str = "set -e
    mount --make-rprivate /
    mount -t tmpfs none /run
    mount -t tmpfs none /etc/openvswitch
    mkdir -p /run/openvswitch /run/lock
    mount -t sysfs none /sys
    ip link set lo up
    ovsdb-tool create /etc/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema
    ovsdb-server /etc/openvswitch/conf.db --remote=punix:/run/openvswitch/db.sock --pidfile --detach \\
        --log-file=/run/db.log --no-chdir
    ovs-vsctl --no-wait init
    ovs-vswitchd --disable-system --pidfile --detach --log-file=/run/switch.log --no-chdir
    $1 controller run --listen 127.0.0.1:6653 --name mininet --app $2 >/run/controller.log 2>&1 &
    until $1 controller --name mininet stats >/dev/null 2>&1; do sleep 0.1; done
    timeout 100 mn --controller remote,port=6653 --switch ovs,datapath=user,protocols=OpenFlow13 --topo $3 --test pingall";

#[test]
fn mininet_pings_all_pairs_with_our_controller() {
    let Some(person) = Person::root() else { return };
    if !["mn", "ovs-vswitchd", "unshare"].into_iter().all(installed) {
        return;
    }
    if !Path::new("/etc/openvswitch").exists() {
        return skip("Open vSwitch has no folder to keep its configuration in");
    }
    // A tree is bridged; a torus has loops, in which a bridge would drown.
    for (application, topology, pairs) in [("learning-switch", "tree,2", 12), ("routing", "torus,3,3", 72)] {
        let mut command = person.command("unshare");
        command.args(["-n", "-m", "-p", "-f", "--kill-child", "--mount-proc", "sh", "-c", PINGALL, "sh"]);
        command.args([env!("CARGO_BIN_EXE_plait"), application, topology]);
        let output = command.output().unwrap();
        // Mininet reports on its standard error.
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success(), "{said}");
        assert!(said.contains(&format!("0% dropped ({pairs}/{pairs} received)")), "{topology}: {said}");
    }
    person.assert_nothing_runs();
}
