//! The gallery: its pictures are what the engine draws today.

use std::path::Path;

use crate::render::{Format, Options, render};
use crate::work::Care;

/// Pictures of the gallery.
const PICTURES: usize = 12;

#[test]
fn the_gallery_is_what_is_drawn_today() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = top.join("assets/gallery");
    let page = std::fs::read_to_string(directory.join("README.md")).unwrap();
    let mut sources = 0;
    let mut old = Vec::new();
    for entry in std::fs::read_dir(&directory).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "dot") {
            continue;
        }
        sources += 1;
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let drawn = render(&std::fs::read(&path).unwrap(), Format::Svg, &Options::default()).unwrap();
        assert_eq!((drawn.warnings, drawn.care), (Vec::new(), Care::Full), "{name}");
        let shown = format!("{name}.svg");
        assert!(page.contains(&shown), "the gallery's page does not show {name}");
        if std::fs::read(directory.join(shown)).ok() != Some(drawn.bytes) {
            old.push(name);
        }
    }
    assert_eq!(sources, PICTURES);
    assert!(old.is_empty(), "not what is drawn today: {old:?}; make gallery draws them anew");
}
