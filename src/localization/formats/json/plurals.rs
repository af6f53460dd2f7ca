//! Which members of an object are the forms of one plural (i18next v4): `k_one`, `k_other`.

use std::collections::HashMap;

use crate::language::Category;

/// Members with a category's name as suffix, by object and by what stands before the suffix.
#[derive(Default)]
pub struct Suffixed {
    groups: HashMap<(usize, String), Vec<Form>>,
}

/// A form and its leaf; none if its value is no string.
type Form = (Category, Option<usize>);

impl Suffixed {
    /// Takes note of a member; `leaf` is none if its value is no string.
    pub fn add(&mut self, object: usize, name: &str, leaf: Option<usize>) {
        let Some((stem, suffix)) = name.rsplit_once('_') else { return };
        // Ordinals have categories of their own, which are not those a translation of a plural gives.
        if stem.is_empty() || stem.ends_with("_ordinal") {
            return;
        }
        let Some(category) = Category::from_name(suffix) else { return };
        self.groups.entry((object, stem.to_owned())).or_default().push((category, leaf));
    }

    /// The plurals: two strings or more, `other` among them, and nothing but strings. A lone `status_other` is a text
    /// of its own far more often than it is a plural.
    pub fn into_plurals(self) -> Vec<Vec<(Category, usize)>> {
        let mut plurals: Vec<Vec<(Category, usize)>> = Vec::new();
        for members in self.groups.into_values() {
            let strings: Option<Vec<(Category, usize)>> =
                members.into_iter().map(|(category, leaf)| Some((category, leaf?))).collect();
            let Some(mut strings) = strings else { continue };
            if strings.len() >= 2 && strings.iter().any(|(category, _)| *category == Category::Other) {
                strings.sort_by_key(|(_, leaf)| *leaf);
                plurals.push(strings);
            }
        }
        plurals.sort_by_key(|members| members.first().map(|(_, leaf)| *leaf));
        plurals
    }
}
