//! Points, sizes and boxes: lengths in points (1/72 inch), y upwards, as in all of the engine.

use std::ops::{Add, Mul, Sub};

/// Points of an inch.
pub const POINTS_PER_INCH: f64 = 72.0;

/// A place, or the way from one place to another.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// To the right.
    pub x: f64,
    /// Upwards.
    pub y: f64,
}

impl Point {
    /// The point (`x`, `y`).
    pub const fn new(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    /// How far it lies from the origin.
    pub fn length(self) -> f64 {
        self.x.hypot(self.y)
    }

    /// How far `other` lies from here.
    pub fn distance(self, other: Point) -> f64 {
        (self - other).length()
    }

    /// The inner product.
    pub fn dot(self, other: Point) -> f64 {
        self.x * other.x + self.y * other.y
    }

    /// The outer product: positive where `other` lies to the left of this direction.
    pub fn cross(self, other: Point) -> f64 {
        self.x * other.y - self.y * other.x
    }

    /// The same direction, of length 1; nothing stays nothing.
    pub fn unit(self) -> Point {
        let length = self.length();
        if length > 1e-12 { self * (1.0 / length) } else { Point::default() }
    }

    /// The place that lies the share `t` of the way to `other`.
    pub fn toward(self, other: Point, t: f64) -> Point {
        self + (other - self) * t
    }
}

impl Add for Point {
    type Output = Point;

    fn add(self, other: Point) -> Point {
        Point::new(self.x + other.x, self.y + other.y)
    }
}

impl Sub for Point {
    type Output = Point;

    fn sub(self, other: Point) -> Point {
        Point::new(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f64> for Point {
    type Output = Point;

    fn mul(self, factor: f64) -> Point {
        Point::new(self.x * factor, self.y * factor)
    }
}

/// Width and height.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// From left to right.
    pub width: f64,
    /// From bottom to top.
    pub height: f64,
}

impl Size {
    /// A size of `width` by `height`.
    pub const fn new(width: f64, height: f64) -> Size {
        Size { width, height }
    }

    /// The same lying on its side.
    pub const fn turned(self) -> Size {
        Size { width: self.height, height: self.width }
    }
}

/// A box along the axes; one whose `low` lies above its `high` is empty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    /// The lower left corner.
    pub low: Point,
    /// The upper right corner.
    pub high: Point,
}

impl Default for Rect {
    fn default() -> Rect {
        Rect::new(Point::default(), Point::default())
    }
}

impl Rect {
    /// A box that holds nothing, and grows from nothing.
    pub const EMPTY: Rect = Rect {
        low: Point { x: f64::INFINITY, y: f64::INFINITY },
        high: Point { x: f64::NEG_INFINITY, y: f64::NEG_INFINITY },
    };

    /// The box between two corners.
    pub const fn new(low: Point, high: Point) -> Rect {
        Rect { low, high }
    }

    /// The box of `size` about `center`.
    pub fn around(center: Point, size: Size) -> Rect {
        let half = Point::new(size.width / 2.0, size.height / 2.0);
        Rect::new(center - half, center + half)
    }

    /// From left to right; nothing for an empty box.
    pub fn width(self) -> f64 {
        (self.high.x - self.low.x).max(0.0)
    }

    /// From bottom to top; nothing for an empty box.
    pub fn height(self) -> f64 {
        (self.high.y - self.low.y).max(0.0)
    }

    /// The middle.
    pub fn center(self) -> Point {
        (self.low + self.high) * 0.5
    }

    /// Whether it holds nothing at all.
    pub fn is_empty(self) -> bool {
        self.low.x > self.high.x || self.low.y > self.high.y
    }

    /// Grows to hold `point`.
    pub fn include(&mut self, point: Point) {
        self.low = Point::new(self.low.x.min(point.x), self.low.y.min(point.y));
        self.high = Point::new(self.high.x.max(point.x), self.high.y.max(point.y));
    }

    /// Grows to hold `other`, unless that is empty.
    pub fn include_rect(&mut self, other: Rect) {
        if !other.is_empty() {
            self.include(other.low);
            self.include(other.high);
        }
    }

    /// Whether `point` lies inside or on the border, give or take `slack`.
    pub fn holds(self, point: Point, slack: f64) -> bool {
        point.x >= self.low.x - slack
            && point.x <= self.high.x + slack
            && point.y >= self.low.y - slack
            && point.y <= self.high.y + slack
    }

    /// Whether the insides meet by more than `slack`.
    pub fn overlaps(self, other: Rect, slack: f64) -> bool {
        self.low.x + slack < other.high.x
            && other.low.x + slack < self.high.x
            && self.low.y + slack < other.high.y
            && other.low.y + slack < self.high.y
    }
}
