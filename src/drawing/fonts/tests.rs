//! Fonts that are damaged, or made to hurt: an operator's directory may hold anything.

use std::time::Duration;

use fastrand::Rng;
use skrifa::outline::OutlinePen;

use super::embedded::{Family, data};
use super::face::{Description, Face};
use crate::work::cpu_time;

/// Letters that a font is asked for.
const LETTERS: &str = "AÄfghijß0%@→\u{f041}\u{1f600}";

/// Counts what is drawn.
#[derive(Default)]
struct Counter {
    commands: usize,
}

impl OutlinePen for Counter {
    fn move_to(&mut self, _: f32, _: f32) {
        self.commands += 1;
    }

    fn line_to(&mut self, _: f32, _: f32) {
        self.commands += 1;
    }

    fn quad_to(&mut self, _: f32, _: f32, _: f32, _: f32) {
        self.commands += 1;
    }

    fn curve_to(&mut self, _: f32, _: f32, _: f32, _: f32, _: f32, _: f32) {
        self.commands += 1;
    }

    fn close(&mut self) {
        self.commands += 1;
    }
}

/// Does with a font what a picture does, for every letter; how much was drawn, if it is a font at all.
fn draw(bytes: &[u8]) -> Option<usize> {
    let _ = Description::read(bytes);
    let face = Face::open(bytes).ok()?;
    let mut counter = Counter::default();
    for letter in LETTERS.chars() {
        let Some(glyph) = face.glyph(letter) else { continue };
        assert!(face.advance(glyph).is_finite());
        face.outline(glyph, &mut counter);
    }
    Some(counter.commands)
}

/// Where a table of a font lies.
fn table(bytes: &[u8], wanted: &[u8; 4]) -> (usize, usize) {
    let count = usize::from(u16::from_be_bytes([bytes[4], bytes[5]]));
    let long = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    let records = (0..count).map(|index| 12 + 16 * index);
    records
        .filter(|at| &bytes[*at..at + 4] == wanted)
        .map(|at| (long(at + 8), long(at + 12)))
        .next()
        .expect("the table is there")
}

/// A copy with a few bytes changed, most of them where fonts say how large and where things are.
fn damaged(bytes: &[u8], random: &mut Rng) -> Vec<u8> {
    let mut copy = bytes.to_vec();
    let tables = [*b"head", *b"hhea", *b"maxp", *b"cmap", *b"loca", *b"glyf", *b"hmtx", *b"name", *b"OS/2", *b"post"];
    for _ in 0..random.usize(1..24) {
        let (start, length) = match random.u32(..8) {
            0 => (0, 12 + 16 * tables.len()),
            1 => (0, bytes.len()),
            _ => {
                let (start, length) = table(bytes, &tables[random.usize(..tables.len())]);
                (start, if random.bool() { length } else { length.min(64) })
            }
        };
        copy[start + random.usize(..length)] = if random.bool() { random.u8(..) } else { [0, 0xff][random.usize(..2)] };
    }
    if random.u32(..8) == 0 {
        copy.truncate(random.usize(..bytes.len()));
    }
    copy
}

#[test]
fn damaged_fonts_neither_panic_nor_take_long() {
    let cases = std::env::var("QUINTET_DIAGRAMS_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(400);
    let mut drawn = 0;
    for seed in 0..cases {
        let mut random = Rng::with_seed(seed);
        let family = [Family::Serif, Family::Sans, Family::Mono, Family::Fallback][random.usize(..4)];
        let copy = damaged(data((family, random.bool(), random.bool())), &mut random);
        let started = cpu_time();
        drawn += usize::from(draw(&copy).is_some());
        let took = cpu_time().saturating_sub(started);
        assert!(took < Duration::from_secs(2), "seed {seed} took {took:?}");
    }
    // What is damaged a little is mostly still a font.
    assert!(drawn > cases as usize / 4, "{drawn} of {cases}");
}

/// A glyph of 30 glyphs, each of which is made of 30 others, and so on for 12 levels.
#[test]
fn glyphs_that_multiply_are_not_drawn_to_their_end() {
    let mut bytes = data((Family::Mono, false, false)).to_vec();
    let ((head, _), (loca, _), (glyf, _)) = (table(&bytes, b"head"), table(&bytes, b"loca"), table(&bytes, b"glyf"));
    let first = Face::open(&bytes).unwrap().glyph('A').unwrap().to_u32() as usize;
    // Offsets of four bytes.
    bytes[head + 51] = 1;
    let stride = 256;
    for level in 0..=12 {
        let (glyph, next) = (first + level, (first + level + 1) as u16);
        for end in 0..=1 {
            let offset = ((level + end) * stride) as u32;
            bytes[loca + 4 * (glyph + end)..][..4].copy_from_slice(&offset.to_be_bytes());
        }
        let mut made = vec![0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0];
        for component in 0..30 {
            // Offsets in bytes, and more components but behind the last.
            let flags: u16 = if component < 29 { 0x22 } else { 0x02 };
            made.extend(flags.to_be_bytes().into_iter().chain(next.to_be_bytes()).chain([1, 1]));
        }
        bytes[glyf + level * stride..][..made.len()].copy_from_slice(&made);
    }
    let started = cpu_time();
    let drawn = draw(&bytes).unwrap();
    let took = cpu_time().saturating_sub(started);
    assert!(drawn < 1_000_000 && took < Duration::from_secs(2), "{drawn} in {took:?}");
}
