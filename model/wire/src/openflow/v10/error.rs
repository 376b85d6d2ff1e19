//! Errors of 1.0: section 5.4.4.

use crate::openflow::error::errors;
use crate::openflow::tables::record;

errors! {
    "OFPET_HELLO_FAILED" = 0 {
        HELLO_INCOMPATIBLE = 0 "OFPHFC_INCOMPATIBLE" "No version is shared.",
        HELLO_EPERM = 1 "OFPHFC_EPERM" "Not permitted.",
    }
    "OFPET_BAD_REQUEST" = 1 {
        REQUEST_BAD_VERSION = 0 "OFPBRC_BAD_VERSION" "The header's version is not known.",
        REQUEST_BAD_TYPE = 1 "OFPBRC_BAD_TYPE" "The header's type is not known.",
        REQUEST_BAD_STAT = 2 "OFPBRC_BAD_STAT" "The type of statistics is not known.",
        REQUEST_BAD_VENDOR = 3 "OFPBRC_BAD_VENDOR" "The vendor is not known.",
        REQUEST_BAD_SUBTYPE = 4 "OFPBRC_BAD_SUBTYPE" "The vendor's own type is not known.",
        REQUEST_EPERM = 5 "OFPBRC_EPERM" "Not permitted.",
        REQUEST_BAD_LEN = 6 "OFPBRC_BAD_LEN" "A wrong length for this type.",
        REQUEST_BUFFER_EMPTY = 7 "OFPBRC_BUFFER_EMPTY" "The buffer was used already.",
        REQUEST_BUFFER_UNKNOWN = 8 "OFPBRC_BUFFER_UNKNOWN" "There is no such buffer.",
    }
    "OFPET_BAD_ACTION" = 2 {
        ACTION_BAD_TYPE = 0 "OFPBAC_BAD_TYPE" "The action's type is not known.",
        ACTION_BAD_LEN = 1 "OFPBAC_BAD_LEN" "A wrong length.",
        ACTION_BAD_VENDOR = 2 "OFPBAC_BAD_VENDOR" "The vendor is not known.",
        ACTION_BAD_VENDOR_TYPE = 3 "OFPBAC_BAD_VENDOR_TYPE" "The vendor's own type is not known.",
        ACTION_BAD_OUT_PORT = 4 "OFPBAC_BAD_OUT_PORT" "Nothing can leave by that port.",
        ACTION_BAD_ARGUMENT = 5 "OFPBAC_BAD_ARGUMENT" "A wrong argument.",
        ACTION_EPERM = 6 "OFPBAC_EPERM" "Not permitted.",
        ACTION_TOO_MANY = 7 "OFPBAC_TOO_MANY" "More actions than can be done.",
        ACTION_BAD_QUEUE = 8 "OFPBAC_BAD_QUEUE" "Nothing can leave by that queue.",
    }
    "OFPET_FLOW_MOD_FAILED" = 3 {
        FLOW_MOD_ALL_TABLES_FULL = 0 "OFPFMFC_ALL_TABLES_FULL" "No table has room.",
        FLOW_MOD_OVERLAP = 1 "OFPFMFC_OVERLAP" "Another flow overlaps, which was to be looked for.",
        FLOW_MOD_EPERM = 2 "OFPFMFC_EPERM" "Not permitted.",
        FLOW_MOD_BAD_EMERG_TIMEOUT = 3 "OFPFMFC_BAD_EMERG_TIMEOUT" "A flow for emergencies has a timeout.",
        FLOW_MOD_BAD_COMMAND = 4 "OFPFMFC_BAD_COMMAND" "The command is not known.",
        FLOW_MOD_UNSUPPORTED = 5 "OFPFMFC_UNSUPPORTED" "The actions cannot be done in this order.",
    }
    "OFPET_PORT_MOD_FAILED" = 4 {
        PORT_MOD_BAD_PORT = 0 "OFPPMFC_BAD_PORT" "There is no such port.",
        PORT_MOD_BAD_HW_ADDR = 1 "OFPPMFC_BAD_HW_ADDR" "The port has another hardware address.",
    }
    "OFPET_QUEUE_OP_FAILED" = 5 {
        QUEUE_OP_BAD_PORT = 0 "OFPQOFC_BAD_PORT" "There is no such port.",
        QUEUE_OP_BAD_QUEUE = 1 "OFPQOFC_BAD_QUEUE" "There is no such queue.",
        QUEUE_OP_EPERM = 2 "OFPQOFC_EPERM" "Not permitted.",
    }
}

record! {
    /// That something was refused.
    pub struct Error {
        /// Why.
        pub reason: Reason,
        /// The beginning of what was refused, at least 64 bytes of it; of a hello a text.
        pub data: Vec<u8>,
    }
}
