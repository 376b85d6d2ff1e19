//! One file a verb.

pub mod apply;
pub mod capture;
pub mod compare;
pub mod complete;
pub mod doctor;
pub mod down;
pub mod exec;
pub mod generate;
pub mod graph;
pub mod import;
pub mod inspect;
pub mod ip;
pub mod link;
pub mod ls;
pub mod madcap;
pub mod overlay;
pub mod pack;
pub mod perform;
pub mod profile;
pub mod run;
pub mod supervise;
pub mod sweep;
pub mod trace;
pub mod twice;
pub mod up;
pub mod validate;
