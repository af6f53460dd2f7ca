//! Lists that are strung together before the program runs.

/// Several lists as one.
#[expect(clippy::indexing_slicing, reason = "in a constant: a place that is not there is no program")]
#[must_use]
pub const fn joined<T: Copy, const COUNT: usize>(lists: &[&[T]]) -> [T; COUNT] {
    let mut all = [lists[0][0]; COUNT];
    let (mut list, mut item, mut place) = (0, 0, 0);
    while place < COUNT {
        if item == lists[list].len() {
            (list, item) = (list + 1, 0);
        } else {
            all[place] = lists[list][item];
            (item, place) = (item + 1, place + 1);
        }
    }
    all
}
