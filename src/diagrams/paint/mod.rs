//! The painter: a graph with its parts and their places, made into a scene.

mod corners;
mod edge;
mod label;
mod link;
mod node;

pub(crate) use corners::{fit_gradient, rounded};
pub use link::is_safe as is_safe_link;

use crate::color::{self, parse_or_black};
use crate::geometry::{Point, Rect, Size};
use crate::graph::Graph;
use crate::html::Look;
use crate::label::Label;
use crate::layout::{Along, Output};
use crate::plan::Plan;
use crate::scene::{Color, Fill, Group, GroupKind, Item, Scene, Stroke};
use crate::shapes::Ring;
use crate::style::{Style, colors, fill_of};
use crate::text::Names;
use crate::values::{Attributes, leading_number};
use crate::warnings::Warnings;
use crate::work::{Exhausted, Work};

/// Space around the drawing where `pad` says nothing, in points.
const DEFAULT_PAD: f64 = 4.0;

const POINTS_PER_INCH: f64 = 72.0;

/// The largest `pad`, `size` and `dpi` that are taken as such.
const LARGEST: f64 = 10_000.0;

/// What all parts of the painter share.
struct Pen<'a> {
    graph: &'a Graph,
    warnings: Warnings,
}

impl Pen<'_> {
    /// The one colour of an attribute.
    fn color(&mut self, attributes: &dyn Attributes, name: &str, default: &str) -> Color {
        let scheme = attributes.text("colorscheme").unwrap_or_default();
        // The default is no name of a scheme.
        let (text, scheme) = attributes.text(name).map_or((default, ""), |text| (text, scheme));
        let first = if text.contains(':') { text.split([':', ';']).next().unwrap_or_default() } else { text };
        parse_or_black(first, scheme, &mut self.warnings)
    }
}

/// A label to be painted.
struct Placed<'a> {
    label: &'a Label,
    center: Point,
    room: Size,
    along: Option<Along>,
}

impl<'a> Placed<'a> {
    /// A label that stands alone.
    fn at(label: &'a Label, center: Point) -> Placed<'a> {
        Placed { label, center, room: label.size(), along: None }
    }

    fn paint(self, pen: &mut Pen<'_>, look: Look<'_>) -> Vec<Item> {
        label::label(self.label, self.center, self.room, self.along, look, &mut pen.warnings)
    }
}

/// The colours of an object's labels.
#[derive(Clone)]
struct LabelColors<'a> {
    font: Color,
    line: Color,
    scheme: &'a str,
    id: &'a str,
}

impl<'a> LabelColors<'a> {
    /// Reads them; `id` is that of the object's element.
    fn new(pen: &mut Pen<'_>, attributes: &'a dyn Attributes, id: &'a str) -> LabelColors<'a> {
        let line = if attributes.text("pencolor").is_some() { "pencolor" } else { "color" };
        LabelColors {
            font: pen.color(attributes, "fontcolor", "black"),
            line: pen.color(attributes, line, "black"),
            scheme: attributes.text("colorscheme").unwrap_or_default(),
            id,
        }
    }

    fn look(&self) -> Look<'_> {
        Look { font_color: &self.font, line_color: &self.line, scheme: self.scheme, id: self.id }
    }
}

/// The points of an outline about the origin, about `center`.
fn moved(points: &[Point], center: Point) -> Vec<Point> {
    points.iter().map(|point| *point + center).collect()
}

/// The box of an outline about `center`.
fn bounds_of(ring: &Ring, center: Point) -> Rect {
    match ring {
        Ring::Ellipse(size) => Rect::around(center, *size),
        Ring::Polygon(points) => {
            let mut bounds = Rect::EMPTY;
            points.iter().for_each(|point| bounds.include(*point + center));
            bounds
        }
    }
}

/// Paints a graph. The scene, and what the user should know.
///
/// # Errors
/// When painting takes more work than is left.
pub fn paint(graph: &Graph, plan: &Plan, layout: &Output, work: &mut Work) -> Result<(Scene, Warnings), Exhausted> {
    let mut pen = Pen { graph, warnings: Warnings::default() };
    let root = graph.root();
    let name = graph.name().map(|name| name.text.to_string());
    let graph_id = root.text("id").map(str::to_owned);
    let prefix = graph_id.as_ref().map_or_else(String::new, |id| format!("{id}_"));
    let names = Names { graph: Some(name.as_deref().unwrap_or("%1")), ..Names::default() };
    let mut scene = Scene {
        title: name.clone(),
        id: graph_id.unwrap_or_else(|| "graph0".to_owned()),
        class: root.text("class").map(str::to_owned),
        items: Vec::new(),
        link: link::of(&root, &names, "", link::label_text(&root, "label")),
        groups: Vec::new(),
        bounds: layout.bounds,
        pad: pad(&root),
        zoom: 1.0,
        is_rotated: is_rotated(&root),
        dots_per_inch: dots_per_inch(&root),
        has_background: true,
    };
    scene.zoom = zoom(&root, &scene);
    background(&mut pen, &mut scene);
    if let (Some(label), Some(place)) = (&plan.label, layout.label) {
        let colors = LabelColors::new(&mut pen, &root, &scene.id);
        let items = Placed::at(label, place).paint(&mut pen, colors.look());
        scene.items.extend(items);
    }
    for (index, cluster) in plan.clusters.iter().enumerate() {
        let Some(place) = layout.clusters.get(index).filter(|place| !place.bounds.is_empty()) else { continue };
        let attributes = graph.subgraph(cluster.subgraph);
        let title = graph.subgraphs.get(cluster.subgraph).and_then(|subgraph| subgraph.name.as_ref());
        let title = title.map_or_else(String::new, |name| name.text.to_string());
        let own = Names { graph: Some(&title), ..Names::default() };
        let id = own_id(&attributes, &own).unwrap_or_else(|| format!("{prefix}clust{}", cluster.subgraph));
        let mut items = paint_cluster(&mut pen, &attributes, place.bounds);
        if let (Some(label), Some(at)) = (&cluster.label, place.label)
            && !is_invisible(&attributes)
        {
            let colors = LabelColors::new(&mut pen, &attributes, &id);
            items.extend(Placed::at(label, at).paint(&mut pen, colors.look()));
        }
        let items = link::wrap(&attributes, &own, "", &id, link::label_text(&attributes, "label"), items);
        let painted = group(GroupKind::Cluster, id, title.clone(), &attributes, items);
        work.spend(group_steps(&painted))?;
        scene.groups.push(painted);
    }
    for object in order(graph, root.text("outputorder")) {
        let painted = match object {
            Object::Node(index) => node_group(&mut pen, plan, layout, index, &prefix, &names),
            Object::Edge(index) => edge_group(&mut pen, plan, layout, index, &prefix, &names),
        };
        work.spend(painted.as_ref().map_or(0, group_steps))?;
        scene.groups.extend(painted);
    }
    Ok((scene, pen.warnings))
}

/// The steps that an item, a point and a byte of text cost, from here to the finished file.
const STEPS_PER_ITEM: u64 = 64;
const STEPS_PER_POINT: u64 = 4;
const STEPS_PER_BYTE: u64 = 2;

/// What a group costs. A short source can give thousands of objects long texts: this is what bounds them together.
fn group_steps(group: &Group) -> u64 {
    let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    let texts = group.id.len() + group.name.len() + group.title.len() + bytes(&group.class) + bytes(&group.comment);
    STEPS_PER_ITEM + STEPS_PER_BYTE * texts as u64 + group.items.iter().map(item_steps).sum::<u64>()
}

fn item_steps(item: &Item) -> u64 {
    let bytes = |text: &Option<String>| text.as_ref().map_or(0, String::len);
    STEPS_PER_ITEM
        + match item {
            Item::Polygon { points, .. } | Item::Polyline { points, .. } | Item::Path { points, .. } => {
                STEPS_PER_POINT * points.len() as u64
            }
            Item::Ellipse { .. } => 0,
            Item::Text(text) => STEPS_PER_BYTE * text.text.len() as u64,
            Item::Linked { id, link, items } => {
                let texts = id.len() + bytes(&link.href) + bytes(&link.title) + bytes(&link.target);
                STEPS_PER_BYTE * texts as u64 + items.iter().map(item_steps).sum::<u64>()
            }
        }
}

fn own_id(attributes: &dyn Attributes, names: &Names<'_>) -> Option<String> {
    attributes.text("id").map(|id| crate::text::substitute(id, names))
}

fn group(kind: GroupKind, id: String, title: String, attributes: &dyn Attributes, items: Vec<Item>) -> Group {
    let text = |name: &str| attributes.text(name).map(str::to_owned);
    Group {
        kind,
        id,
        class: text("class"),
        name: title.clone(),
        title,
        comment: text("comment"),
        is_hidden: false,
        items,
    }
}

fn is_invisible(attributes: &dyn Attributes) -> bool {
    Style::new(attributes, &mut Warnings::default()).invisible
}

fn node_group(
    pen: &mut Pen<'_>,
    plan: &Plan,
    layout: &Output,
    index: usize,
    prefix: &str,
    names: &Names<'_>,
) -> Option<Group> {
    let graph = pen.graph;
    let node = graph.nodes.get(index)?;
    let (shape, center) = (plan.shapes.get(index)?, *layout.nodes.get(index)?);
    let attributes = graph.node(index);
    let names = Names { node: Some(&node.name.text), ..*names };
    let id = own_id(&attributes, &names).unwrap_or_else(|| format!("{prefix}node{}", index + 1));
    let mut items = node::paint(pen, &attributes, shape, center, &id);
    let is_hidden = is_invisible(&attributes);
    let label = link::label_text(&attributes, "label").unwrap_or("\\N");
    if !is_hidden {
        let outer = plan.outer_labels.get(index).and_then(Option::as_ref);
        if let (Some(label), Some(Some(place))) = (outer, layout.node_labels.get(index)) {
            let colors = LabelColors::new(pen, &attributes, &id);
            items.extend(Placed::at(label, *place).paint(pen, colors.look()));
        }
        items = link::wrap(&attributes, &names, "", &id, Some(label), items);
    }
    let mut group = group(GroupKind::Node, id, node.name.text.to_string(), &attributes, items);
    group.is_hidden = is_hidden;
    Some(group)
}

fn edge_group(
    pen: &mut Pen<'_>,
    plan: &Plan,
    layout: &Output,
    index: usize,
    prefix: &str,
    names: &Names<'_>,
) -> Option<Group> {
    let graph = pen.graph;
    let edge = graph.edges.get(index)?;
    let (parts, route) = (plan.edges.get(index)?, layout.edges.get(index)?);
    let attributes = graph.edge(index);
    let plain = graph.edge_name(edge);
    let names = Names { graph: names.graph, ..graph.names_of_edge(edge, &plain) };
    let id = own_id(&attributes, &names).unwrap_or_else(|| format!("{prefix}edge{}", index + 1));
    let items = edge::paint(pen, &attributes, &names, parts, route, &id);
    let mut group = group(GroupKind::Edge, id, edge_title(graph, index), &attributes, items);
    group.is_hidden = is_invisible(&attributes) || route.beziers.is_empty();
    group.name = plain;
    Some(group)
}

/// The name of an edge: its ends with the ports they name.
fn edge_title(graph: &Graph, index: usize) -> String {
    let Some(edge) = graph.edges.get(index) else { return String::new() };
    let attributes = graph.edge(index);
    let end = |node: usize, port: &str| {
        let name = graph.node_name(node);
        match attributes.text(port) {
            // Of a port with a compass point, the point.
            Some(port) => format!("{name}:{}", port.rsplit(':').next().unwrap_or_default()),
            None => name.to_owned(),
        }
    };
    let arrow = if graph.directed { "->" } else { "--" };
    format!("{}{arrow}{}", end(edge.tail, "tailport"), end(edge.head, "headport"))
}

/// The box of a cluster.
fn paint_cluster(pen: &mut Pen<'_>, attributes: &dyn Attributes, bounds: Rect) -> Vec<Item> {
    let style = Style::new(attributes, &mut pen.warnings);
    if style.invisible {
        return Vec::new();
    }
    let scheme = attributes.text("colorscheme").unwrap_or_default();
    let is_filled = style.filled || style.radial;
    let filling = if is_filled {
        attributes.text("fillcolor").or_else(|| attributes.text("color")).or_else(|| attributes.text("bgcolor"))
    } else {
        attributes.text("bgcolor")
    };
    let filling = filling.or(if is_filled { Some("lightgrey") } else { None });
    let angle = attributes.number("gradientangle", 0.0, f64::MIN);
    let line = pen.color(attributes, if attributes.text("pencolor").is_some() { "pencolor" } else { "color" }, "black");
    let peripheries = attributes.whole("peripheries", 1, 0);
    let stroke = if peripheries == 0 { Stroke { color: None, ..style.stroke(&line) } } else { style.stroke(&line) };
    let (low, high) = (bounds.low, bounds.high);
    let corners = vec![low, Point::new(low.x, high.y), high, Point::new(high.x, low.y)];
    let mut items = Vec::new();
    let fill = match filling {
        _ if style.striped => {
            let text = attributes.text("bgcolor").or_else(|| attributes.text("fillcolor"));
            let text = text.or_else(|| attributes.text("color")).unwrap_or("lightgrey");
            let list = colors(text, scheme, &mut pen.warnings);
            let thin = Stroke { width: Some(0.5), ..Style::default().stroke(&line) };
            items.extend(node::stripes(&list, bounds, &thin));
            Fill::None
        }
        Some(text) => {
            let list = colors(text, scheme, &mut pen.warnings);
            fill_of(&list, style.radial, angle, bounds, &mut pen.warnings)
        }
        None => Fill::None,
    };
    // Rounded ones begin below on the left, and run against the clock.
    let turned = || vec![low, Point::new(high.x, low.y), high, Point::new(low.x, high.y)];
    if style.rounded && !style.striped {
        items.push(Item::Path { points: corners::rounded(&turned()), fill, stroke });
    } else if style.diagonals {
        items.push(Item::Polygon { points: turned(), fill, stroke: stroke.clone() });
        items.extend(corners::diagonals(&turned(), &stroke));
    } else if stroke.color.is_some() || fill != Fill::None {
        items.push(Item::Polygon { points: corners, fill, stroke });
    }
    items
}

/// The background: white, `bgcolor`, or nothing where that is transparent.
fn background(pen: &mut Pen<'_>, scene: &mut Scene) {
    let root = pen.graph.root();
    let scheme = root.text("colorscheme").unwrap_or_default();
    let list = match root.text("bgcolor") {
        Some(text) => colors(text, scheme, &mut pen.warnings),
        None => vec![color::Share { color: Color::named("white", [255; 4]), share: None }],
    };
    let style = Style::new(&root, &mut pen.warnings);
    let (low, high) = (scene.bounds.low - scene.pad, scene.bounds.high + scene.pad);
    let bounds = Rect::new(low, high);
    let angle = root.number("gradientangle", 0.0, f64::MIN);
    let fill = fill_of(&list, style.radial, angle, bounds, &mut pen.warnings);
    scene.has_background = fill != Fill::None;
    if scene.has_background {
        let points = vec![low, Point::new(low.x, high.y), high, Point::new(high.x, low.y)];
        scene.items.push(Item::Polygon { points, fill, stroke: Stroke::default() });
    }
}

/// `pad` in points.
fn pad(attributes: &dyn Attributes) -> Point {
    let Some((x, rest)) = attributes.text("pad").and_then(leading_number) else {
        return Point::new(DEFAULT_PAD, DEFAULT_PAD);
    };
    let y = rest.trim_start().strip_prefix(',').and_then(leading_number).map_or(x, |(y, _)| y);
    let points = |inches: f64| inches.clamp(0.0, LARGEST) * POINTS_PER_INCH;
    Point::new(points(x), points(y))
}

fn is_rotated(attributes: &dyn Attributes) -> bool {
    match attributes.text("rotate") {
        Some(_) => attributes.whole("rotate", 0, i64::MIN) == 90,
        None => {
            let turned = attributes.text("orientation").is_some_and(|text| text.starts_with(['l', 'L']));
            turned || attributes.flag("landscape", false)
        }
    }
}

fn dots_per_inch(attributes: &dyn Attributes) -> Option<f64> {
    let name = if attributes.text("dpi").is_some() { "dpi" } else { "resolution" };
    attributes.text(name)?;
    Some(attributes.number(name, 0.0, 0.0)).filter(|dpi| *dpi > 0.0).map(|dpi| dpi.min(LARGEST))
}

/// `size`, in points, and whether the picture also grows to it (`!`).
pub fn size_limit(attributes: &dyn Attributes) -> Option<(Size, bool)> {
    let text = attributes.text("size")?;
    let (x, rest) = leading_number(text)?;
    let y = rest.trim_start().strip_prefix(',').and_then(leading_number).map_or(x, |(y, _)| y);
    let points = |inches: f64| inches.min(LARGEST) * POINTS_PER_INCH;
    (x > 0.0 && y > 0.0).then(|| (Size::new(points(x), points(y)), text.trim_end().ends_with('!')))
}

/// What `size` makes of the picture.
fn zoom(attributes: &dyn Attributes, scene: &Scene) -> f64 {
    let Some((limit, grows)) = size_limit(attributes) else { return 1.0 };
    let width = scene.bounds.width() + 2.0 * scene.pad.x;
    let height = scene.bounds.height() + 2.0 * scene.pad.y;
    // Observed: the size is that before the turn.
    if width <= 0.0 || height <= 0.0 {
        return 1.0;
    }
    let share = (limit.width / width).min(limit.height / height);
    if share < 1.0 || grows { share } else { 1.0 }
}

/// A node or an edge.
#[derive(Clone, Copy)]
enum Object {
    Node(usize),
    Edge(usize),
}

/// The order of painting: each node, then its edges, each after its other end; or as `outputorder` says.
fn order(graph: &Graph, wish: Option<&str>) -> Vec<Object> {
    let nodes = (0..graph.nodes.len()).map(Object::Node);
    let edges = (0..graph.edges.len()).map(Object::Edge);
    match wish {
        Some("nodesfirst") => return nodes.chain(edges).collect(),
        Some("edgesfirst") => return edges.chain(nodes).collect(),
        _ => {}
    }
    let mut leaving = vec![Vec::new(); graph.nodes.len()];
    for (index, edge) in graph.edges.iter().enumerate() {
        if let Some(list) = leaving.get_mut(edge.tail) {
            list.push(index);
        }
    }
    // Observed: by their other end, not in the order of their creation.
    for edges in &mut leaving {
        edges.sort_by_key(|edge| graph.edges.get(*edge).map(|edge| edge.head));
    }
    let mut done = vec![false; graph.nodes.len()];
    let mut objects = Vec::with_capacity(graph.nodes.len() + graph.edges.len());
    let mut emit = |objects: &mut Vec<Object>, node: usize| {
        if let Some(done) = done.get_mut(node).filter(|done| !**done) {
            *done = true;
            objects.push(Object::Node(node));
        }
    };
    for (node, edges) in leaving.iter().enumerate() {
        emit(&mut objects, node);
        for edge in edges {
            if let Some(edge) = graph.edges.get(*edge) {
                emit(&mut objects, edge.head);
            }
            objects.push(Object::Edge(*edge));
        }
    }
    objects
}

#[cfg(test)]
mod tests;
