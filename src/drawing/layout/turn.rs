//! `rankdir`: the input turned so that ranks run downwards, and the drawing turned back.

use super::model::{Along, Cluster, End, Input, Outline, Output, Port, RankDirection, Ratio, Sides};
use crate::geometry::{Point, Rect, Size};

/// A quarter or half turn, with what else it takes to keep the first of a rank where readers look first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn(pub RankDirection);

impl Turn {
    /// Whether width and height change places.
    pub fn is_sideways(self) -> bool {
        matches!(self.0, RankDirection::LeftRight | RankDirection::RightLeft)
    }

    /// From the finished drawing to where ranks run downwards.
    pub fn inward(self, p: Point) -> Point {
        match self.0 {
            RankDirection::TopBottom => p,
            RankDirection::BottomTop => Point::new(p.x, -p.y),
            RankDirection::LeftRight => Point::new(-p.y, -p.x),
            RankDirection::RightLeft => Point::new(-p.y, p.x),
        }
    }

    /// The way back.
    pub fn outward(self, p: Point) -> Point {
        match self.0 {
            RankDirection::TopBottom => p,
            RankDirection::BottomTop => Point::new(p.x, -p.y),
            RankDirection::LeftRight => Point::new(-p.y, -p.x),
            RankDirection::RightLeft => Point::new(p.y, -p.x),
        }
    }

    fn size(self, size: Size) -> Size {
        if self.is_sideways() { size.turned() } else { size }
    }

    fn rect_with(rect: Rect, turn: impl Fn(Point) -> Point) -> Rect {
        if rect.is_empty() {
            return rect;
        }
        let mut turned = Rect::EMPTY;
        turned.include(turn(rect.low));
        turned.include(turn(rect.high));
        turned
    }

    /// The box as it lies in the finished drawing.
    pub fn rect_outward(self, rect: Rect) -> Rect {
        Turn::rect_with(rect, |p| self.outward(p))
    }

    fn sides(self, sides: Sides) -> Sides {
        let Sides { top, bottom, left, right } = sides;
        match self.0 {
            RankDirection::TopBottom => sides,
            RankDirection::BottomTop => Sides { top: bottom, bottom: top, left, right },
            RankDirection::LeftRight => Sides { top: left, bottom: right, left: top, right: bottom },
            RankDirection::RightLeft => Sides { top: right, bottom: left, left: top, right: bottom },
        }
    }

    fn end(self, end: End) -> End {
        let port = end.port.map(|port| Port {
            point: self.inward(port.point),
            sides: self.sides(port.sides),
            field: port.field.map(|field| Turn::rect_with(field, |p| self.inward(p))),
            ..port
        });
        End { port, label: end.label.map(|size| self.size(size)), ..end }
    }

    fn cluster(self, cluster: &Cluster) -> Cluster {
        let mut turned = cluster.clone();
        if let Some(label) = &mut turned.label {
            label.size = self.size(label.size);
            if self.0 == RankDirection::BottomTop {
                label.along = match label.along {
                    Along::Top => Along::Bottom,
                    Along::Bottom => Along::Top,
                };
            }
        }
        turned
    }

    /// The input as it is laid out.
    pub fn input(self, input: &Input) -> Input {
        let mut turned = input.clone();
        for node in &mut turned.nodes {
            node.size = self.size(node.size);
            node.outer_label = node.outer_label.map(|size| self.size(size));
            match &mut node.outline {
                Outline::Box => {}
                Outline::Ellipse(size) => *size = self.size(*size),
                Outline::Polygon(corners) => corners.iter_mut().for_each(|p| *p = self.inward(*p)),
            }
        }
        for edge in &mut turned.edges {
            edge.label = edge.label.map(|size| self.size(size));
            edge.outer_label = edge.outer_label.map(|size| self.size(size));
            edge.tail_end = self.end(edge.tail_end);
            edge.head_end = self.end(edge.head_end);
        }
        for cluster in &mut turned.clusters {
            *cluster = self.cluster(cluster);
        }
        turned.size = input.size.map(|(size, enlarge)| (self.size(size), enlarge));
        if let (true, Ratio::Value(ratio)) = (self.is_sideways(), input.ratio) {
            turned.ratio = Ratio::Value(1.0 / ratio);
        }
        turned
    }

    /// The drawing as it is seen.
    pub fn output(self, output: &mut Output) {
        let point = |p: &mut Point| *p = self.outward(*p);
        let maybe = |p: &mut Option<Point>| *p = p.map(|p| self.outward(p));
        output.nodes.iter_mut().for_each(point);
        output.node_labels.iter_mut().for_each(maybe);
        for size in &mut output.sizes {
            *size = self.size(*size);
        }
        for route in &mut output.edges {
            route.beziers.iter_mut().flatten().for_each(point);
            for place in [
                &mut route.tail_arrow,
                &mut route.head_arrow,
                &mut route.label,
                &mut route.outer_label,
                &mut route.tail_label,
                &mut route.head_label,
            ] {
                maybe(place);
            }
        }
        for cluster in &mut output.clusters {
            cluster.bounds = self.rect_outward(cluster.bounds);
            maybe(&mut cluster.label);
        }
        output.bounds = self.rect_outward(output.bounds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_has_its_way_back() {
        let p = Point::new(3.0, 5.0);
        for direction in
            [RankDirection::TopBottom, RankDirection::BottomTop, RankDirection::LeftRight, RankDirection::RightLeft]
        {
            let turn = Turn(direction);
            assert_eq!(turn.outward(turn.inward(p)), p, "{direction:?}");
        }
    }
}
