//! The corridor of an edge: boxes one below the other, and the shortest way through them.

use crate::geometry::{Point, Rect};

/// How far a curve may leave its corridor: much less than the room corridors keep from nodes.
const SLACK: f64 = 1.5;

/// Boxes from top to bottom, each beginning where the one before ends.
#[derive(Clone, Debug, Default)]
pub struct Corridor {
    boxes: Vec<Rect>,
}

impl Corridor {
    /// Adds a box below the others.
    pub fn add(&mut self, left: f64, right: f64, top: f64, bottom: f64) {
        if top - bottom < 1e-6 {
            return;
        }
        let (left, right) = if left <= right { (left, right) } else { (right, left) };
        let mut next = Rect::new(Point::new(left, bottom), Point::new(right, top));
        if let Some(last) = self.boxes.last_mut() {
            // Where two boxes do not meet, both grow to the middle between them.
            let (low, high) = (last.low.x.max(left), last.high.x.min(right));
            if low > high {
                let middle = f64::midpoint(low, high);
                last.low.x = last.low.x.min(middle);
                last.high.x = last.high.x.max(middle);
                next.low.x = next.low.x.min(middle);
                next.high.x = next.high.x.max(middle);
            }
        }
        self.boxes.push(next);
    }

    /// How many boxes there are.
    pub fn len(&self) -> usize {
        self.boxes.len()
    }

    /// Makes the first box hold `from` and the last one `to`.
    pub fn hold(&mut self, from: Point, to: Point) {
        if let Some(first) = self.boxes.first_mut() {
            first.low.x = first.low.x.min(from.x);
            first.high.x = first.high.x.max(from.x);
        }
        if let Some(last) = self.boxes.last_mut() {
            last.low.x = last.low.x.min(to.x);
            last.high.x = last.high.x.max(to.x);
        }
    }

    /// Whether a point lies inside, nearly.
    pub fn holds(&self, point: Point) -> bool {
        // The first box whose bottom lies not above the point.
        let index = self.boxes.partition_point(|one| one.low.y > point.y + SLACK);
        let fits = |one: &Rect| one.holds(point, SLACK);
        self.boxes.iter().skip(index).take(3).any(fits)
    }

    /// The shortest way from a point in the first box to one in the last: the funnel between the doors of the boxes.
    pub fn shortest_path(&self, from: Point, to: Point) -> Vec<Point> {
        // Doors: their left and right posts, seen from above, and the goal as a door without width.
        let mut doors: Vec<(Point, Point)> = self
            .boxes
            .iter()
            .zip(self.boxes.iter().skip(1))
            .map(|(above, below)| {
                let y = above.low.y;
                let (left, right) = (above.low.x.max(below.low.x), above.high.x.min(below.high.x));
                let right = right.max(left);
                (Point::new(left, y), Point::new(right, y))
            })
            .collect();
        doors.push((to, to));
        let mut path = vec![from];
        let mut apex = from;
        let (mut left, mut right) = (from, from);
        let (mut left_at, mut right_at) = (0usize, 0usize);
        // Twice the area of a triangle: positive where `c` lies to the left of the way from `a` to `b`.
        let side = |a: Point, b: Point, c: Point| (b - a).cross(c - a);
        let mut index = 0;
        let mut turns = 0;
        while let Some(&(door_left, door_right)) = doors.get(index) {
            // Looking down, the left post of a door (smaller x) lies on the right hand.
            if side(apex, right, door_right) <= 0.0 || right == apex {
                // The door's right post does not widen the funnel.
                if apex == right || side(apex, left, door_right) >= 0.0 || left == apex {
                    right = door_right;
                    right_at = index;
                } else {
                    path.push(left);
                    apex = left;
                    index = left_at + 1;
                    (left, right) = (apex, apex);
                    right_at = left_at;
                    turns += 1;
                    if turns > doors.len() * 2 {
                        break;
                    }
                    continue;
                }
            }
            if side(apex, left, door_left) >= 0.0 || left == apex {
                if apex == left || side(apex, right, door_left) <= 0.0 || right == apex {
                    left = door_left;
                    left_at = index;
                } else {
                    path.push(right);
                    apex = right;
                    index = right_at + 1;
                    (left, right) = (apex, apex);
                    left_at = right_at;
                    turns += 1;
                    if turns > doors.len() * 2 {
                        break;
                    }
                    continue;
                }
            }
            index += 1;
        }
        path.push(to);
        path.dedup_by(|a, b| a.distance(*b) < 1e-6);
        if path.len() < 2 {
            path = vec![from, to];
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_gates() -> Corridor {
        let mut corridor = Corridor::default();
        corridor.add(0.0, 100.0, 100.0, 80.0);
        corridor.add(60.0, 70.0, 80.0, 60.0);
        corridor.add(0.0, 100.0, 60.0, 40.0);
        corridor.add(10.0, 20.0, 40.0, 20.0);
        corridor.add(0.0, 100.0, 20.0, 0.0);
        corridor
    }

    #[test]
    fn the_shortest_way_turns_at_corners_alone() {
        let path = two_gates().shortest_path(Point::new(10.0, 100.0), Point::new(90.0, 0.0));
        let xs: Vec<f64> = path.iter().map(|p| p.x).collect();
        assert_eq!(xs, [10.0, 60.0, 60.0, 20.0, 20.0, 90.0], "{path:?}");
    }

    #[test]
    fn the_shortest_way_stays_inside() {
        let mut state = 12_345_u64;
        let mut below = |limit: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % limit
        };
        for round in 0..2_000 {
            let mut corridor = Corridor::default();
            let count = 2 + below(12);
            for index in 0..count {
                let top = 1_000.0 - 20.0 * index as f64;
                let left = below(300) as f64;
                let width = if below(3) == 0 { 400.0 } else { 5.0 + below(80) as f64 };
                corridor.add(left, left + width, top, top - 20.0);
            }
            let (first, last) = (corridor.boxes[0], corridor.boxes[corridor.len() - 1]);
            let from = Point::new(first.low.x + below(first.width() as u64) as f64, first.high.y);
            let to = Point::new(last.low.x + below(last.width() as u64) as f64, last.low.y);
            let path = corridor.shortest_path(from, to);
            for pair in path.windows(2) {
                for step in 0..=50 {
                    let at = pair[0].toward(pair[1], f64::from(step) / 50.0);
                    assert!(corridor.holds(at), "round {round}: {at:?} of {path:?} in {:?}", corridor.boxes);
                }
            }
        }
    }

    #[test]
    fn a_free_way_is_straight() {
        let mut corridor = Corridor::default();
        corridor.add(0.0, 100.0, 100.0, 50.0);
        corridor.add(0.0, 100.0, 50.0, 0.0);
        assert_eq!(corridor.shortest_path(Point::new(10.0, 100.0), Point::new(90.0, 0.0)).len(), 2);
    }

    #[test]
    fn it_holds_what_lies_in_a_box() {
        let corridor = two_gates();
        assert!(corridor.holds(Point::new(65.0, 70.0)) && !corridor.holds(Point::new(50.0, 70.0)));
        assert!(!corridor.holds(Point::new(65.0, 120.0)));
    }
}
