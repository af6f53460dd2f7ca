//! Arrowheads: their names, how long they are, and what is painted.
//!
//! An arrow is a chain of up to four parts, from its tip (at the node) backwards. Measures were read off what
//! Graphviz 16.1 draws, with pens of several widths.

use crate::geometry::Point;
use crate::graph::values::Attributes;
use crate::warnings::Warnings;

/// The length of a plain arrow of size 1, in points.
const LENGTH: f64 = 10.0;

/// The most parts of a chain.
const MOST_PARTS: usize = 4;

/// The largest `arrowsize` that is drawn as such.
const LARGEST_SIZE: f64 = 1_000.0;

/// The kinds of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    None,
    Normal,
    Inv,
    Dot,
    Tee,
    Box,
    Diamond,
    Crow,
    Vee,
    Curve,
    InvCurve,
}

/// Which half of a part is drawn, as seen along the edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Both,
    Left,
    Right,
}

/// A part with its modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Link {
    part: Part,
    is_open: bool,
    half: Half,
}

/// An arrow as `arrowhead` and `arrowsize` describe it.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrow {
    links: Vec<Link>,
    size: f64,
    pen_width: f64,
}

/// What an arrow is painted of, in places of the drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// A closed outline, filled or not.
    Polygon {
        /// The corners.
        points: Vec<Point>,
        /// Whether it is filled.
        filled: bool,
    },
    /// A line.
    Line([Point; 2]),
    /// A curve of one piece.
    Curve([Point; 4]),
    /// A circle, filled or not.
    Circle {
        /// Its middle.
        center: Point,
        /// Its radius.
        radius: f64,
        /// Whether it is filled.
        filled: bool,
    },
}

/// Names that stand for others.
const SYNONYMS: [(&str, &str); 4] =
    [("invempty", "oinv"), ("empty", "onormal"), ("ediamond", "odiamond"), ("halfopen", "lvee")];

/// The names of parts; none begins another that follows it.
const PARTS: [(&str, Part); 12] = [
    ("normal", Part::Normal),
    ("crow", Part::Crow),
    ("tee", Part::Tee),
    ("box", Part::Box),
    ("diamond", Part::Diamond),
    ("dot", Part::Dot),
    ("none", Part::None),
    ("inv", Part::Inv),
    ("vee", Part::Vee),
    ("open", Part::Vee),
    ("curve", Part::Curve),
    ("icurve", Part::InvCurve),
];

fn parse(name: &str, warnings: &mut Warnings) -> Vec<Link> {
    let mut links = Vec::new();
    let mut rest = match SYNONYMS.iter().find(|(synonym, _)| *synonym == name) {
        Some((_, other)) => other,
        None => name,
    };
    while !rest.is_empty() && links.len() < MOST_PARTS {
        let mut link = Link { part: Part::None, is_open: false, half: Half::Both };
        let mut at = rest;
        let found = loop {
            if let Some((word, part)) = PARTS.iter().find(|(word, _)| at.starts_with(word)) {
                link.part = *part;
                break at.strip_prefix(word);
            }
            match at.chars().next() {
                Some('o') => link.is_open = true,
                Some('l') => link.half = Half::Left,
                Some('r') => link.half = Half::Right,
                _ => break None,
            }
            at = at.get(1..).unwrap_or_default();
        };
        match found {
            Some(after) => {
                rest = after;
                links.push(link);
            }
            None => {
                warnings.push(format!("Arrow type \"{rest}\" unknown - ignoring"));
                break;
            }
        }
    }
    // Nothing alone is nothing; observed: as the last of four, too. Elsewhere it is a line.
    if matches!(links.len(), 1 | MOST_PARTS) && links.last().is_some_and(|link| link.part == Part::None) {
        links.pop();
    }
    links
}

/// Whether `dir` points to the tail and to the head.
pub fn ends(attributes: &dyn Attributes, is_directed: bool) -> (bool, bool) {
    match attributes.text("dir") {
        Some("both") => (true, true),
        Some("back") => (true, false),
        Some("none") => (false, false),
        Some("forward") => (false, true),
        _ => (false, is_directed),
    }
}

impl Arrow {
    /// The arrow of this name; `None` if nothing is drawn.
    pub fn new(name: &str, size: f64, pen_width: f64, warnings: &mut Warnings) -> Option<Arrow> {
        let links = parse(name, warnings);
        let size = size.clamp(0.0, LARGEST_SIZE);
        (!links.is_empty()).then_some(Arrow { links, size, pen_width })
    }

    /// The arrows of an edge at its tail and its head, by `dir`, `arrowtail` and `arrowhead`.
    pub fn of_edge(
        attributes: &dyn Attributes,
        is_directed: bool,
        pen_width: f64,
        warnings: &mut Warnings,
    ) -> [Option<Arrow>; 2] {
        let (tail, head) = ends(attributes, is_directed);
        let size = attributes.number("arrowsize", 1.0, 0.0);
        let mut arrow = |attribute: &str, wanted: bool| match wanted {
            true => Arrow::new(attributes.text(attribute).unwrap_or("normal"), size, pen_width, warnings),
            false => None,
        };
        [arrow("arrowtail", tail), arrow("arrowhead", head)]
    }

    /// How far the edge ends before the node, in points.
    pub fn length(&self) -> f64 {
        let last = self.links.len().saturating_sub(1);
        self.links
            .iter()
            .enumerate()
            .map(|(i, link)| self.extent(*link) - if i == last { self.overlap(*link) } else { 0.0 })
            .sum()
    }

    /// Half the width of a part that is `share` as wide as a plain arrow is long. Thick pens make wide arrows.
    fn half_width(&self, share: f64) -> f64 {
        share * LENGTH * self.size * (self.pen_width / 4.0).max(1.0)
    }

    /// How far a tip of this slope (half its width over its length) lies before where its lines would meet, so that
    /// the pen's mitre ends at the node.
    fn mitre(&self, slope: f64, half: Half) -> f64 {
        let sine = slope.atan().sin();
        if sine <= 0.0 {
            return 0.0;
        }
        let pen = self.pen_width / 2.0;
        if half == Half::Both { pen / sine } else { pen * sine }
    }

    fn slope(&self, share: f64) -> f64 {
        share * (self.pen_width / 4.0).max(1.0)
    }

    /// The length of a part with its pen.
    fn extent(&self, link: Link) -> f64 {
        let (size, pen) = (LENGTH * self.size, self.pen_width);
        if size <= 0.0 {
            return 0.0;
        }
        match link.part {
            Part::None => 0.5 * size,
            Part::Normal | Part::Inv => size + self.mitre(self.slope(0.35), link.half) + pen / 2.0,
            Part::Dot => 0.8 * size + pen,
            Part::Tee => 0.5 * size + (pen / 2.0 - 1.0).max(0.0),
            Part::Box => size + pen / 2.0,
            Part::Diamond => 1.2 * size + 2.0 * self.mitre(2.0 / 3.0, Half::Both),
            Part::Crow => size + pen / 3.0 + self.mitre(self.slope(0.45), link.half),
            Part::Vee => size + self.mitre(self.slope(0.45), link.half) + pen / 2.0,
            Part::Curve => size + pen / 2.0,
            Part::InvCurve => size,
        }
    }

    /// How far the edge runs into the last part.
    fn overlap(&self, link: Link) -> f64 {
        let pen = self.pen_width;
        match link.part {
            _ if self.size <= 0.0 => 0.0,
            Part::Normal | Part::Diamond | Part::Vee => pen / 2.0,
            Part::Inv => self.mitre(self.slope(0.35), link.half),
            Part::Crow => self.mitre(self.slope(0.45), link.half),
            _ => 0.0,
        }
    }

    /// What is painted, with the tip at `tip` and the edge ending towards `from`.
    pub fn pieces(&self, tip: Point, from: Point) -> Vec<Piece> {
        let mut frame = Frame { origin: tip, back: (from - tip).unit() };
        let mut pieces = Vec::new();
        for link in &self.links {
            self.paint(*link, &frame, &mut pieces);
            frame.origin = frame.at(self.extent(*link), 0.0);
        }
        pieces
    }

    fn paint(&self, link: Link, frame: &Frame, pieces: &mut Vec<Piece>) {
        let (size, pen) = (LENGTH * self.size, self.pen_width);
        let at = |depth: f64, side: f64| frame.at(depth, side);
        let (left, right) = match link.half {
            Half::Both => (1.0, -1.0),
            Half::Left => (1.0, 0.0),
            Half::Right => (0.0, -1.0),
        };
        let filled = !link.is_open;
        match link.part {
            Part::None => pieces.push(Piece::Line([at(0.0, 0.0), at(0.5 * size, 0.0)])),
            Part::Normal | Part::Inv => {
                let width = self.half_width(0.35);
                let lead = self.mitre(self.slope(0.35), link.half);
                let (tip, base) = match link.part {
                    Part::Normal => (lead, lead + size),
                    _ => (size + pen / 2.0, pen / 2.0),
                };
                let (tip, base) = if size > 0.0 { (tip, base) } else { (0.0, 0.0) };
                let points = vec![at(base, left * width), at(tip, 0.0), at(base, right * width)];
                pieces.push(Piece::Polygon { points, filled });
            }
            Part::Dot => {
                let radius = 0.4 * size;
                pieces.push(Piece::Circle { center: at(radius + pen / 2.0, 0.0), radius, filled });
            }
            Part::Tee => {
                let shift = (pen / 2.0 - 1.0).max(0.0);
                let width = self.half_width(0.5);
                let (near, far) = (shift + 0.1 * size, shift + 0.3 * size);
                let points = vec![
                    at(near, right * width),
                    at(near, left * width),
                    at(far, left * width),
                    at(far, right * width),
                ];
                pieces.push(Piece::Polygon { points, filled: true });
                pieces.push(Piece::Line([at(shift, 0.0), at(shift + 0.5 * size, 0.0)]));
            }
            Part::Box => {
                let (near, far, width) = (pen / 2.0, pen / 2.0 + 0.8 * size, self.half_width(0.4));
                let points = vec![
                    at(near, right * width),
                    at(near, left * width),
                    at(far, left * width),
                    at(far, right * width),
                ];
                pieces.push(Piece::Polygon { points, filled });
                pieces.push(Piece::Line([at(far, 0.0), at(far + 0.2 * size, 0.0)]));
            }
            Part::Diamond => {
                let width = self.half_width(0.4);
                let (shift, more) = match link.half {
                    Half::Both => (0.0, 0.0),
                    Half::Left => (pen / 2.0, 0.75 * pen),
                    Half::Right => (-pen / 2.0, 0.75 * pen),
                };
                let near = self.mitre(2.0 / 3.0, Half::Both) + more;
                let (middle, far) = (near + 0.6 * size, near + 1.2 * size);
                let mut points = vec![at(far, shift)];
                if link.half != Half::Left {
                    points.push(at(middle, shift - width));
                }
                points.push(at(near, shift));
                if link.half != Half::Right {
                    points.push(at(middle, shift + width));
                }
                pieces.push(Piece::Polygon { points, filled });
            }
            Part::Crow | Part::Vee => {
                let is_crow = link.part == Part::Crow;
                let width = self.half_width(0.45);
                let lead = self.mitre(self.slope(0.45), link.half);
                let (tip, wings) = if is_crow { (size + pen / 3.0, pen / 3.0) } else { (lead, lead + size) };
                let (tail, shaft) = match is_crow {
                    true => (pen * 2.0 / 3.0, 0.0),
                    false => (wings, (pen - 1.0).max(0.0) / 2.0),
                };
                let mut points = vec![at(tip, 0.0)];
                if link.half != Half::Right {
                    points.extend([at(wings, width), at(0.5 * size, shaft), at(tail, shaft)]);
                }
                points.push(at(tail, 0.0));
                if link.half != Half::Left {
                    points.extend([at(tail, -shaft), at(0.5 * size, -shaft), at(wings, -width)]);
                }
                pieces.push(Piece::Polygon { points, filled });
            }
            Part::Curve | Part::InvCurve => {
                let (start, bend, end) = match link.part {
                    Part::Curve => (pen / 2.0 + 0.5 * size, -2.0 / 3.0, size + pen / 2.0),
                    _ => (0.5 * size, 2.0 / 3.0, size),
                };
                let width = self.half_width(0.5);
                let deep = start + bend * size;
                pieces.push(Piece::Line([at(0.0, 0.0), at(end, 0.0)]));
                let whole = [at(start, -width), at(deep, -0.95 * width), at(deep, 0.95 * width), at(start, width)];
                let middle = |a: Point, b: Point| a.toward(b, 0.5);
                let [p0, p1, p2, p3] = whole;
                let (q0, q1, q2) = (middle(p0, p1), middle(p1, p2), middle(p2, p3));
                let (r0, r1) = (middle(q0, q1), middle(q1, q2));
                let half = middle(r0, r1);
                pieces.push(Piece::Curve(match link.half {
                    Half::Both => whole,
                    Half::Left => [half, r1, q2, p3],
                    Half::Right => [p0, q0, r0, half],
                }));
            }
        }
    }
}

/// Places of an arrow: back along the edge, and to the left of its direction.
struct Frame {
    origin: Point,
    back: Point,
}

impl Frame {
    fn at(&self, depth: f64, left: f64) -> Point {
        // The edge runs against `back`; its left is to the right of `back`.
        let side = Point::new(self.back.y, -self.back.x);
        self.origin + self.back * depth + side * left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(name: &str, size: f64, pen_width: f64) -> Option<Arrow> {
        Arrow::new(name, size, pen_width, &mut Warnings::default())
    }

    /// The points of all pieces of an arrow that points down at the origin.
    fn painted(name: &str, pen_width: f64) -> Vec<(f64, f64)> {
        let pieces = arrow(name, 1.0, pen_width).map(|a| a.pieces(Point::default(), Point::new(0.0, 10.0)));
        let mut points = Vec::new();
        for piece in pieces.unwrap_or_default() {
            match piece {
                Piece::Polygon { points: corners, .. } => points.extend(corners),
                Piece::Line(ends) => points.extend(ends),
                Piece::Curve(controls) => points.extend(controls),
                Piece::Circle { center, .. } => points.push(center),
            }
        }
        points.iter().map(|p| (p.x, p.y)).collect()
    }

    #[test]
    fn arrows_are_drawn_where_graphviz_draws_them() {
        for (name, pen_width, expected) in [
            ("normal", 1.0, vec![(3.5, 11.51), (0.0, 1.51), (-3.5, 11.51)]),
            ("normal", 8.0, vec![(7.0, 16.97), (0.0, 6.97), (-7.0, 16.97)]),
            ("lnormal", 1.0, vec![(3.5, 10.16), (0.0, 0.16), (0.0, 10.16)]),
            ("invdot", 1.0, vec![(3.5, 0.5), (0.0, 10.5), (-3.5, 0.5), (0.0, 16.51)]),
            ("rtee", 3.0, vec![(-5.0, 1.5), (0.0, 1.5), (0.0, 3.5), (-5.0, 3.5), (0.0, 0.5), (0.0, 5.5)]),
            ("odiamond", 1.0, vec![(0.0, 12.9), (-4.0, 6.9), (0.0, 0.9), (4.0, 6.9)]),
            ("obox", 1.0, vec![(-4.0, 0.5), (4.0, 0.5), (4.0, 8.5), (-4.0, 8.5), (0.0, 8.5), (0.0, 10.5)]),
            ("halfopen", 1.0, vec![(0.0, 0.2), (4.5, 10.2), (0.0, 5.0), (0.0, 10.2), (0.0, 10.2)]),
            ("lcurve", 1.0, vec![(0.0, 0.0), (0.0, 10.5), (0.0, 0.5), (2.44, 0.5), (4.88, 2.16), (5.0, 5.5)]),
        ] {
            let found = painted(name, pen_width);
            assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
            for ((x, y), (ex, ey)) in found.iter().zip(&expected) {
                assert!((x - ex).abs() < 0.02 && (y - ey).abs() < 0.02, "{name}: {found:?}, not {expected:?}");
            }
        }
    }

    #[test]
    fn chains_are_as_long_as_their_parts() {
        let length = |name| arrow(name, 1.0, 1.0).map_or(0.0, |a| a.length());
        assert!((length("normalnormal") - 2.0 * 12.01 + 0.5).abs() < 0.02);
        assert!((length("dot") - 9.0).abs() < 1e-9);
        assert!((length("nonetee") - 10.0).abs() < 1e-9);
        assert_eq!(arrow("normal", 0.0, 1.0).map(|a| a.length()), Some(0.0));
    }

    #[test]
    fn unknown_parts_end_an_arrow_with_a_warning() {
        let mut warnings = Warnings::default();
        assert_eq!(Arrow::new("foo", 1.0, 1.0, &mut warnings), None);
        assert_eq!(Arrow::new("none", 1.0, 1.0, &mut warnings), None);
        assert!(Arrow::new("normalfoo", 1.0, 1.0, &mut warnings).is_some());
        assert_eq!((&*warnings, warnings.told()), (["Arrow type \"foo\" unknown - ignoring".to_owned()].as_slice(), 2));
        let five = Arrow::new("dotdotdotdotdot", 1.0, 1.0, &mut warnings).unwrap();
        assert_eq!(five.pieces(Point::default(), Point::new(1.0, 0.0)).len(), 4);
    }
}
