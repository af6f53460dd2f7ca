//! Fonts of the operator's own: the .ttf and .otf files of one directory, read once.
//!
//! They change how text is painted, never where it stands: the layout measures with its own tables.

use std::io;
use std::path::{Path, PathBuf};

use super::face::Description;
use super::names::{is_bold, is_italic, letters};
use crate::text::Font;

/// Files that a directory may hold.
pub const FILES_MAX: usize = 64;
/// Bytes that one file may have: the largest fonts for Chinese, Japanese and Korean stay below.
pub const FILE_BYTES_MAX: u64 = 32 << 20;
/// Bytes that all files may have; they stay in memory.
pub const ALL_BYTES_MAX: u64 = 128 << 20;

/// Words in a font's name that say its style and not its family.
const STYLES: [&str; 6] = ["bold", "italic", "oblique", "regular", "book", "roman"];

/// One file.
struct File {
    name: String,
    bytes: Vec<u8>,
    about: Description,
}

/// The fonts of a directory, in the order of the files' names. The default has none.
#[derive(Default)]
pub struct Collection {
    files: Vec<File>,
}

impl std::fmt::Debug for Collection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.files.iter().map(|file| &file.name)).finish()
    }
}

impl Collection {
    /// Reads a directory. What does not end in .ttf or .otf is passed over.
    ///
    /// # Errors
    /// It cannot be read, holds too much ([`FILES_MAX`], [`FILE_BYTES_MAX`], [`ALL_BYTES_MAX`]), or a file is no font.
    pub fn read(directory: &Path) -> io::Result<Collection> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for entry in std::fs::read_dir(directory)? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("ttf") || end.eq_ignore_ascii_case("otf")) {
                paths.push(path);
            }
            if paths.len() > FILES_MAX {
                return Err(io::Error::other(format!("it holds more than {FILES_MAX} fonts")));
            }
        }
        paths.sort();
        let mut files: Vec<File> = Vec::new();
        let mut left = ALL_BYTES_MAX;
        for path in paths {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let wrong = |what: String| io::Error::other(format!("{name} {what}"));
            let metadata = std::fs::metadata(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
            if !metadata.is_file() {
                return Err(wrong("is not a file".to_owned()));
            }
            if metadata.len() > FILE_BYTES_MAX {
                return Err(wrong(format!("is larger than {FILE_BYTES_MAX} bytes")));
            }
            left = left
                .checked_sub(metadata.len())
                .ok_or_else(|| io::Error::other(format!("the fonts have more than {ALL_BYTES_MAX} bytes together")))?;
            let bytes = std::fs::read(&path).map_err(|error| wrong(format!("cannot be read: {error}")))?;
            let about = Description::read(&bytes).map_err(|error| wrong(format!("is not a font: {error}")))?;
            files.push(File { name, about, bytes });
        }
        Ok(Collection { files })
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The bytes of every file: what a picture may depend on.
    pub fn contents(&self) -> impl Iterator<Item = &[u8]> {
        self.files.iter().map(|file| file.bytes.as_slice())
    }

    /// The bytes of one file.
    pub(super) fn data(&self, index: usize) -> Option<&[u8]> {
        self.files.get(index).map(|file| file.bytes.as_slice())
    }

    /// The file for a font: by the first name it gives that is here, and of that the style which is nearest.
    pub(super) fn find(&self, font: &Font) -> Option<usize> {
        if self.is_empty() {
            return None;
        }
        let wanted = (is_bold(font), is_italic(font));
        font.name.split(',').map(letters).filter(|name| !name.is_empty()).find_map(|name| {
            self.nearest(&name, wanted).or_else(|| {
                let family = STYLES.iter().fold(name, |name, style| name.replace(style, ""));
                self.nearest(&family, wanted)
            })
        })
    }

    fn nearest(&self, name: &str, (bold, italic): (bool, bool)) -> Option<usize> {
        let named = self.files.iter().enumerate().filter(|(_, file)| file.about.names.iter().any(|own| own == name));
        let distance =
            |file: &File| u8::from(file.about.is_bold != bold) * 2 + u8::from(file.about.is_italic != italic);
        named.min_by_key(|(_, file)| distance(file)).map(|(index, _)| index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fonts::Fonts;
    use crate::text::FontStyle;

    fn asset(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/fonts").join(name)
    }

    fn font(name: &str) -> Font {
        Font { name: name.into(), ..Font::default() }
    }

    fn complaint(directory: &Path) -> String {
        Collection::read(directory).unwrap_err().to_string()
    }

    #[test]
    fn fonts_are_found_by_family_style_and_full_name() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["LiberationMono-Bold.ttf", "LiberationMono-Regular.ttf", "LiberationSans-Italic.ttf"] {
            std::fs::copy(asset(name), directory.path().join(name)).unwrap();
        }
        std::fs::write(directory.path().join("README"), "no font").unwrap();
        let collection = Collection::read(directory.path()).unwrap();
        assert_eq!(collection.len(), 3);
        let bold = Font { style: FontStyle { bold: true, ..FontStyle::default() }, ..font("Liberation Mono") };
        for (font, expected) in [
            (font("Liberation Mono"), Some(1)),
            (font("liberationmono"), Some(1)),
            (bold, Some(0)),
            (font("Liberation Mono Bold"), Some(0)),
            (font("LiberationMono-BoldOblique"), Some(0)),
            (font("Nosuch, Liberation Mono"), Some(1)),
            (font("Liberation Sans"), Some(2)),
            (font("Times-Roman"), None),
            (font(""), None),
        ] {
            assert_eq!(collection.find(&font), expected, "{font:?}");
        }
    }

    #[test]
    fn a_font_of_ones_own_paints_what_the_embedded_ones_would_paint_otherwise() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::copy(asset("LiberationMono-Regular.ttf"), directory.path().join("a.TTF")).unwrap();
        let (own, none) = (Collection::read(directory.path()).unwrap(), Collection::default());
        let width = |collection: &Collection, name: &str| Fonts::new(collection).line("iiii", &font(name)).1;
        // The embedded font for a name with this one's letters is the same one: a name for the test alone.
        let renamed = Collection {
            files: own
                .files
                .into_iter()
                .map(|file| File { about: Description { names: vec!["serifa".to_owned()], ..file.about }, ..file })
                .collect(),
        };
        assert!(width(&renamed, "Serifa") > width(&none, "Serifa") * 1.5);
        assert_eq!(width(&renamed, "Times"), width(&none, "Times"));
    }

    #[test]
    fn directories_that_hold_too_much_or_something_else_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        assert!(complaint(&path("nosuch")).contains("No such file"));
        std::fs::write(path("x.otf"), "no font").unwrap();
        assert!(complaint(directory.path()).starts_with("x.otf is not a font"));
        std::fs::remove_file(path("x.otf")).unwrap();
        std::fs::create_dir(path("y.ttf")).unwrap();
        assert_eq!(complaint(directory.path()), "y.ttf is not a file");
        std::fs::remove_dir(path("y.ttf")).unwrap();
        // Files without content that take no room on the disk.
        let sized = |name: &str, bytes: u64| std::fs::File::create(path(name)).unwrap().set_len(bytes).unwrap();
        sized("a.ttf", FILE_BYTES_MAX + 1);
        assert_eq!(complaint(directory.path()), "a.ttf is larger than 33554432 bytes");
        for number in 0..=FILES_MAX {
            sized(&format!("{number}.ttf"), 0);
        }
        assert_eq!(complaint(directory.path()), "it holds more than 64 fonts");
    }

    #[test]
    fn all_fonts_together_are_bounded() {
        let directory = tempfile::tempdir().unwrap();
        for number in 0..5 {
            let path = directory.path().join(format!("{number}.ttf"));
            std::fs::copy(asset("LiberationMono-Regular.ttf"), &path).unwrap();
            // Zeros behind a font do not keep it from being read.
            std::fs::File::options().write(true).open(&path).unwrap().set_len(FILE_BYTES_MAX - 1).unwrap();
        }
        assert_eq!(complaint(directory.path()), "the fonts have more than 134217728 bytes together");
    }
}
