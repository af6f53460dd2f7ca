//! Where edges leave a node that says so: compass points, fields of records, cells of tables.

use super::kinds::Family;
use super::model::{NodeShape, Ring};
use crate::geometry::{Point, Rect, Size};
use crate::layout::{Port, Sides};
use crate::warnings::Warnings;

/// The sides a compass point names, and its direction; `None` if it is none.
fn compass(name: &str) -> Option<(Point, Sides)> {
    let mut sides = Sides::default();
    let mut direction = Point::default();
    match name {
        "n" | "ne" | "nw" => (sides.top, direction.y) = (true, 1.0),
        "s" | "se" | "sw" => (sides.bottom, direction.y) = (true, -1.0),
        "e" | "w" | "c" | "_" => {}
        _ => return None,
    }
    match name {
        "e" | "ne" | "se" => (sides.right, direction.x) = (true, 1.0),
        "w" | "nw" | "sw" => (sides.left, direction.x) = (true, -1.0),
        _ => {}
    }
    Some((direction, sides))
}

/// The sides of a box that lie on the border of the node.
fn sides_at_border(rect: Rect, node: Rect) -> Sides {
    let near = |a: f64, b: f64| (a - b).abs() <= 1.0;
    Sides {
        top: near(rect.high.y, node.high.y),
        bottom: near(rect.low.y, node.low.y),
        left: near(rect.low.x, node.low.x),
        right: near(rect.high.x, node.high.x),
    }
}

impl NodeShape {
    /// The place an edge names by `node:port:compass`; `None` if it names none, or one that does not exist.
    ///
    /// `node` is the node's name, for warnings.
    pub fn port(&self, node: &str, port: Option<&str>, point: Option<&str>, warnings: &mut Warnings) -> Option<Port> {
        let name = port.or(point)?;
        if name.is_empty() {
            return None;
        }
        let field = self.field_rect(name);
        if field.is_none() && (port.is_none() || point.is_none()) {
            // What could be a compass point is one, if it is no field.
            match compass(name) {
                Some((direction, sides)) => return self.compass_port(None, direction, sides),
                None => {
                    warnings.push(format!("node {node}, port {name} unrecognized"));
                    return None;
                }
            }
        }
        let Some((rect, sides)) = field else {
            warnings.push(format!("node {node}, port {name} unrecognized"));
            return None;
        };
        let whole = Port { point: rect.center(), clip: true, sides, field: Some(rect), is_side: false };
        match point.filter(|_| port.is_some()) {
            None | Some("" | "_") => Some(whole),
            Some(point) => match compass(point) {
                Some((direction, sides)) => self.compass_port(Some(rect), direction, sides),
                None => {
                    warnings.push(format!("node {node}, port {name}, unrecognized compass point '{point}' - ignored"));
                    Some(whole)
                }
            },
        }
    }

    /// The box of the field or cell of this name, and its sides on the node's border.
    fn field_rect(&self, name: &str) -> Option<(Rect, Sides)> {
        if self.kind.family == Family::Record {
            let root = self.fields.first()?.rect;
            let field = self.fields.iter().find(|field| field.port.as_deref() == Some(name))?;
            return Some((field.rect, sides_at_border(field.rect, root)));
        }
        let label = self.label.as_ref()?.label.as_html()?;
        let rect = label.port(name)?;
        let half = Point::new(label.size.width / 2.0, label.size.height / 2.0);
        Some((rect, sides_at_border(rect, Rect::new(Point::default() - half, half))))
    }

    fn compass_port(&self, field: Option<Rect>, direction: Point, sides: Sides) -> Option<Port> {
        if direction == Point::default() {
            let point = field.map_or_else(Point::default, Rect::center);
            return Some(Port { point, clip: true, sides, field, is_side: false });
        }
        let on_box = |rect: Rect| {
            let center = rect.center();
            let half = (rect.high - rect.low) * 0.5;
            center + Point::new(half.x * direction.x, half.y * direction.y)
        };
        let point = match (field, self.rings.last()) {
            (Some(rect), _) => on_box(rect),
            (None, Some(ring)) if !self.has_box_outline() => border(ring, direction.unit(), self.pen_width / 2.0),
            (None, _) => on_box(Rect::around(Point::default(), self.ring_size())),
        };
        Some(Port { point, clip: false, sides, field, is_side: true })
    }

    /// Whether diagonal compass points lie in the corners.
    fn has_box_outline(&self) -> bool {
        self.kind.family == Family::Record || (self.is_box && self.kind.peripheries > 0)
    }

    fn ring_size(&self) -> Size {
        match self.rings.last() {
            Some(Ring::Ellipse(size)) => *size,
            Some(Ring::Polygon(points)) => {
                let half = points.iter().fold(Point::default(), |max, point| {
                    Point::new(max.x.max(point.x.abs()), max.y.max(point.y.abs()))
                });
                Size::new(2.0 * half.x, 2.0 * half.y)
            }
            None => self.size,
        }
    }
}

/// Where the ray from the centre meets an outline, and half the pen more.
fn border(ring: &Ring, direction: Point, pen: f64) -> Point {
    let distance = match ring {
        Ring::Ellipse(size) => {
            let (a, b) = (size.width / 2.0 + pen, size.height / 2.0 + pen);
            if a <= 0.0 || b <= 0.0 { 0.0 } else { 1.0 / (direction.x / a).hypot(direction.y / b) }
        }
        Ring::Polygon(points) => {
            let next = points.iter().cycle().skip(1);
            let far = points.iter().zip(next).filter_map(|(from, to)| {
                let side = *to - *from;
                let area = direction.cross(side);
                if area.abs() < 1e-12 {
                    return None;
                }
                let along = from.cross(side) / area;
                let share = from.cross(direction) / area;
                ((-1e-9..=1.0 + 1e-9).contains(&share) && along > 0.0).then(|| along + pen * side.length() / area.abs())
            });
            far.fold(0.0, f64::max)
        }
    };
    direction * distance
}
