//! What must hold for every layout, over graphs of all kinds from a seeded generator, and small graphs whose layout is
//! known to the point.

use super::*;
use crate::geometry::{Point, Rect, Size};
use crate::work::{Care, Exhausted, Work};

fn node() -> Node {
    let size = Size::new(54.0, 36.0);
    Node { size, outline: Outline::Ellipse(size), ..Node::default() }
}

fn edge(tail: usize, head: usize) -> Edge {
    let mut edge = Edge { tail, head, ..Edge::default() };
    edge.head_end.arrow_length = 10.0;
    edge
}

fn graph(count: usize, edges: &[(usize, usize)]) -> Input {
    Input {
        nodes: vec![node(); count],
        edges: edges.iter().map(|(tail, head)| edge(*tail, *head)).collect(),
        ..Input::default()
    }
}

fn lay(input: &Input) -> Output {
    layout(input, &mut Work::default()).unwrap()
}

/// A generator of numbers that are always the same.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// A graph with a little of everything.
fn any_graph(seed: u64) -> Input {
    let mut dice = Dice(seed.wrapping_mul(7919) + 17);
    let count = 1 + dice.below(24);
    let mut input = Input { splines: Splines::Spline, ..Input::default() };
    input.rank_direction =
        [RankDirection::TopBottom, RankDirection::LeftRight, RankDirection::BottomTop, RankDirection::RightLeft]
            [dice.below(4)];
    for _ in 0..count {
        let size = Size::new(20.0 + dice.below(90) as f64, 18.0 + dice.below(60) as f64);
        let (x, y) = (size.width / 2.0, size.height / 2.0);
        let outline = match dice.below(3) {
            0 => Outline::Box,
            1 => Outline::Ellipse(size),
            _ => {
                Outline::Polygon(vec![Point::new(x, 0.0), Point::new(0.0, y), Point::new(-x, 0.0), Point::new(0.0, -y)])
            }
        };
        input.nodes.push(Node { size, outline, ..Node::default() });
    }
    for _ in 0..dice.below(count * 2 + 1) {
        let mut one = edge(dice.below(count), dice.below(count));
        one.min_length = dice.below(3) as u32;
        one.weight = dice.below(4) as u32;
        one.constraint = !dice.chance(5);
        if dice.chance(15) {
            one.label = Some(Size::new(10.0 + dice.below(60) as f64, 17.0));
        }
        if dice.chance(15) {
            one.tail_end.arrow_length = 10.0;
        }
        if dice.chance(10) {
            let size = input.nodes[one.head].size;
            let sides = [
                (Point::new(0.0, size.height / 2.0), Sides { top: true, ..Sides::default() }),
                (Point::new(0.0, -size.height / 2.0), Sides { bottom: true, ..Sides::default() }),
                (Point::new(-size.width / 2.0, 0.0), Sides { left: true, ..Sides::default() }),
                (Point::new(size.width / 2.0, 0.0), Sides { right: true, ..Sides::default() }),
            ];
            let (point, sides) = sides[dice.below(4)];
            one.head_end.port = Some(Port { point, sides, clip: false, is_side: true, field: None });
        }
        input.edges.push(one);
    }
    if dice.chance(60) {
        let mut nodes: Vec<usize> = (0..count).collect();
        for index in 0..1 + dice.below(4) {
            let parent = (index > 0 && dice.chance(50)).then(|| dice.below(index));
            let mut own = Vec::new();
            match parent {
                // Some of the parent's nodes.
                Some(parent) => {
                    let of_parent: &Cluster = &input.clusters[parent];
                    own.extend(of_parent.nodes.iter().copied().filter(|node| node % 2 == index % 2));
                }
                None => {
                    for _ in 0..dice.below(6) {
                        if !nodes.is_empty() {
                            own.push(nodes.remove(dice.below(nodes.len())));
                        }
                    }
                }
            }
            let label = dice.chance(50).then(|| BoxLabel { size: Size::new(60.0, 25.0), ..BoxLabel::default() });
            input.clusters.push(Cluster { parent, nodes: own, label, margin: 8.0 });
        }
    }
    if dice.chance(30) {
        let kinds = [RankKind::Same, RankKind::Min, RankKind::Max, RankKind::Source, RankKind::Sink];
        let nodes = (0..1 + dice.below(4)).map(|_| dice.below(count)).collect();
        input.rank_sets.push(RankSet { kind: kinds[dice.below(5)], nodes, cluster: None });
    }
    input.new_rank = dice.chance(10);
    input
}

fn inside(input: &Input, node: usize, cluster: usize) -> bool {
    let nest = nest::Nest::new(input, true);
    nest.is_inside(nest.of_node[node], cluster as u32 + 1)
}

#[test]
fn a_chain_stands_as_graphviz_stands_it() {
    let output = lay(&graph(3, &[(0, 1), (1, 2)]));
    assert_eq!(output.nodes, [Point::new(27.0, 162.0), Point::new(27.0, 90.0), Point::new(27.0, 18.0)]);
    assert_eq!(output.bounds, Rect::new(Point::default(), Point::new(54.0, 180.0)));
    let route = &output.edges[0];
    assert_eq!(route.beziers.len(), 1);
    assert!((route.beziers[0][0].y - 144.0).abs() < 0.1, "{route:?}");
    assert!((route.head_arrow.unwrap().y - 108.0).abs() < 0.1, "{route:?}");
    assert!((route.beziers[0].last().unwrap().y - 118.0).abs() < 0.1, "{route:?}");
}

#[test]
fn siblings_stand_apart_by_nodesep_below_the_middle_of_their_parent() {
    let output = lay(&graph(3, &[(0, 1), (0, 2)]));
    assert_eq!(output.nodes, [Point::new(63.0, 90.0), Point::new(27.0, 18.0), Point::new(99.0, 18.0)]);
}

#[test]
fn the_first_of_a_rank_is_on_top_when_ranks_run_sideways() {
    for (direction, x) in [(RankDirection::LeftRight, (27.0, 117.0)), (RankDirection::RightLeft, (117.0, 27.0))] {
        let output = lay(&Input { rank_direction: direction, ..graph(3, &[(0, 1), (0, 2)]) });
        assert_eq!(output.nodes[0], Point::new(x.0, 45.0), "{direction:?}");
        assert_eq!(output.nodes[1], Point::new(x.1, 72.0), "{direction:?}");
        assert_eq!(output.nodes[2], Point::new(x.1, 18.0), "{direction:?}");
    }
    let output = lay(&Input { rank_direction: RankDirection::BottomTop, ..graph(2, &[(0, 1)]) });
    assert_eq!(output.nodes, [Point::new(27.0, 18.0), Point::new(27.0, 90.0)]);
}

#[test]
fn a_cluster_takes_its_margin_and_its_label() {
    let mut input = graph(2, &[(0, 1)]);
    let label = Some(BoxLabel { size: Size::new(30.0, 24.8), ..BoxLabel::default() });
    input.clusters.push(Cluster { nodes: vec![0], label, margin: 8.0, parent: None });
    let output = lay(&input);
    let bounds = output.clusters[0].bounds;
    assert!((bounds.width() - 70.0).abs() < 1e-6 && (bounds.height() - 76.8).abs() < 1e-6, "{bounds:?}");
    assert!((output.bounds.width() - 86.0).abs() < 1e-6, "{:?}", output.bounds);
    let label = output.clusters[0].label.unwrap();
    assert!((bounds.high.y - label.y - 12.4).abs() < 1e-6, "{label:?}");
}

#[test]
fn a_label_makes_room_between_its_ranks() {
    let mut input = graph(2, &[(0, 1)]);
    input.edges[0].label = Some(Size::new(16.0, 16.8));
    let output = lay(&input);
    // Half of ranksep on both sides of the label.
    assert!((output.nodes[0].y - output.nodes[1].y - 88.8).abs() < 1e-6, "{:?}", output.nodes);
    let label = output.edges[0].label.unwrap();
    assert!((label.x - output.nodes[0].x - 10.0).abs() < 1.0, "{label:?}");
}

#[test]
fn rank_sets_hold() {
    let edges = [(0, 1), (1, 2), (2, 3), (0, 4)];
    let with = |kind, nodes: &[usize]| {
        let mut input = graph(5, &edges);
        input.rank_sets.push(RankSet { kind, nodes: nodes.to_vec(), cluster: None });
        lay(&input).ranks
    };
    let same = with(RankKind::Same, &[2, 4]);
    assert_eq!((same[2], same[4]), (2, 2), "{same:?}");
    assert_eq!(with(RankKind::Min, &[3])[3], 0);
    let source = with(RankKind::Source, &[4]);
    assert!(source.iter().enumerate().all(|(node, rank)| (*rank == 0) == (node == 4)), "{source:?}");
    let sink = with(RankKind::Sink, &[4]);
    assert!(sink.iter().enumerate().all(|(node, rank)| (*rank == 3 + 1) == (node == 4)), "{sink:?}");
    assert_eq!(with(RankKind::Max, &[4])[4], 3);
}

#[test]
fn a_cycle_goes_back_where_the_search_closes_it() {
    let ranks = lay(&graph(4, &[(0, 1), (0, 2), (1, 3), (3, 2), (2, 1)])).ranks;
    assert_eq!(ranks, [0, 1, 3, 2]);
}

#[test]
fn a_complete_bipartite_graph_has_the_crossings_it_must_have() {
    // K3,3 in two ranks: nine; found, whatever the order of the input.
    let mut edges = Vec::new();
    for tail in [2, 0, 1] {
        for head in [4, 3, 5] {
            edges.push((tail, head));
        }
    }
    let output = lay(&graph(6, &edges));
    let mut crossings = 0;
    for (a, one) in edges.iter().enumerate() {
        for two in edges.iter().skip(a + 1) {
            let upper = output.nodes[one.0].x - output.nodes[two.0].x;
            let lower = output.nodes[one.1].x - output.nodes[two.1].x;
            if upper * lower < 0.0 {
                crossings += 1;
            }
        }
    }
    assert_eq!(crossings, 9);
}

#[test]
fn ordering_out_keeps_children_in_the_order_of_edges() {
    let mut input = graph(6, &[(0, 3), (0, 1), (0, 5), (0, 2), (0, 4), (4, 5)]);
    input.edges.truncate(5);
    input.ordering = Ordering::Out;
    let output = lay(&input);
    let xs: Vec<f64> = [3, 1, 5, 2, 4].iter().map(|node: &usize| output.nodes[*node].x).collect();
    assert!(xs.windows(2).all(|pair| pair[0] < pair[1]), "{xs:?}");
}

#[test]
fn parallel_edges_run_beside_each_other() {
    let output = lay(&graph(2, &[(0, 1), (0, 1), (1, 0)]));
    let middles: Vec<f64> = output.edges.iter().map(|route| route.beziers[0][1].x).collect();
    assert!(middles[0] + 10.0 < middles[1] && middles[1] + 10.0 < middles[2], "{middles:?}");
    assert!(output.edges[2].beziers[0][0].y < 45.0, "the one that goes back starts at the lower node");
}

#[test]
fn loops_stand_on_the_side_their_ports_name() {
    let side = |sides: Sides, point: Point| {
        let mut input = graph(1, &[(0, 0)]);
        let port = Some(Port { point, sides, clip: false, is_side: true, field: None });
        input.edges[0].tail_end.port = port;
        input.edges[0].head_end.port = port;
        let output = lay(&input);
        let far = output.edges[0].beziers[0][3] - output.nodes[0];
        (far.x.round(), far.y.round())
    };
    let (x, _) = side(Sides { right: true, ..Sides::default() }, Point::new(27.0, 0.0));
    assert!(x > 40.0);
    let (x, _) = side(Sides { left: true, ..Sides::default() }, Point::new(-27.0, 0.0));
    assert!(x < -40.0);
    let (_, y) = side(Sides { top: true, ..Sides::default() }, Point::new(0.0, 18.0));
    assert!(y > 30.0);
    let (_, y) = side(Sides { bottom: true, ..Sides::default() }, Point::new(0.0, -18.0));
    assert!(y < -30.0);
}

#[test]
fn loops_between_corners_keep_clear_of_their_node() {
    let sides = |top, bottom, left, right| Sides { top, bottom, left, right };
    let corners = [
        (Point::new(-27.0, 18.0), sides(true, false, true, false)),
        (Point::new(27.0, 18.0), sides(true, false, false, true)),
        (Point::new(-27.0, -18.0), sides(false, true, true, false)),
        (Point::new(27.0, -18.0), sides(false, true, false, true)),
        (Point::new(0.0, 18.0), sides(true, false, false, false)),
        (Point::new(0.0, -18.0), sides(false, true, false, false)),
        (Point::new(-27.0, 0.0), sides(false, false, true, false)),
        (Point::new(27.0, 0.0), sides(false, false, false, true)),
    ];
    for (a, from) in corners.iter().enumerate() {
        for (b, to) in corners.iter().enumerate() {
            let mut input = graph(1, &[(0, 0)]);
            let port = |(point, sides): (Point, Sides)| Port { point, sides, clip: false, is_side: true, field: None };
            input.nodes[0].outline = Outline::Box;
            (input.edges[0].tail_end.port, input.edges[0].head_end.port) = (Some(port(*from)), Some(port(*to)));
            let output = lay(&input);
            let inside = Rect::around(output.nodes[0], Size::new(50.0, 32.0));
            let curves = super::route::curve::cubics(&output.edges[0].beziers[0]);
            let points = curves
                .iter()
                .flat_map(|curve| (0..=20).map(|step| super::route::curve::at(curve, f64::from(step) / 20.0)));
            for point in points {
                assert!(!inside.holds(point, 0.0), "{a} to {b}: {point:?} in {inside:?}");
            }
        }
    }
}

#[test]
fn edges_with_lhead_end_at_the_cluster() {
    let mut input = graph(3, &[(0, 1), (1, 2)]);
    input.compound = true;
    input.clusters.push(Cluster { nodes: vec![1, 2], margin: 8.0, ..Cluster::default() });
    input.edges[0].head_end.cluster = Some(0);
    let output = lay(&input);
    let tip = output.edges[0].head_arrow.unwrap();
    assert!((tip.y - output.clusters[0].bounds.high.y).abs() < 0.1, "{tip:?} {:?}", output.clusters);
    input.compound = false;
    let plain = lay(&input);
    assert!(plain.edges[0].head_arrow.unwrap().y < plain.clusters[0].bounds.high.y - 5.0);
}

#[test]
fn edges_with_one_samehead_end_at_one_point() {
    let mut input = graph(3, &[(0, 2), (1, 2), (0, 1)]);
    let apart = lay(&input);
    assert!(apart.edges[0].head_arrow != apart.edges[1].head_arrow);
    for edge in &mut input.edges[..2] {
        edge.head_end.same = Some(7);
    }
    let output = lay(&input);
    let (a, b) = (output.edges[0].head_arrow.unwrap(), output.edges[1].head_arrow.unwrap());
    assert!(a.distance(b) < 0.01, "{a:?} {b:?}");
    let center = output.nodes[2];
    let share = ((a.x - center.x) / 27.0).powi(2) + ((a.y - center.y) / 18.0).powi(2);
    assert!((share - 1.0).abs() < 0.01, "on the outline: {a:?}");
}

#[test]
fn concentrated_edges_share_their_way() {
    // Two edges past the third node to the fourth.
    let edges = [(0, 1), (1, 2), (2, 3), (1, 3), (0, 3)];
    let plain = lay(&graph(4, &edges));
    let shared = lay(&Input { concentrate: true, ..graph(4, &edges) });
    let last = |output: &Output, edge: usize| {
        let bezier = &output.edges[edge].beziers[0];
        bezier[bezier.len() - 4..].to_vec()
    };
    assert_ne!(last(&plain, 3), last(&plain, 4));
    assert_eq!(last(&shared, 3), last(&shared, 4), "they end as one");
    assert_ne!(shared.edges[3].beziers[0][0], shared.edges[4].beziers[0][0], "and begin apart");
    for seed in 0..60 {
        let output = lay(&Input { concentrate: true, ..any_graph(seed) });
        let is_drawn = |index: usize| !output.edges[index].beziers.is_empty();
        let ends = |edge: &Edge| (edge.tail.min(edge.head), edge.tail.max(edge.head));
        let edges = &any_graph(seed).edges;
        for (index, edge) in edges.iter().enumerate() {
            let others = (0..edges.len()).filter(|other| ends(&edges[*other]) == ends(edge));
            assert!(is_drawn(index) || others.into_iter().any(is_drawn), "seed {seed}");
        }
    }
}

#[test]
fn an_edge_leaves_a_field_in_the_midst_of_its_node_sideways() {
    let mut input = graph(3, &[(0, 1), (0, 2)]);
    input.nodes[0] = Node { size: Size::new(54.0, 90.0), outline: Outline::Box, ..Node::default() };
    let field = Rect::around(Point::default(), Size::new(54.0, 30.0));
    let sides = Sides { left: true, right: true, ..Sides::default() };
    let port = Port { point: Point::default(), clip: true, sides, field: Some(field), is_side: false };
    for edge in &mut input.edges {
        edge.tail_end.port = Some(port);
    }
    let output = lay(&input);
    let center = output.nodes[0];
    let (left, right) = (output.edges[0].beziers[0][0], output.edges[1].beziers[0][0]);
    assert!(left.distance(center + Point::new(-27.0, 0.0)) < 0.1, "{left:?}");
    assert!(right.distance(center + Point::new(27.0, 0.0)) < 0.1, "{right:?}");
    // And a field that reaches the lower side is left through it.
    let field = Rect::new(Point::new(-27.0, -45.0), Point::new(27.0, -15.0));
    input.edges[0].tail_end.port = Some(Port { point: Point::new(0.0, -30.0), field: Some(field), ..port });
    let output = lay(&input);
    let start = output.edges[0].beziers[0][0];
    assert!((output.nodes[0].y - 45.0 - start.y).abs() < 0.1, "{start:?}");
    // One that reaches the upper side alone is left there, and the way leads around the node.
    let field = Rect::new(Point::new(-9.0, 15.0), Point::new(20.0, 45.0));
    let sides = Sides { top: true, ..Sides::default() };
    input.edges[0].tail_end.port = Some(Port { point: Point::new(5.5, 30.0), field: Some(field), sides, ..port });
    let output = lay(&input);
    let (start, points) = (output.edges[0].beziers[0][0], &output.edges[0].beziers[0]);
    assert!((output.nodes[0].y + 45.0 - start.y).abs() < 0.1, "{start:?}");
    assert!(points.iter().any(|point| point.x > output.nodes[0].x + 27.0), "{points:?}");
    // And one in the midst of others straight over them.
    let field = Rect::around(Point::default(), Size::new(18.0, 30.0));
    let sides = Sides::default();
    input.edges[0].tail_end.port = Some(Port { point: Point::default(), field: Some(field), sides, ..port });
    let output = lay(&input);
    let start = output.edges[0].beziers[0][0];
    assert!(start.y < output.nodes[0].y && output.edges[0].beziers[0].len() == 4, "{start:?}");
}

#[test]
fn labels_stand_above_their_edges_where_ranks_run_sideways() {
    for rank_direction in [RankDirection::LeftRight, RankDirection::RightLeft] {
        let mut input = Input { rank_direction, ..graph(2, &[(0, 1), (0, 0)]) };
        input.edges[0].label = Some(Size::new(30.0, 14.0));
        let output = lay(&input);
        let label = output.edges[0].label.unwrap();
        // Seven points of the label itself, and two of space.
        assert!((label.y - output.nodes[0].y - 9.0).abs() < 1e-6, "{label:?}");
        let straight = output.edges[0].beziers[0].iter().all(|point| (point.y - output.nodes[0].y).abs() < 1e-6);
        assert!(straight, "{:?}", output.edges[0].beziers);
        assert!(output.edges[1].beziers[0].iter().all(|point| point.y >= output.nodes[0].y), "the loop stands above");
    }
}

#[test]
fn straight_lines_do_not_run_through_their_labels() {
    let mut input = Input { splines: Splines::Line, ..graph(4, &[(0, 1), (0, 2), (0, 3)]) };
    for edge in &mut input.edges {
        edge.label = Some(Size::new(40.0, 14.0));
    }
    let output = lay(&input);
    for (route, edge) in output.edges.iter().zip(&input.edges) {
        let label = Rect::around(route.label.unwrap(), edge.label.unwrap());
        let curve = &route.beziers[0];
        let (from, to) = (curve[0], curve[curve.len() - 1]);
        let inside = (0..=200).any(|step| label.holds(from.toward(to, f64::from(step) / 200.0), -0.5));
        assert!(!inside, "{label:?} {curve:?}");
    }
}

#[test]
fn a_chain_beside_a_cluster_goes_over_to_its_other_side() {
    // Two clusters, one below the other; 3 stands to the left of 4. The long edge from 0 to 4 crosses that from 1 to 3
    // unless it runs to the right of node 1.
    let mut input = graph(5, &[(0, 1), (0, 2), (1, 3), (0, 4), (3, 4)]);
    input.edges[0].label = Some(Size::new(30.0, 14.0));
    input.edges[4].constraint = false;
    let margin = 8.0;
    input.clusters.push(Cluster { nodes: vec![0, 1, 2], label: None, margin, parent: None });
    input.clusters.push(Cluster { nodes: vec![3, 4], label: None, margin, parent: None });
    let output = lay(&input);
    assert!(output.nodes[3].x < output.nodes[4].x);
    let curves = super::route::curve::cubics(&output.edges[3].beziers[0]);
    let points =
        curves.iter().flat_map(|curve| (0..=20).map(|step| super::route::curve::at(curve, f64::from(step) / 20.0)));
    let level = |point: &Point| (point.y - output.nodes[1].y).abs();
    let beside = points.min_by(|a, b| level(a).total_cmp(&level(b))).unwrap();
    assert!(beside.x > output.nodes[1].x, "{beside:?} {:?}", output.nodes);
}

#[test]
fn ratio_pulls_the_drawing_apart() {
    let input = Input { ratio: Ratio::Value(1.0), ..graph(4, &[(0, 1), (1, 2), (2, 3)]) };
    let tall = lay(&input);
    assert!((tall.bounds.height() - 252.0).abs() < 1.0, "{:?}", tall.bounds);
    let input = Input { ratio: Ratio::Value(2.0), ..graph(4, &[(0, 1), (0, 2), (0, 3)]) };
    let wide = lay(&input);
    assert!(wide.bounds.height() > wide.bounds.width() * 1.5, "{:?}", wide.bounds);
}

#[test]
fn head_labels_stand_at_their_angle_when_it_is_given() {
    let mut input = graph(2, &[(0, 1)]);
    input.edges[0].head_end.label = Some(Size::new(8.0, 17.0));
    input.edges[0].label_is_placed = true;
    input.edges[0].label_distance = 2.0;
    let route = lay(&input).edges.remove(0);
    let (tip, label) = (route.head_arrow.unwrap(), route.head_label.unwrap());
    assert!((tip.distance(label) - 20.0).abs() < 1e-6, "{tip:?} {label:?}");
}

#[test]
fn what_has_no_room_of_its_own_covers_no_node() {
    let mut input = graph(3, &[(0, 1), (0, 2)]);
    input.nodes[1].outer_label = Some(Size::new(30.0, 14.0));
    input.edges[1].outer_label = Some(Size::new(30.0, 14.0));
    input.edges[1].tail_end.label = Some(Size::new(10.0, 14.0));
    let output = lay(&input);
    let labels = [output.node_labels[1], output.edges[1].outer_label, output.edges[1].tail_label];
    for label in labels {
        let bounds = Rect::around(label.unwrap(), Size::new(10.0, 14.0));
        for node in &output.nodes {
            assert!(!bounds.overlaps(Rect::around(*node, Size::new(50.0, 30.0)), 0.5), "{bounds:?} on {node:?}");
        }
        assert!(output.bounds.holds(label.unwrap(), 0.0));
    }
}

#[test]
fn no_nodes_make_no_drawing_and_no_failure() {
    let output = lay(&Input::default());
    assert_eq!(output.bounds, Rect::default());
    // Indices that lead nowhere are nobody's.
    let mut input = graph(1, &[(0, 7), (9, 0)]);
    input.clusters.push(Cluster { nodes: vec![5], parent: Some(3), ..Cluster::default() });
    input.rank_sets.push(RankSet { kind: RankKind::Same, nodes: vec![4], cluster: Some(9) });
    assert_eq!(lay(&input).nodes.len(), 1);
}

#[test]
fn the_same_input_gives_the_same_output() {
    for seed in 0..20 {
        let input = any_graph(seed);
        assert_eq!(lay(&input), lay(&input), "seed {seed}");
    }
}

#[test]
fn nodes_never_overlap_and_clusters_hold_their_own_alone() {
    for seed in 0..300 {
        let input = any_graph(seed);
        let output = lay(&input);
        let boxes: Vec<Rect> =
            output.nodes.iter().zip(&input.nodes).map(|(at, node)| Rect::around(*at, node.size)).collect();
        for (a, one) in boxes.iter().enumerate() {
            assert!(output.bounds.holds(one.low, 0.1) && output.bounds.holds(one.high, 0.1), "seed {seed}");
            for (b, two) in boxes.iter().enumerate().skip(a + 1) {
                assert!(!one.overlaps(*two, 1.0), "seed {seed}: nodes {a} and {b}: {one:?} {two:?}");
            }
        }
        for (index, cluster) in output.clusters.iter().enumerate().filter(|(_, one)| !one.bounds.is_empty()) {
            for (node, bounds) in boxes.iter().enumerate() {
                if inside(&input, node, index) {
                    let held = cluster.bounds.holds(bounds.low, 0.0) && cluster.bounds.holds(bounds.high, 0.0);
                    assert!(held, "seed {seed}: node {node} in cluster {index}");
                } else {
                    assert!(!cluster.bounds.overlaps(*bounds, 1.0), "seed {seed}: node {node} on cluster {index}");
                }
            }
            for (other, two) in output.clusters.iter().enumerate().skip(index + 1) {
                let nest = nest::Nest::new(&input, true);
                let related = nest.is_inside(other as u32 + 1, index as u32 + 1);
                if !two.bounds.is_empty() && !related {
                    assert!(!cluster.bounds.overlaps(two.bounds, 1.0), "seed {seed}: clusters {index} and {other}");
                }
            }
        }
    }
}

#[test]
fn edges_end_at_their_nodes() {
    for seed in 0..300 {
        let input = any_graph(seed);
        let output = lay(&input);
        for (index, (route, edge)) in output.edges.iter().zip(&input.edges).enumerate() {
            let what = format!("seed {seed}, edge {index}: {route:?}");
            let (Some(first), Some(last)) = (route.beziers.first(), route.beziers.last()) else { panic!("{what}") };
            assert!(first.len() >= 4 && first.len() % 3 == 1, "{what}");
            assert!(first.iter().chain(last).all(|p| p.x.is_finite() && p.y.is_finite()), "{what}");
            let start = route.tail_arrow.unwrap_or(first[0]);
            let end = route.head_arrow.unwrap_or(last[last.len() - 1]);
            for (at, node) in [(start, edge.tail), (end, edge.head)] {
                let bounds = Rect::around(output.nodes[node], input.nodes[node].size);
                assert!(bounds.holds(at, 1.0), "{what}: {at:?} is not at node {node}: {bounds:?}");
            }
            assert_eq!(route.label.is_some(), edge.label.is_some(), "{what}");
        }
    }
}

#[test]
fn edges_run_around_the_nodes_of_others() {
    let (mut hits, mut edges) = (0, 0);
    for seed in 0..300 {
        let input = any_graph(seed);
        let output = lay(&input);
        for (route, edge) in output.edges.iter().zip(&input.edges) {
            edges += 1;
            let cubics: Vec<_> = route.beziers.iter().flat_map(|bezier| super::route::curve::cubics(bezier)).collect();
            let hit = (0..input.nodes.len()).filter(|node| *node != edge.tail && *node != edge.head).any(|node| {
                let size = input.nodes[node].size;
                let bounds = Rect::around(output.nodes[node], Size::new(size.width - 6.0, size.height - 6.0));
                cubics.iter().any(|cubic| {
                    (0..=20).any(|step| bounds.holds(super::route::curve::at(cubic, f64::from(step) / 20.0), 0.0))
                })
            });
            hits += usize::from(hit);
        }
    }
    // Ends at sides that the way does not lead to may still cut a corner.
    assert!(hits * 200 <= edges, "{hits} of {edges} edges run through a node");
}

#[test]
fn ranks_follow_edges_that_close_no_cycle() {
    for seed in 0..200 {
        let mut dice = Dice(seed + 1000);
        let count = 2 + dice.below(30);
        let mut input = graph(count, &[]);
        for _ in 0..count * 2 {
            let (a, b) = (dice.below(count), dice.below(count));
            if a != b {
                let mut one = edge(a.min(b), a.max(b));
                one.min_length = dice.below(3) as u32;
                input.edges.push(one);
            }
        }
        let ranks = lay(&input).ranks;
        for edge in &input.edges {
            assert!(ranks[edge.tail] + edge.min_length <= ranks[edge.head], "seed {seed}: {edge:?} {ranks:?}");
        }
    }
}

#[test]
fn the_largest_graphs_end_within_the_work_they_may_cost() {
    let mut dice = Dice(5);
    let count = 5_000;
    let mut input = graph(count, &[]);
    for index in 0..20_000 {
        // A long path, so that there are many ranks, and edges all over it.
        let (tail, head) = if index + 1 < count { (index, index + 1) } else { (dice.below(count), dice.below(count)) };
        input.edges.push(edge(tail, head));
    }
    let mut work = Work::new(crate::work::BUDGET_STEPS, None);
    let output = layout(&input, &mut work).unwrap();
    assert_eq!(output.edges.iter().filter(|route| route.beziers.is_empty()).count(), 0);
    assert_eq!(work.care(), Care::StraightLines, "edges over thousands of ranks run straight");
}

#[test]
fn work_that_is_spent_ends_the_layout() {
    let mut input = graph(400, &[]);
    let mut dice = Dice(3);
    for _ in 0..1_000 {
        input.edges.push(edge(dice.below(400), dice.below(400)));
    }
    assert_eq!(layout(&input, &mut Work::new(20_000, None)), Err(Exhausted::Steps));
}

#[test]
fn hostile_numbers_do_no_harm() {
    let mut input = graph(3, &[(0, 1), (1, 2), (0, 2), (2, 2)]);
    input.nodes[0].size = Size::new(1e9, 1e9);
    input.nodes[1].size = Size::new(0.0, 0.0);
    input.nodes[2].outline = Outline::Polygon(Vec::new());
    for (index, edge) in input.edges.iter_mut().enumerate() {
        edge.min_length = u32::MAX;
        edge.weight = u32::MAX;
        edge.head_end.arrow_length = 1e9;
        edge.label = (index % 2 == 0).then_some(Size::new(1e7, 1e7));
    }
    input.rank_separation = 1e7;
    for splines in [Splines::Spline, Splines::Ortho, Splines::Polyline, Splines::Curved, Splines::Line, Splines::None] {
        input.splines = splines;
        lay(&input);
    }
}

#[test]
fn every_kind_of_splines_draws_every_edge() {
    for splines in [Splines::Spline, Splines::Polyline, Splines::Line, Splines::Ortho, Splines::Curved] {
        for seed in 0..40 {
            let input = Input { splines, ..any_graph(seed) };
            let output = lay(&input);
            assert!(output.edges.iter().all(|route| !route.beziers.is_empty()), "{splines:?}, seed {seed}");
        }
    }
    let none = lay(&Input { splines: Splines::None, ..any_graph(1) });
    assert!(none.edges.iter().all(|route| route.beziers.is_empty()));
}
