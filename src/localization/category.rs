//! The six plural categories of CLDR.

/// A plural category, in CLDR's order, which is also the order in which files have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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
    /// `other`, which every language has.
    Other,
}

impl Category {
    /// All six, in order.
    pub const ALL: [Category; 6] =
        [Category::Zero, Category::One, Category::Two, Category::Few, Category::Many, Category::Other];

    /// The name that CLDR, files and the interface use.
    pub fn name(self) -> &'static str {
        match self {
            Category::Zero => "zero",
            Category::One => "one",
            Category::Two => "two",
            Category::Few => "few",
            Category::Many => "many",
            Category::Other => "other",
        }
    }

    /// The category of that exact name.
    pub fn from_name(name: &str) -> Option<Category> {
        Category::ALL.into_iter().find(|category| category.name() == name)
    }
}
