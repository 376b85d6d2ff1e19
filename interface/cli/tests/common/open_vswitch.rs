//! The distribution's Open vSwitch in a node.

use super::skip;
use std::path::Path;

/// Starts it in the node's own folders, with its datapath in user space; it has no bridge yet.
pub const START_OPEN_VSWITCH: &str = "set -e
    export OVS_RUNDIR=/run/ovs OVS_DBDIR=/run/node OVS_LOGDIR=/run/node/log
    mkdir -p $OVS_RUNDIR
    ovsdb-tool create $OVS_DBDIR/conf.db /usr/share/openvswitch/vswitch.ovsschema
    ovsdb-server $OVS_DBDIR/conf.db --remote=punix:$OVS_RUNDIR/db.sock --pidfile --detach --log-file --no-chdir
    ovs-vsctl --db=unix:$OVS_RUNDIR/db.sock --no-wait init
    ovs-vswitchd unix:$OVS_RUNDIR/db.sock --disable-system --pidfile --detach --log-file --no-chdir
";

/// Whether it is there, with the reason printed if not.
pub fn has_open_vswitch() -> bool {
    let has = Path::new("/usr/sbin/ovs-vswitchd").exists();
    if !has {
        skip("Open vSwitch is not installed");
    }
    has
}
