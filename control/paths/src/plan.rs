//! Relay lists from one switch to all others, kept true while the fabric changes.

use crate::fabric::{Fabric, Link};
use crate::fat_tree::FatTree;
use crate::relays::{AnyHash, KnownHops, NextHop, Relays, fewest_relays};
use crate::table::RelayList;
use crate::tree::PathTree;
use plait_model_topology::graph::{Distance, PathFinder, ShortestPaths};
use std::sync::Arc;

/// How relays are found.
#[derive(Debug, Clone, Default)]
pub enum Method {
    /// As the thesis has it, Algorithm 2. Packets may take other ways than meant.
    Faithful,
    /// The fewest that lead along the path whatever the switches' hashes do.
    #[default]
    Sure,
    /// The fewest that lead along the path with switches that are known to forward so.
    Known(Arc<dyn NextHop>),
    /// Between edge switches of a fat-tree all shortest paths, however many, each by its one relay (§5.4); else as
    /// [`Method::Sure`]. The tree is the one that is given, or the last whole one that is recognised.
    FatTree(Option<FatTree>),
}

/// What is planned.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How many paths to each switch.
    pub k: usize,
    /// How relays are found.
    pub method: Method,
    /// Lists with more relays are left out: what a sender can push.
    pub most_relays: usize,
}

impl Default for Settings {
    /// The thesis's eight paths, and iplb's sixteen relays.
    fn default() -> Self {
        Self { k: 8, method: Method::Sure, most_relays: 16 }
    }
}

/// A path, and the relays that name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedPath {
    /// What it costs.
    pub cost: Distance,
    /// Indices of its switches, both ends included.
    pub switches: Vec<usize>,
    /// Indices of the relays. An empty list is plain routing. None when no list leads along it, or only too long ones.
    pub relays: Option<Relays>,
}

/// Paths from one switch of a fabric to all that have something behind them.
#[derive(Debug, Clone)]
pub struct Plan {
    settings: Settings,
    fabric: Fabric,
    source: usize,
    /// By the switches' indices. Shared with the plans of before and after, where nothing is other.
    to: Vec<Arc<Ways>>,
}

/// Paths to a switch, the best first.
#[derive(Debug, Clone, Default)]
struct Ways {
    paths: Vec<PlannedPath>,
    /// The relay lists of those that have any, as addresses: what follows from the paths, for tables to share.
    lists: Arc<Vec<RelayList>>,
}

impl Ways {
    fn of(fabric: &Fabric, paths: Vec<PlannedPath>) -> Self {
        let lists = Arc::new(lists(fabric, &paths));
        Self { paths, lists }
    }

    /// Paths whose relays are not found yet.
    fn unnamed(paths: Vec<PlannedPath>) -> Arc<Self> {
        Arc::new(Self { paths, lists: Arc::default() })
    }
}

/// The relay lists of paths, as addresses.
pub(crate) fn lists<'a>(fabric: &Fabric, paths: impl IntoIterator<Item = &'a PlannedPath>) -> Vec<RelayList> {
    let address = |&relay: &u32| fabric.switches()[relay as usize].relay;
    let list = |relays: &Relays| relays.iter().map(address).collect::<Option<RelayList>>();
    paths.into_iter().filter_map(|path| list(path.relays.as_ref()?)).collect()
}

/// What an update took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Destinations whose paths were searched anew.
    pub searched: usize,
    /// Whether nothing of the last plan could be kept.
    pub is_whole: bool,
}

/// So many links that are new or cheaper are looked at one by one; with more, everything is planned anew, which then is
/// faster.
const MOST_GAINS: usize = 8;

/// With more links that are gone or dearer, relays of all paths are found anew. Choice: two directions of as many links.
const MOST_LOSSES: usize = 2 * MOST_GAINS;

impl Plan {
    /// Plans from a switch.
    pub fn new(settings: Settings, fabric: Fabric, source: usize) -> Self {
        let mut plan = Self { settings, source, to: Vec::new(), fabric };
        plan.anew();
        plan
    }

    /// The fabric it is for.
    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }

    /// The index of the switch that paths begin at.
    pub fn source(&self) -> usize {
        self.source
    }

    /// The last whole fat-tree, where the method looks for one and it was recognised.
    pub(crate) fn tree(&self) -> Option<&FatTree> {
        match &self.settings.method {
            Method::FatTree(tree) => tree.as_ref(),
            _ => None,
        }
    }

    /// Paths to a switch, the best first.
    pub fn paths(&self, to: usize) -> &[PlannedPath] {
        &self.to[to].paths
    }

    /// The relay lists of those that have any, as addresses.
    pub(crate) fn lists(&self, to: usize) -> &Arc<Vec<RelayList>> {
        &self.to[to].lists
    }

    /// Takes another state of the fabric. What it gives is what [`Plan::new`] gives, and takes a small part of its time where
    /// little changed: paths are searched anew to where one went along a link that is gone or costs more, or where a link
    /// that is new or costs less lies on a path short enough. Relays are found anew wherever they may be others.
    pub fn update(&mut self, fabric: Fabric, source: usize) -> Effort {
        let same_switches = self.fabric.has_switches_of(&fabric);
        let same_relays = same_switches
            && self.fabric.switches().iter().zip(fabric.switches()).all(|(a, b)| a.relay == b.relay);
        let (losses, gains) = changes(self.fabric.links(), fabric.links());
        let before = std::mem::replace(&mut self.fabric, fabric);
        if let Method::FatTree(tree) = &mut self.settings.method {
            // What is known of its layers is of switches of these numbers.
            tree.take_if(|_| !same_switches);
            self.source = source;
            self.anew();
            return Effort { searched: self.to.len(), is_whole: true };
        }
        if !same_switches || source != self.source || gains.len() > MOST_GAINS {
            self.source = source;
            self.anew();
            return Effort { searched: self.to.len(), is_whole: true };
        }
        let graph = self.fabric.graph();
        let is_lost = |step: &[usize]| {
            losses
                .binary_search_by_key(&(step[0] as u32, step[1] as u32), |loss| (loss.from, loss.to))
                .is_ok()
        };
        let from_source = (!gains.is_empty()).then(|| graph.shortest_paths(source));
        let gains: Vec<Way> =
            gains.iter().filter_map(|gain| Way::by(&self.fabric, from_source.as_ref()?, gain)).collect();
        let lost = self.lost(&before, same_relays, &losses);
        let Self { settings, fabric, to: all, .. } = self;
        let mut finder = PathFinder::new(fabric.graph());
        let anew = |(to, ways): (usize, &mut Arc<Ways>)| {
            let was_wanted = is_wanted(&before, source, to);
            let loses = || ways.paths.iter().any(|path| path.switches.windows(2).any(is_lost));
            let worst = ways.paths.get(settings.k.saturating_sub(1)).map(|path| path.cost);
            let wins = || gains.iter().any(|way| way.is_as_short(to, worst.unwrap_or(Distance::MAX)));
            if !is_wanted(fabric, source, to) {
                *ways = Arc::default();
                return false;
            }
            let is_searched = !was_wanted || loses() || wins();
            if is_searched {
                *ways = Ways::unnamed(search(&mut finder, source, to, settings.k));
            }
            is_searched
        };
        let searched: Vec<bool> = all.iter_mut().enumerate().map(anew).collect();
        self.find_relays(!same_relays, |to, path| {
            let mut ways = lost.iter().flatten().chain(&gains);
            searched[to] || lost.is_none() || ways.any(|way| way.is_as_short(to, path.cost))
        });
        Effort { searched: searched.iter().filter(|searched| **searched).count(), is_whole: false }
    }

    /// The ways by links that are gone or dearer, as they were: beside those by links that are new or cheaper, relays of paths that
    /// stay may be others by these alone. None where those of all may be.
    fn lost(&self, before: &Fabric, same_relays: bool, losses: &[Link]) -> Option<Vec<Way>> {
        let is_sure = matches!(self.settings.method, Method::Sure);
        // Where links cost nothing, how far a search went decides what is called the only way.
        let all_cost = [before, &self.fabric].iter().all(|of| of.links().iter().all(|link| link.cost > 0));
        if !is_sure || !same_relays || !all_cost || losses.len() > MOST_LOSSES {
            return None;
        }
        let from_source = (!losses.is_empty()).then(|| before.graph().shortest_paths(self.source));
        Some(losses.iter().filter_map(|loss| Way::by(before, from_source.as_ref()?, loss)).collect())
    }

    fn anew(&mut self) {
        let tree = match &mut self.settings.method {
            Method::FatTree(tree) => {
                if let Some(whole) = FatTree::recognise(&self.fabric) {
                    *tree = Some(whole);
                }
                tree.clone().filter(|tree| tree.layers().len() == self.fabric.switches().len())
            }
            _ => None,
        };
        let mut finder = PathFinder::new(self.fabric.graph());
        let to = |to| match is_wanted(&self.fabric, self.source, to) {
            true => Ways::unnamed(search(&mut finder, self.source, to, self.settings.k)),
            false => Arc::default(),
        };
        self.to = (0..self.fabric.switches().len()).map(to).collect();
        self.find_relays(true, |_, _| true);
        if let Some(tree) = tree {
            self.climb(&tree);
        }
    }

    /// Replaces paths between edge switches of a fat-tree.
    fn climb(&mut self, tree: &FatTree) {
        let Self { settings, fabric, source, to: all } = self;
        let mut forwarding = AnyHash::new(fabric.graph());
        let may_relay = |relay: usize| fabric.switches()[relay].relay.is_some() && settings.most_relays > 0;
        for to in (0..all.len()).filter(|&to| is_wanted(fabric, *source, to)) {
            // Where failures leave no such path, there may be longer ones.
            let Some(paths) =
                tree.paths(fabric, *source, to, &mut forwarding).filter(|paths| !paths.is_empty())
            else {
                continue;
            };
            let cost = Distance::from(fabric.links()[0].cost);
            let planned = paths.into_iter().map(|(switches, relay)| PlannedPath {
                cost: cost * (switches.len() - 1) as Distance,
                switches,
                relays: may_relay(relay).then(|| [relay as u32].into_iter().collect()),
            });
            all[to] = Arc::new(Ways::of(fabric, planned.collect()));
        }
    }

    /// Finds relays of paths of which they may be others, by where they lead. Addresses of relays are others where they are renamed.
    fn find_relays(&mut self, are_renamed: bool, may_be_others: impl Fn(usize, &PlannedPath) -> bool) {
        let Self { settings, fabric, to, .. } = self;
        let may_relay = |switch: usize| fabric.switches()[switch].relay.is_some();
        let fits = |relays: &Relays| relays.len() <= settings.most_relays;
        let mut any_hash = AnyHash::new(fabric.graph());
        for (end, ways) in to.iter_mut().enumerate() {
            if !are_renamed && !ways.paths.iter().any(|path| may_be_others(end, path)) {
                continue;
            }
            let found: Vec<Option<Relays>> = match &settings.method {
                Method::Faithful => {
                    let relays = PathTree::new(ways.paths.iter().map(|path| &path.switches)).relays();
                    let named = relays.into_iter().map(|relays| {
                        let all_may = relays.iter().all(|&relay| may_relay(relay));
                        let relays: Relays = relays.into_iter().map(|relay| relay as u32).collect();
                        Some(relays).filter(|relays| all_may && fits(relays))
                    });
                    named.collect()
                }
                Method::Sure | Method::FatTree(_) => {
                    let mut named = |path: &PlannedPath| match may_be_others(end, path) {
                        true => fewest_relays(&path.switches, may_relay, &mut any_hash).filter(fits),
                        false => path.relays.clone(),
                    };
                    ways.paths.iter().map(&mut named).collect()
                }
                Method::Known(hops) => {
                    let mut forwarding = KnownHops { fabric, hops: &**hops, end };
                    let mut named = |path: &PlannedPath| {
                        fewest_relays(&path.switches, may_relay, &mut forwarding).filter(fits)
                    };
                    ways.paths.iter().map(&mut named).collect()
                }
            };
            let are_others = ways.paths.iter().zip(&found).any(|(path, relays)| path.relays != *relays);
            if are_others || are_renamed {
                let ways = Arc::make_mut(ways);
                ways.paths.iter_mut().zip(found).for_each(|(path, relays)| path.relays = relays);
                ways.lists = Arc::new(lists(fabric, &ways.paths));
            }
        }
    }
}

/// The shortest walks from the source by a link.
///
/// Whether a part of a path is the only shortest way between its ends changes with a link only if a way by the link is as short
/// as the part. With the rest of the path it is then a walk by the link that is as short as the path.
struct Way {
    /// From the source to the link's end.
    near: Distance,
    /// From there on.
    far: ShortestPaths,
}

impl Way {
    /// None where the link cannot be reached.
    fn by(fabric: &Fabric, from_source: &ShortestPaths, link: &Link) -> Option<Self> {
        let near = from_source.distance(link.from as usize)? + Distance::from(link.cost);
        Some(Self { near, far: fabric.graph().shortest_paths(link.to as usize) })
    }

    fn is_as_short(&self, to: usize, cost: Distance) -> bool {
        self.far.distance(to).is_some_and(|far| self.near + far <= cost)
    }
}

/// Whether paths to a switch are planned: to others that have something behind them.
fn is_wanted(fabric: &Fabric, source: usize, to: usize) -> bool {
    to != source && !fabric.switches()[to].prefixes.is_empty()
}

fn search(finder: &mut PathFinder<'_>, from: usize, to: usize, k: usize) -> Vec<PlannedPath> {
    let found = finder.k_shortest_paths(from, to, k).into_iter();
    found.map(|path| PlannedPath { cost: path.cost, switches: path.vertices, relays: None }).collect()
}

/// The links that are gone or cost more, as they were and in order; and those that are new or cost less.
pub(crate) fn changes(before: &[Link], after: &[Link]) -> (Vec<Link>, Vec<Link>) {
    let pair = |link: &Link| (link.from, link.to);
    let (mut losses, mut gains) = (Vec::new(), Vec::new());
    let (mut old, mut new) = (before.iter().peekable(), after.iter().peekable());
    loop {
        match (old.peek(), new.peek()) {
            (Some(was), Some(is)) if pair(was) == pair(is) => {
                if was.cost < is.cost {
                    losses.push(**was);
                } else if was.cost > is.cost {
                    gains.push(**is);
                }
                old.next();
                new.next();
            }
            (Some(was), is) if is.is_none_or(|is| pair(was) < pair(is)) => {
                losses.push(**was);
                old.next();
            }
            (_, Some(is)) => {
                gains.push(**is);
                new.next();
            }
            _ => return (losses, gains),
        }
    }
}
