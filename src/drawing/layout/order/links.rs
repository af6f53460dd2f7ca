//! The lines between places that one level sees.

use super::super::layers::{Kind, Layers, Step};
use super::super::model::Input;
use super::super::nest::Nest;
use super::super::table::{NONE, Table};
use super::lines::PORTS;
use crate::work::{Exhausted, Work};

/// Lines of one level: global places, one of which may lie outside.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub upper: u32,
    pub lower: u32,
    pub count: u32,
    pub upper_port: u32,
    pub lower_port: u32,
}

/// Sorts the steps by the levels they show in: the smallest cluster around both ends, and every cluster below it on
/// the way to an end, where the other end lies outside.
pub fn link_levels(
    input: &Input,
    nest: &Nest,
    layers: &Layers,
    links: &mut Table<Vec<Link>>,
    work: &mut Work,
) -> Result<(), Exhausted> {
    let mut inner: Table<Vec<u32>> = Table::filled(Vec::new(), nest.count());
    for cluster in 1..nest.count() as u32 {
        let ranks = layers.cluster_places[cluster].len().saturating_sub(1);
        inner[cluster] = vec![0; ranks];
    }
    // The label of a flat edge hangs between its ends.
    let labels = layers.flats.iter().filter(|flat| flat.label != NONE).flat_map(|flat| {
        [flat.tail, flat.head].map(|lower| Step { upper: flat.label, lower, count: 1, ..Step::default() })
    });
    for step in layers.steps.iter().copied().chain(labels) {
        let port = |place: u32, x: f64| {
            let place = &layers.places[place];
            if place.kind != Kind::Real || x == 0.0 {
                return PORTS / 2;
            }
            let width = input.nodes.get(place.owner as usize).map_or(1.0, |node| node.size.width.max(1.0));
            let share = (x + width / 2.0) / width;
            (share * f64::from(PORTS)).clamp(0.0, f64::from(PORTS - 1)) as u32
        };
        let (upper_cluster, lower_cluster) = (layers.places[step.upper].cluster, layers.places[step.lower].cluster);
        let common = nest.common(upper_cluster, lower_cluster);
        let (upper, lower) = (layers.lift(step.upper, common, nest), layers.lift(step.lower, common, nest));
        let (upper_port, lower_port) = (port(step.upper, step.upper_x), port(step.lower, step.lower_x));
        let link = Link { upper, lower, count: step.count, upper_port, lower_port };
        work.spend(8)?;
        // At the level of a cluster all ends inside it look alike.
        let at_level = |link: Link, level: u32| Link {
            upper_port: if upper_cluster == level { upper_port } else { PORTS / 2 },
            lower_port: if lower_cluster == level { lower_port } else { PORTS / 2 },
            ..link
        };
        links[common].push(at_level(link, common));
        let mut cluster = upper_cluster;
        while cluster != common {
            links[cluster].push(at_level(Link { upper: layers.lift(step.upper, cluster, nest), ..link }, cluster));
            cluster = nest.parents[cluster];
        }
        let mut cluster = lower_cluster;
        while cluster != common {
            links[cluster].push(at_level(Link { lower: layers.lift(step.lower, cluster, nest), ..link }, cluster));
            cluster = nest.parents[cluster];
        }
        // What runs inside a cluster from rank to rank keeps others from crossing it there.
        let mut cluster = common;
        let rank = layers.places[step.upper].rank;
        while cluster != 0 && cluster != NONE {
            let first = layers.spans[cluster].0;
            if let Some(count) = inner[cluster].get_mut(rank.saturating_sub(first) as usize) {
                *count += step.count;
            }
            cluster = nest.parents[cluster];
        }
    }
    for cluster in 1..nest.count() as u32 {
        let parent = nest.parents[cluster];
        let places = &layers.cluster_places[cluster];
        for ((&upper, &lower), count) in places.iter().zip(places.iter().skip(1)).zip(&inner[cluster]) {
            let link =
                Link { upper, lower, count: count.saturating_add(4), upper_port: PORTS / 2, lower_port: PORTS / 2 };
            links[parent].push(link);
        }
    }
    Ok(())
}
