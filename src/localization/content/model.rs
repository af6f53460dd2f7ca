//! Files and their keys, and what translators are told of them.

use bincode::{Decode, Encode};
use quintet_platform::secrets::{Digest, digest, digest_parts};
use quintet_storage::key_newtype;

use crate::formats::{Content, Kind};
use crate::language::Category;
use crate::spaces::ProjectId;

key_newtype!(
    /// A file of a project: a path and all its versions.
    pub FileId(Uuid)
);
key_newtype!(
    /// A string key of a file.
    pub KeyId(Uuid)
);

/// A version of a file, counted from 1.
pub type FileVersion = u32;

/// What kind of file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Format {
    /// JSON.
    Json,
    /// YAML below a root key.
    YamlRails,
    /// YAML without a root key.
    YamlFlat,
    /// Java properties.
    Properties,
}

impl Format {
    /// The word of the interface.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::YamlRails | Format::YamlFlat => "yaml",
            Format::Properties => "properties",
        }
    }

    /// The profile, which YAML alone has.
    #[must_use]
    pub const fn profile(self) -> Option<&'static str> {
        match self {
            Format::YamlRails => Some("rails"),
            Format::YamlFlat => Some("flat"),
            Format::Json | Format::Properties => None,
        }
    }

    /// The kind under which a file is read; `root` is the root key of a rails file.
    #[must_use]
    pub const fn kind<'k>(self, root: &'k str) -> Kind<'k> {
        match self {
            Format::Json => Kind::Json,
            Format::YamlRails => Kind::Rails { root },
            Format::YamlFlat => Kind::Flat,
            Format::Properties => Kind::Properties,
        }
    }
}

/// A file as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its id.
    pub file_id: FileId,
    /// Where it lies in the project.
    pub path: String,
    /// What kind of file it is, for good.
    pub format: Format,
    /// The root key of a rails file, for good; else empty.
    pub root_locale: String,
    /// Its latest version.
    pub version: FileVersion,
    /// What its keys' ids begin with.
    pub key_prefix: u64,
    /// SHA-256 of the latest version's bytes.
    pub sha256: Digest,
    /// How many bytes those are.
    pub size_bytes: u64,
    /// How many active keys it has.
    pub keys: u32,
    /// How many words their sources have; `None`: nobody has counted yet.
    pub words: Option<u64>,
}

/// A key of a file.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeyEntry {
    /// Its number in the file, from 1.
    pub number: u64,
    /// Its path.
    pub path: String,
    /// What its source says.
    pub source: Source,
    /// The version of the file in which that last changed.
    pub source_version: FileVersion,
    /// Whether it is not in the latest version.
    pub is_obsolete: bool,
}

/// What a key's source says.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub enum Source {
    /// One text.
    Text(String),
    /// The forms of a plural, in CLDR's order, by their places in it.
    Forms(Vec<(u8, String)>),
}

/// A category by its place in CLDR's order.
#[must_use]
pub fn category_at(place: u8) -> Category {
    Category::ALL.get(usize::from(place)).copied().unwrap_or(Category::Other)
}

/// A category's place in CLDR's order.
#[must_use]
pub fn place_of(category: Category) -> u8 {
    let place = Category::ALL.iter().position(|known| *known == category);
    place.and_then(|place| u8::try_from(place).ok()).unwrap_or(5)
}

impl Source {
    /// What a unit of a file says.
    #[must_use]
    pub fn of(content: Content) -> Source {
        match content {
            Content::Text(text) => Source::Text(text),
            Content::Plural(forms) => {
                Source::Forms(forms.into_iter().map(|(category, text)| (place_of(category), text)).collect())
            }
        }
    }

    /// Whether it is a plural.
    #[must_use]
    pub const fn is_plural(&self) -> bool {
        matches!(self, Source::Forms(_))
    }

    /// SHA-256 of a text; of a plural, over its forms and their categories.
    #[must_use]
    pub fn sha256(&self) -> [u8; 32] {
        match self {
            Source::Text(text) => digest(text.as_bytes()),
            Source::Forms(forms) => {
                let parts =
                    forms.iter().flat_map(|(place, text)| [category_at(*place).name().as_bytes(), text.as_bytes()]);
                digest_parts(&parts.collect::<Vec<_>>())
            }
        }
    }

    /// The text that a form of a translation is made from: the source's own form of the category, else `other`.
    #[must_use]
    pub fn form(&self, category: Category) -> &str {
        match self {
            Source::Text(text) => text,
            Source::Forms(forms) => {
                let of = |wanted: u8| forms.iter().find(|(place, _)| *place == wanted);
                of(place_of(category)).or_else(|| of(place_of(Category::Other))).map_or("", |(_, text)| text.as_str())
            }
        }
    }

    /// How many bytes its texts have, about.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Source::Text(text) => text.len(),
            Source::Forms(forms) => forms.iter().map(|(_, text)| text.len() + 8).sum(),
        }
    }

    /// How many bytes it takes in memory, about.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match self {
            Source::Text(text) => text.len(),
            Source::Forms(forms) => forms.iter().map(|(_, text)| text.len() + 48).sum(),
        }
    }
}

/// A key with the file it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// In which project.
    pub project_id: ProjectId,
    /// In which file.
    pub file_id: FileId,
    /// The version of the file it was read from, which was the latest.
    pub file_version: FileVersion,
    /// Its id.
    pub key_id: KeyId,
    /// What it says.
    pub entry: KeyEntry,
}

/// Which kind of text a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
pub enum KeyClass {
    /// Ordinary text.
    Prose,
    /// A claim.
    Claim,
    /// A legal text.
    Legal,
}

impl KeyClass {
    /// Its word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            KeyClass::Prose => "prose",
            KeyClass::Claim => "claim",
            KeyClass::Legal => "legal",
        }
    }
}

/// A path of a file and what translators are told of the key there.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct KeyContext {
    /// The path.
    pub path: String,
    /// Which kind of text it holds.
    pub class: Option<KeyClass>,
    /// What it is about.
    pub context: Option<String>,
    /// The fewest characters of a translation.
    pub min_length: Option<u32>,
    /// The most.
    pub max_length: Option<u32>,
}
