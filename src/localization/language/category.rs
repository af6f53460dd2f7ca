//! Plural categories and sets of them.

use std::fmt;

/// One of CLDR's plural categories, in CLDR's order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Category {
    /// `zero`
    Zero,
    /// `one`
    One,
    /// `two`
    Two,
    /// `few`
    Few,
    /// `many`
    Many,
    /// `other`; every locale has it.
    Other,
}

impl Category {
    /// Every category, in CLDR's order.
    pub const ALL: [Self; 6] = [Self::Zero, Self::One, Self::Two, Self::Few, Self::Many, Self::Other];

    /// The name, as in CLDR, in files and on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::One => "one",
            Self::Two => "two",
            Self::Few => "few",
            Self::Many => "many",
            Self::Other => "other",
        }
    }

    /// The category of that name, in lower case as CLDR writes it.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|category| category.name() == name)
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Category {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A set of plural categories.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Categories(u8);

impl Categories {
    /// Whether the category is one of them.
    #[must_use]
    pub const fn contains(self, category: Category) -> bool {
        self.0 & category.bit() != 0
    }

    /// The same set with the category in it.
    #[must_use]
    pub const fn with(self, category: Category) -> Self {
        Self(self.0 | category.bit())
    }

    /// How many there are.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The categories in CLDR's order.
    pub fn iter(self) -> impl Iterator<Item = Category> + Clone {
        Category::ALL.into_iter().filter(move |category| self.contains(*category))
    }

    /// The names in CLDR's order.
    #[must_use]
    pub fn names(self) -> Vec<&'static str> {
        self.iter().map(Category::name).collect()
    }
}

impl FromIterator<Category> for Categories {
    fn from_iter<I: IntoIterator<Item = Category>>(categories: I) -> Self {
        categories.into_iter().fold(Self::default(), Self::with)
    }
}

impl fmt::Debug for Categories {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.iter()).finish()
    }
}
