//! Errors of 1.3: section 7.5.4.

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
        REQUEST_BAD_MULTIPART = 2 "OFPBRC_BAD_MULTIPART" "The type of multipart is not known.",
        REQUEST_BAD_EXPERIMENTER = 3 "OFPBRC_BAD_EXPERIMENTER" "The experimenter is not known.",
        REQUEST_BAD_EXP_TYPE = 4 "OFPBRC_BAD_EXP_TYPE" "The experimenter's own type is not known.",
        REQUEST_EPERM = 5 "OFPBRC_EPERM" "Not permitted.",
        REQUEST_BAD_LEN = 6 "OFPBRC_BAD_LEN" "A wrong length for this type.",
        REQUEST_BUFFER_EMPTY = 7 "OFPBRC_BUFFER_EMPTY" "The buffer was used already.",
        REQUEST_BUFFER_UNKNOWN = 8 "OFPBRC_BUFFER_UNKNOWN" "There is no such buffer.",
        REQUEST_BAD_TABLE_ID = 9 "OFPBRC_BAD_TABLE_ID" "There is no such table.",
        REQUEST_IS_SLAVE = 10 "OFPBRC_IS_SLAVE" "The controller may only read.",
        REQUEST_BAD_PORT = 11 "OFPBRC_BAD_PORT" "There is no such port.",
        REQUEST_BAD_PACKET = 12 "OFPBRC_BAD_PACKET" "A packet-out's packet cannot be.",
        REQUEST_MULTIPART_BUFFER_OVERFLOW = 13 "OFPBRC_MULTIPART_BUFFER_OVERFLOW" "A request of several messages is too long.",
    }
    "OFPET_BAD_ACTION" = 2 {
        ACTION_BAD_TYPE = 0 "OFPBAC_BAD_TYPE" "The action's type is not known.",
        ACTION_BAD_LEN = 1 "OFPBAC_BAD_LEN" "A wrong length.",
        ACTION_BAD_EXPERIMENTER = 2 "OFPBAC_BAD_EXPERIMENTER" "The experimenter is not known.",
        ACTION_BAD_EXP_TYPE = 3 "OFPBAC_BAD_EXP_TYPE" "The experimenter's own type is not known.",
        ACTION_BAD_OUT_PORT = 4 "OFPBAC_BAD_OUT_PORT" "Nothing can leave by that port.",
        ACTION_BAD_ARGUMENT = 5 "OFPBAC_BAD_ARGUMENT" "A wrong argument.",
        ACTION_EPERM = 6 "OFPBAC_EPERM" "Not permitted.",
        ACTION_TOO_MANY = 7 "OFPBAC_TOO_MANY" "More actions than can be done.",
        ACTION_BAD_QUEUE = 8 "OFPBAC_BAD_QUEUE" "Nothing can leave by that queue.",
        ACTION_BAD_OUT_GROUP = 9 "OFPBAC_BAD_OUT_GROUP" "There is no such group.",
        ACTION_MATCH_INCONSISTENT = 10 "OFPBAC_MATCH_INCONSISTENT" "It cannot be done with these packets.",
        ACTION_UNSUPPORTED_ORDER = 11 "OFPBAC_UNSUPPORTED_ORDER" "The actions cannot be done in this order.",
        ACTION_BAD_TAG = 12 "OFPBAC_BAD_TAG" "No such tag can be put on.",
        ACTION_BAD_SET_TYPE = 13 "OFPBAC_BAD_SET_TYPE" "No such field can be set.",
        ACTION_BAD_SET_LEN = 14 "OFPBAC_BAD_SET_LEN" "A wrong length of a field that is set.",
        ACTION_BAD_SET_ARGUMENT = 15 "OFPBAC_BAD_SET_ARGUMENT" "A wrong value of a field that is set.",
    }
    "OFPET_BAD_INSTRUCTION" = 3 {
        INSTRUCTION_UNKNOWN_INST = 0 "OFPBIC_UNKNOWN_INST" "The instruction is not known.",
        INSTRUCTION_UNSUP_INST = 1 "OFPBIC_UNSUP_INST" "The table cannot do it.",
        INSTRUCTION_BAD_TABLE_ID = 2 "OFPBIC_BAD_TABLE_ID" "There is no such table, or it is before this one.",
        INSTRUCTION_UNSUP_METADATA = 3 "OFPBIC_UNSUP_METADATA" "Such metadata cannot be written.",
        INSTRUCTION_UNSUP_METADATA_MASK = 4 "OFPBIC_UNSUP_METADATA_MASK" "Such a mask of metadata cannot be.",
        INSTRUCTION_BAD_EXPERIMENTER = 5 "OFPBIC_BAD_EXPERIMENTER" "The experimenter is not known.",
        INSTRUCTION_BAD_EXP_TYPE = 6 "OFPBIC_BAD_EXP_TYPE" "The experimenter's own type is not known.",
        INSTRUCTION_BAD_LEN = 7 "OFPBIC_BAD_LEN" "A wrong length.",
        INSTRUCTION_EPERM = 8 "OFPBIC_EPERM" "Not permitted.",
    }
    "OFPET_BAD_MATCH" = 4 {
        MATCH_BAD_TYPE = 0 "OFPBMC_BAD_TYPE" "The match's type is not known.",
        MATCH_BAD_LEN = 1 "OFPBMC_BAD_LEN" "A wrong length.",
        MATCH_BAD_TAG = 2 "OFPBMC_BAD_TAG" "No such tag can be matched.",
        MATCH_BAD_DL_ADDR_MASK = 3 "OFPBMC_BAD_DL_ADDR_MASK" "No such mask of a hardware address can be.",
        MATCH_BAD_NW_ADDR_MASK = 4 "OFPBMC_BAD_NW_ADDR_MASK" "No such mask of a network address can be.",
        MATCH_BAD_WILDCARDS = 5 "OFPBMC_BAD_WILDCARDS" "These fields cannot be left open together.",
        MATCH_BAD_FIELD = 6 "OFPBMC_BAD_FIELD" "The field is not known.",
        MATCH_BAD_VALUE = 7 "OFPBMC_BAD_VALUE" "A value that the field cannot have.",
        MATCH_BAD_MASK = 8 "OFPBMC_BAD_MASK" "A mask that the field cannot have.",
        MATCH_BAD_PREREQ = 9 "OFPBMC_BAD_PREREQ" "The field asks for another before it.",
        MATCH_DUP_FIELD = 10 "OFPBMC_DUP_FIELD" "A field is said twice.",
        MATCH_EPERM = 11 "OFPBMC_EPERM" "Not permitted.",
    }
    "OFPET_FLOW_MOD_FAILED" = 5 {
        FLOW_MOD_UNKNOWN = 0 "OFPFMFC_UNKNOWN" "It is not said why.",
        FLOW_MOD_TABLE_FULL = 1 "OFPFMFC_TABLE_FULL" "The table has no room.",
        FLOW_MOD_BAD_TABLE_ID = 2 "OFPFMFC_BAD_TABLE_ID" "There is no such table.",
        FLOW_MOD_OVERLAP = 3 "OFPFMFC_OVERLAP" "Another flow overlaps, which was to be looked for.",
        FLOW_MOD_EPERM = 4 "OFPFMFC_EPERM" "Not permitted.",
        FLOW_MOD_BAD_TIMEOUT = 5 "OFPFMFC_BAD_TIMEOUT" "Such a timeout cannot be.",
        FLOW_MOD_BAD_COMMAND = 6 "OFPFMFC_BAD_COMMAND" "The command is not known.",
        FLOW_MOD_BAD_FLAGS = 7 "OFPFMFC_BAD_FLAGS" "A flag is not known.",
    }
    "OFPET_GROUP_MOD_FAILED" = 6 {
        GROUP_MOD_GROUP_EXISTS = 0 "OFPGMFC_GROUP_EXISTS" "The group that was to be added is there.",
        GROUP_MOD_INVALID_GROUP = 1 "OFPGMFC_INVALID_GROUP" "The group cannot be added.",
        GROUP_MOD_WEIGHT_UNSUPPORTED = 2 "OFPGMFC_WEIGHT_UNSUPPORTED" "Shares cannot differ.",
        GROUP_MOD_OUT_OF_GROUPS = 3 "OFPGMFC_OUT_OF_GROUPS" "There is no room for another group.",
        GROUP_MOD_OUT_OF_BUCKETS = 4 "OFPGMFC_OUT_OF_BUCKETS" "There is no room for another bucket.",
        GROUP_MOD_CHAINING_UNSUPPORTED = 5 "OFPGMFC_CHAINING_UNSUPPORTED" "No group can lead to another.",
        GROUP_MOD_WATCH_UNSUPPORTED = 6 "OFPGMFC_WATCH_UNSUPPORTED" "It cannot watch what it shall.",
        GROUP_MOD_LOOP = 7 "OFPGMFC_LOOP" "It would lead to itself.",
        GROUP_MOD_UNKNOWN_GROUP = 8 "OFPGMFC_UNKNOWN_GROUP" "The group that was to be changed is not there.",
        GROUP_MOD_CHAINED_GROUP = 9 "OFPGMFC_CHAINED_GROUP" "Another group leads to it.",
        GROUP_MOD_BAD_TYPE = 10 "OFPGMFC_BAD_TYPE" "The group's type is not known.",
        GROUP_MOD_BAD_COMMAND = 11 "OFPGMFC_BAD_COMMAND" "The command is not known.",
        GROUP_MOD_BAD_BUCKET = 12 "OFPGMFC_BAD_BUCKET" "A bucket is wrong.",
        GROUP_MOD_BAD_WATCH = 13 "OFPGMFC_BAD_WATCH" "What it shall watch is wrong.",
        GROUP_MOD_EPERM = 14 "OFPGMFC_EPERM" "Not permitted.",
    }
    "OFPET_PORT_MOD_FAILED" = 7 {
        PORT_MOD_BAD_PORT = 0 "OFPPMFC_BAD_PORT" "There is no such port.",
        PORT_MOD_BAD_HW_ADDR = 1 "OFPPMFC_BAD_HW_ADDR" "The port has another hardware address.",
        PORT_MOD_BAD_CONFIG = 2 "OFPPMFC_BAD_CONFIG" "It cannot be configured so.",
        PORT_MOD_BAD_ADVERTISE = 3 "OFPPMFC_BAD_ADVERTISE" "It cannot tell its peer that.",
        PORT_MOD_EPERM = 4 "OFPPMFC_EPERM" "Not permitted.",
    }
    "OFPET_TABLE_MOD_FAILED" = 8 {
        TABLE_MOD_BAD_TABLE = 0 "OFPTMFC_BAD_TABLE" "There is no such table.",
        TABLE_MOD_BAD_CONFIG = 1 "OFPTMFC_BAD_CONFIG" "It cannot be set so.",
        TABLE_MOD_EPERM = 2 "OFPTMFC_EPERM" "Not permitted.",
    }
    "OFPET_QUEUE_OP_FAILED" = 9 {
        QUEUE_OP_BAD_PORT = 0 "OFPQOFC_BAD_PORT" "There is no such port.",
        QUEUE_OP_BAD_QUEUE = 1 "OFPQOFC_BAD_QUEUE" "There is no such queue.",
        QUEUE_OP_EPERM = 2 "OFPQOFC_EPERM" "Not permitted.",
    }
    "OFPET_SWITCH_CONFIG_FAILED" = 10 {
        SWITCH_CONFIG_BAD_FLAGS = 0 "OFPSCFC_BAD_FLAGS" "A flag is wrong.",
        SWITCH_CONFIG_BAD_LEN = 1 "OFPSCFC_BAD_LEN" "A wrong length of packets to be sent.",
        SWITCH_CONFIG_EPERM = 2 "OFPSCFC_EPERM" "Not permitted.",
    }
    "OFPET_ROLE_REQUEST_FAILED" = 11 {
        ROLE_REQUEST_STALE = 0 "OFPRRFC_STALE" "Another master was elected since.",
        ROLE_REQUEST_UNSUP = 1 "OFPRRFC_UNSUP" "Roles cannot change.",
        ROLE_REQUEST_BAD_ROLE = 2 "OFPRRFC_BAD_ROLE" "There is no such role.",
    }
    "OFPET_METER_MOD_FAILED" = 12 {
        METER_MOD_UNKNOWN = 0 "OFPMMFC_UNKNOWN" "It is not said why.",
        METER_MOD_METER_EXISTS = 1 "OFPMMFC_METER_EXISTS" "The meter that was to be added is there.",
        METER_MOD_INVALID_METER = 2 "OFPMMFC_INVALID_METER" "The meter cannot be added.",
        METER_MOD_UNKNOWN_METER = 3 "OFPMMFC_UNKNOWN_METER" "There is no such meter.",
        METER_MOD_BAD_COMMAND = 4 "OFPMMFC_BAD_COMMAND" "The command is not known.",
        METER_MOD_BAD_FLAGS = 5 "OFPMMFC_BAD_FLAGS" "It cannot count so.",
        METER_MOD_BAD_RATE = 6 "OFPMMFC_BAD_RATE" "Such a rate cannot be.",
        METER_MOD_BAD_BURST = 7 "OFPMMFC_BAD_BURST" "Such a burst cannot be.",
        METER_MOD_BAD_BAND = 8 "OFPMMFC_BAD_BAND" "Such a band cannot be.",
        METER_MOD_BAD_BAND_VALUE = 9 "OFPMMFC_BAD_BAND_VALUE" "A band's value cannot be.",
        METER_MOD_OUT_OF_METERS = 10 "OFPMMFC_OUT_OF_METERS" "There is no room for another meter.",
        METER_MOD_OUT_OF_BANDS = 11 "OFPMMFC_OUT_OF_BANDS" "There is no room for another band.",
    }
    "OFPET_TABLE_FEATURES_FAILED" = 13 {
        TABLE_FEATURES_BAD_TABLE = 0 "OFPTFFC_BAD_TABLE" "There is no such table.",
        TABLE_FEATURES_BAD_METADATA = 1 "OFPTFFC_BAD_METADATA" "A mask of metadata is wrong.",
        TABLE_FEATURES_BAD_TYPE = 2 "OFPTFFC_BAD_TYPE" "A property's type is not known.",
        TABLE_FEATURES_BAD_LEN = 3 "OFPTFFC_BAD_LEN" "A wrong length.",
        TABLE_FEATURES_BAD_ARGUMENT = 4 "OFPTFFC_BAD_ARGUMENT" "A property cannot be so.",
        TABLE_FEATURES_EPERM = 5 "OFPTFFC_EPERM" "Not permitted.",
    }
}

/// The type of errors of somebody's own: the code is theirs, and their number stands before the data.
pub const EXPERIMENTER: u16 = 0xffff;

record! {
    /// That something was refused.
    pub struct Error {
        /// Why.
        pub reason: Reason,
        /// The beginning of what was refused, at least 64 bytes of it; of a hello a text.
        pub data: Vec<u8>,
    }
}

impl Error {
    /// Of somebody's own error: whose it is, and what only they know.
    pub fn experimenter(&self) -> Option<(u32, &[u8])> {
        let (number, data) = self.data.split_first_chunk()?;
        (self.reason.kind == EXPERIMENTER).then(|| (u32::from_be_bytes(*number), data))
    }
}
