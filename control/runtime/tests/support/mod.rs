//! A small network's state, and executors.
#![allow(dead_code)]

use plait_control_runtime::*;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Links that are up, by their ends.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Links {
    pub up: Vec<(u32, u32)>,
}
wit!(struct Links { up });
impl View for Links {
    const NAME: &'static str = "links";
}

/// How many of them there are.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Count {
    pub links: u32,
}
wit!(struct Count { links });
impl View for Count {
    const NAME: &'static str = "count";
}

/// Nodes that have a link.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Nodes {
    pub linked: Vec<u32>,
}
wit!(struct Nodes { linked });
impl View for Nodes {
    const NAME: &'static str = "nodes";
}

pub fn name(text: &str) -> Name {
    text.parse().unwrap()
}

pub fn view(text: &str) -> ViewId {
    text.parse().unwrap()
}

pub fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A driver that tells of links and wants to know counts.
pub fn add_links_driver(runtime: &mut Runtime) {
    runtime.grant(&name("ports"), &name("links"));
    let signature = Signature { inputs: vec![], outputs: vec![Port::of::<Links>()] };
    runtime.add_driver(&name("ports"), signature).unwrap();
}

pub fn links_up(up: &[(u32, u32)]) -> Vec<(ViewId, Content)> {
    vec![(Links::id(), Content::new(Links { up: up.to_vec() }))]
}

pub fn add(runtime: &mut Runtime, manifest: Manifest, application: Arc<dyn Application>) {
    for output in &manifest.outputs {
        runtime.grant(&manifest.name, &output.view.name);
    }
    runtime.add_application(manifest, application).unwrap();
}

pub fn count() -> Arc<dyn Application> {
    native(|(links,): (Arc<Links>,)| Ok((Count { links: links.up.len() as u32 },)))
}

pub fn add_count(runtime: &mut Runtime) {
    add(runtime, Manifest::new("count").reads("links@1").writes("count@1"), count());
}

pub fn read<T: View + Clone>(runtime: &Runtime) -> Option<T> {
    runtime.state().content(&T::id()).map(|content| (*content.read::<T>().unwrap()).clone())
}

/// All that there is to do, without doing it.
pub fn actions(runtime: &mut Runtime) -> Vec<Action> {
    std::iter::from_fn(|| runtime.poll_action()).collect()
}

/// The tasks among all there is to do.
pub fn tasks(runtime: &mut Runtime) -> VecDeque<Task> {
    let task = |action| match action {
        Action::Start(task) => Some(task),
        _ => None,
    };
    actions(runtime).into_iter().filter_map(task).collect()
}

pub fn settle(runtime: &mut Runtime) -> Vec<Action> {
    runtime.settle(&mut InPlace::default(), || Duration::ZERO)
}

pub fn reports(actions: Vec<Action>) -> Vec<Report> {
    let report = |action| match action {
        Action::Report(report) => Some(report),
        _ => None,
    };
    actions.into_iter().filter_map(report).collect()
}
