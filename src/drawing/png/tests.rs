//! PNGs, looked at pixel by pixel.

use super::write;
use crate::bound::Bound;
use crate::fonts::Collection;
use crate::geometry::{Point, Rect};
use crate::limits::{Limits, TooMuch};
use crate::paint::scene::{Anchor, Group, GroupKind, Item, Scene, Text};
use crate::style::{Color, Fill, Gradient, Stroke};
use crate::text::Font;
use crate::work::Work;

fn scene(items: Vec<Item>) -> Scene {
    let group = Group {
        kind: GroupKind::Node,
        id: "node1".to_owned(),
        class: None,
        name: "a".to_owned(),
        title: "a".to_owned(),
        comment: None,
        is_hidden: false,
        items,
    };
    Scene {
        title: None,
        id: "graph0".to_owned(),
        class: None,
        items: Vec::new(),
        link: None,
        groups: vec![group],
        bounds: Rect::new(Point::new(0.0, 0.0), Point::new(72.0, 36.0)),
        pad: Point::default(),
        margin: Point::default(),
        zoom: 1.0,
        is_rotated: false,
        dots_per_inch: Some(72.0),
        has_background: false,
    }
}

/// A finished picture, read by a decoder.
struct Map {
    width: u32,
    height: u32,
    channels: usize,
    bytes: Vec<u8>,
}

impl Map {
    fn read(bytes: &[u8]) -> Map {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        Map { width: frame.width, height: frame.height, channels: frame.color_type.samples(), bytes: pixels }
    }

    /// Red, green, blue, and how opaque.
    fn at(&self, x: u32, y: u32) -> [u8; 4] {
        let at = (y * self.width + x) as usize * self.channels;
        let mut pixel = [0, 0, 0, 255];
        pixel[..self.channels].copy_from_slice(&self.bytes[at..at + self.channels]);
        pixel
    }
}

fn painted(scene: &Scene) -> Map {
    Map::read(&write(scene, 1.0, &Collection::default(), &Limits::default(), &mut Work::default()).unwrap())
}

fn square(fill: Fill) -> Item {
    let points = vec![Point::new(0.0, 0.0), Point::new(18.0, 0.0), Point::new(18.0, 18.0), Point::new(0.0, 18.0)];
    Item::Polygon { points, fill, stroke: Stroke::default() }
}

fn red() -> Color {
    Color::named("red", [255, 0, 0, 255])
}

#[test]
fn up_is_up_and_the_size_is_right() {
    let map = painted(&scene(vec![square(Fill::Solid(red()))]));
    assert_eq!((map.width, map.height), (72, 36));
    let at = |x, y| (map.at(x, y)[0], map.at(x, y)[3]);
    assert_eq!(at(5, 30), (255, 255), "below on the left");
    assert_eq!(at(5, 5), (0, 0));
    assert_eq!(at(60, 30), (0, 0));
}

#[test]
fn a_picture_can_lie_on_its_side() {
    let turned = Scene { is_rotated: true, ..scene(vec![square(Fill::Solid(red()))]) };
    let map = painted(&turned);
    assert_eq!((map.width, map.height), (36, 72));
    // The lower left corner is now on the lower right.
    assert_eq!(map.at(30, 66)[0], 255);
    assert_eq!(map.at(5, 66)[3], 0);
}

#[test]
fn resolution_is_96_dots_unless_something_says_otherwise() {
    let plain = Scene { dots_per_inch: None, ..scene(Vec::new()) };
    assert_eq!(painted(&plain).width, 96);
    let twice = write(&plain, 2.0, &Collection::default(), &Limits::default(), &mut Work::default()).unwrap();
    assert_eq!(Map::read(&twice).width, 192);
}

#[test]
fn gradients_change_along_their_line() {
    let blue = Color::named("blue", [0, 0, 255, 255]);
    let bounds = Rect::new(Point::default(), Point::new(18.0, 18.0));
    let gradient = Gradient { is_radial: false, angle: 0.0, colors: [red(), blue.clone()], share: None, bounds };
    let map = painted(&scene(vec![square(Fill::Gradient(gradient.clone()))]));
    let red_at = |map: &Map, x| map.at(x, 27)[0];
    assert!(red_at(&map, 1) > 200 && red_at(&map, 16) < 55);
    let split = Gradient { share: Some(0.25), ..gradient.clone() };
    let map = painted(&scene(vec![square(Fill::Gradient(split))]));
    assert_eq!((red_at(&map, 2), red_at(&map, 7)), (255, 0));
    let radial = Gradient { is_radial: true, ..gradient };
    let map = painted(&scene(vec![square(Fill::Gradient(radial))]));
    assert!(red_at(&map, 9) > 220 && red_at(&map, 0) < 160);
}

#[test]
fn text_is_painted_where_it_stands() {
    let text = |anchor| {
        Item::Text(Text {
            text: "HHH".to_owned(),
            at: Point::new(36.0, 10.0),
            anchor,
            font: Font::default(),
            width: 30.0,
            color: Color::black(),
        })
    };
    let ink = |anchor| {
        let map = painted(&scene(vec![text(anchor)]));
        let dark = |range: std::ops::Range<u32>| {
            range.flat_map(|x| (0..36).map(move |y| (x, y))).filter(|(x, y)| map.at(*x, *y)[3] > 99).count()
        };
        (dark(0..36), dark(36..72))
    };
    let (left, right) = ink(Anchor::Middle);
    assert!(left > 30 && left.abs_diff(right) < 40, "{left} {right}");
    assert_eq!(ink(Anchor::Start).0, 0);
    assert_eq!(ink(Anchor::End).1, 0);
}

#[test]
fn large_pictures_are_refused_before_they_are_made() {
    let huge = Scene { zoom: 1e9, ..scene(Vec::new()) };
    let limit = Limits::default().canvas_megapixels;
    let error = write(&huge, 1.0, &Collection::default(), &Limits::default(), &mut Work::default());
    assert_eq!(error, Err(Bound::TooMuch(TooMuch::CanvasMegapixels(limit))));
    for zoom in [f64::NAN, f64::INFINITY, 0.0] {
        let odd = Scene { zoom, ..scene(Vec::new()) };
        assert!(write(&odd, 1.0, &Collection::default(), &Limits::default(), &mut Work::default()).is_err(), "{zoom}");
    }
}

#[test]
fn painting_counts_as_work() {
    let many = scene(vec![square(Fill::Solid(red())); 10_000]);
    let error = write(&many, 1.0, &Collection::default(), &Limits::default(), &mut Work::new(50_000, None));
    assert!(matches!(error, Err(Bound::Exhausted(_))));
}

#[test]
fn a_picture_with_too_many_bytes_is_refused() {
    let limits = Limits { output_bytes: 10, ..Limits::default() };
    let error = write(&scene(Vec::new()), 1.0, &Collection::default(), &limits, &mut Work::default());
    assert_eq!(error, Err(Bound::TooMuch(TooMuch::OutputBytes(10))));
}
