//! The order in which the letters of a line stand from left to right: Unicode's bidirectional algorithm (UAX 9) for lines
//! without marks of embedding, with a direction that their first letter gives.

/// What a letter is to the algorithm, by the names that it has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Written to the right.
    L,
    /// Written to the left.
    R,
    /// Arabic, written to the left.
    AL,
    /// A European digit.
    EN,
    /// An Arabic digit.
    AN,
    /// Between European digits: plus, minus.
    ES,
    /// Beside European digits: per cent, currencies.
    ET,
    /// Between digits of one kind: full stop, comma.
    CS,
    /// A mark on the letter before it.
    Mark,
    /// A blank.
    WS,
    /// Anything else.
    ON,
}

fn class(c: char) -> Class {
    match c {
        '0'..='9' | '\u{6f0}'..='\u{6f9}' => Class::EN,
        '+' | '-' => Class::ES,
        '#' | '$' | '%' | '¢'..='¥' | '°' | '±' | '\u{66a}' | '€' | '₪' => Class::ET,
        ',' | '.' | '/' | ':' | '\u{a0}' | '\u{60c}' => Class::CS,
        '\u{660}'..='\u{669}' | '\u{66b}' | '\u{66c}' | '\u{600}'..='\u{605}' => Class::AN,
        '\u{300}'..='\u{36f}'
        | '\u{591}'..='\u{5bd}'
        | '\u{5bf}'
        | '\u{5c1}'
        | '\u{5c2}'
        | '\u{5c4}'
        | '\u{5c5}'
        | '\u{5c7}'
        | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}'
        | '\u{670}'
        | '\u{6d6}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e4}'
        | '\u{fb1e}' => Class::Mark,
        '\u{590}'..='\u{5ff}' | '\u{7c0}'..='\u{85f}' | '\u{fb1d}'..='\u{fb4f}' => Class::R,
        '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1edff}' | '\u{1ef00}'..='\u{1efff}' | '\u{200f}' => Class::R,
        '\u{606}'..='\u{7bf}' | '\u{860}'..='\u{8ff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}' => Class::AL,
        '\u{1ee00}'..='\u{1eeff}' => Class::AL,
        '\u{200e}' => Class::L,
        c if c.is_whitespace() => Class::WS,
        c if c.is_alphanumeric() => Class::L,
        _ => Class::ON,
    }
}

/// The letters of a line from left to right.
pub(super) fn visual(text: &str) -> Vec<char> {
    let mut letters: Vec<char> = text.chars().filter(|c| !c.is_control()).collect();
    let goes_left = |class: &Class| matches!(class, Class::R | Class::AL | Class::AN);
    // Nothing before the Hebrew letters is written to the left, and most text is.
    if letters.iter().all(|c| *c < '\u{590}') {
        return letters;
    }
    let mut classes: Vec<Class> = letters.iter().copied().map(class).collect();
    if !classes.iter().any(goes_left) {
        return letters;
    }
    let first = classes.iter().find(|class| matches!(class, Class::L | Class::R | Class::AL));
    let base = u8::from(first.is_some_and(goes_left));
    let marks: Vec<bool> = classes.iter().map(|class| *class == Class::Mark).collect();
    let blanks: Vec<bool> = classes.iter().map(|class| *class == Class::WS).collect();
    let outside = if base == 1 { Class::R } else { Class::L };
    resolve_numbers(&mut classes, outside);
    resolve_brackets(&letters, &mut classes, outside);
    resolve_others(&mut classes, outside);
    let mut levels: Vec<u8> = classes
        .iter()
        .map(|class| match (class, base) {
            (Class::R, _) => 1,
            (Class::L, 0) => 0,
            _ => 2,
        })
        .collect();
    // Blanks at the end stand at the end of the line.
    for (level, _) in levels.iter_mut().zip(&blanks).rev().take_while(|(_, is_blank)| **is_blank) {
        *level = base;
    }
    reorder(&mut letters, &levels, &marks);
    letters
}

/// Rules W1 to W7: marks and numbers. `outside` is the direction before the line begins.
fn resolve_numbers(classes: &mut [Class], outside: Class) {
    let (mut before, mut strong) = (outside, outside);
    for class in classes.iter_mut() {
        match *class {
            Class::Mark => *class = before,
            Class::EN if strong == Class::AL => *class = Class::AN,
            Class::L | Class::R | Class::AL => strong = *class,
            _ => {}
        }
        before = *class;
    }
    let seen = classes.to_vec();
    let at = |index: Option<usize>| index.and_then(|index| seen.get(index)).copied();
    for (index, class) in classes.iter_mut().enumerate() {
        let (left, right) = (at(index.checked_sub(1)), at(index.checked_add(1)));
        *class = match (*class, left, right) {
            (Class::AL, ..) => Class::R,
            (Class::ES | Class::CS, Some(Class::EN), Some(Class::EN)) => Class::EN,
            (Class::CS, Some(Class::AN), Some(Class::AN)) => Class::AN,
            (class, ..) => class,
        };
    }
    // Signs on either side of a number belong to it.
    let mut is_number = false;
    for class in classes.iter_mut() {
        is_number = *class == Class::EN || is_number && *class == Class::ET;
        if is_number {
            *class = Class::EN;
        }
    }
    for class in classes.iter_mut().rev() {
        is_number = *class == Class::EN || is_number && *class == Class::ET;
        if is_number {
            *class = Class::EN;
        }
    }
    strong = outside;
    for class in classes.iter_mut() {
        match *class {
            Class::L | Class::R => strong = *class,
            Class::EN if strong == Class::L => *class = Class::L,
            Class::ES | Class::ET | Class::CS | Class::WS => *class = Class::ON,
            _ => {}
        }
    }
}

/// Brackets that are open at once, at most.
const BRACKETS_MAX: usize = 63;

/// Rule N0: both brackets of a pair have the direction of the line if anything between them has; else that of what is
/// between them, if what stands before has it, too.
fn resolve_brackets(letters: &[char], classes: &mut [Class], outside: Class) {
    let mut open: Vec<(char, usize)> = Vec::new();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (index, c) in letters.iter().copied().enumerate() {
        match c {
            '(' | '[' | '{' if open.len() < BRACKETS_MAX => open.push((mirrored(c), index)),
            '(' | '[' | '{' => break,
            ')' | ']' | '}' => {
                if let Some(at) = open.iter().rposition(|(wanted, _)| *wanted == c) {
                    pairs.extend(open.get(at).map(|(_, start)| (*start, index)));
                    open.truncate(at);
                }
            }
            _ => {}
        }
    }
    pairs.sort_unstable();
    let strong = |class: &Class| match class {
        Class::L => Some(Class::L),
        Class::R | Class::EN | Class::AN => Some(Class::R),
        _ => None,
    };
    for (start, end) in pairs {
        let mut inside = classes.get(start + 1..end).unwrap_or_default().iter().filter_map(strong).peekable();
        if inside.peek().is_none() {
            continue;
        }
        let own = if inside.any(|class| class == outside) {
            outside
        } else {
            let before = classes.get(..start).unwrap_or_default();
            before.iter().rev().find_map(strong).unwrap_or(outside)
        };
        for index in [start, end] {
            if let Some(slot) = classes.get_mut(index) {
                *slot = own;
            }
        }
    }
}

/// Rules N1 and N2: what has no direction has that of both sides, where they agree, or of the line.
fn resolve_others(classes: &mut [Class], outside: Class) {
    let direction = |class: Class| if class == Class::L { Class::L } else { Class::R };
    let mut before = outside;
    let mut start = 0;
    while start < classes.len() {
        let rest = classes.get_mut(start..).unwrap_or_default();
        let length = rest.iter().take_while(|class| **class == Class::ON).count();
        let after = rest.get(length).map_or(outside, |class| direction(*class));
        let own = if before == after { before } else { outside };
        rest.iter_mut().take(length).for_each(|class| *class = own);
        before = after;
        start += length + 1;
    }
}

/// Rules L2 to L4: runs are turned around, those of higher levels first; marks stay behind their letters, and brackets
/// are turned.
fn reorder(letters: &mut [char], levels: &[u8], marks: &[bool]) {
    let mut order: Vec<usize> = (0..letters.len()).collect();
    for lowest in [2, 1] {
        let mut start = 0;
        while start < order.len() {
            let is_in = |index: &usize| levels.get(*index).is_some_and(|level| *level >= lowest);
            let rest = order.get_mut(start..).unwrap_or_default();
            let length = rest.iter().take_while(|index| is_in(index)).count();
            rest.get_mut(..length).unwrap_or_default().reverse();
            start += length + 1;
        }
    }
    let is_left = |index: &usize| levels.get(*index).is_some_and(|level| *level == 1);
    let is_mark = |index: &usize| is_left(index) && marks.get(*index) == Some(&true);
    let mut start = 0;
    while start < order.len() {
        let rest = order.get_mut(start..).unwrap_or_default();
        let length = rest.iter().take_while(|index| is_mark(index)).count();
        if length > 0 && rest.get(length).is_some_and(is_left) {
            rest.get_mut(..=length).unwrap_or_default().reverse();
        }
        start += length + 1;
    }
    let turned = |index: &usize| letters.get(*index).map(|c| if is_left(index) { mirrored(*c) } else { *c });
    let visual: Vec<char> = order.iter().filter_map(turned).collect();
    letters.iter_mut().zip(visual).for_each(|(slot, c)| *slot = c);
}

/// The bracket that opens where this one closes.
fn mirrored(c: char) -> char {
    const PAIRS: [(char, char); 7] =
        [('(', ')'), ('[', ']'), ('{', '}'), ('<', '>'), ('«', '»'), ('‹', '›'), ('≤', '≥')];
    PAIRS.iter().find_map(|(a, b)| if c == *a { Some(*b) } else { (c == *b).then_some(*a) }).unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands on the right was read off pictures of Pango's, or is an example of UAX 9.
    #[test]
    fn lines_are_put_in_the_order_they_are_seen_in() {
        for (text, expected) in [
            ("", ""),
            ("abc (x) 12", "abc (x) 12"),
            ("привет 日本", "привет 日本"),
            ("שלום", "םולש"),
            ("ab שלום cd", "ab םולש cd"),
            ("שלום abc 123 (x) ابجد", "دجبا abc 123 (x) םולש"),
            ("C++ עברית: (a+b) 12.5%", "C++ תירבע: (a+b) 12.5%"),
            ("עברית (א)", ")א( תירבע".chars().map(mirrored).collect::<String>().as_str()),
            ("עמוד 12-14", "12-14 דומע"),
            ("עמוד 5%", "5% דומע"),
            ("السعر 12", "12 رعسلا"),
            ("a שׁב c", "a בשׁ c"),
            ("abc אבג ", "abc גבא "),
            ("אב \u{661}\u{662}", "\u{661}\u{662} בא"),
        ] {
            let seen: String = visual(text).into_iter().collect();
            assert_eq!(seen, expected, "{text}");
        }
    }

    #[test]
    fn no_letter_is_lost_or_made() {
        let letters = ['a', '1', '.', ' ', '(', 'ש', '\u{5c1}', 'ع', '\u{661}', '%', '+', ')', '\u{64b}'];
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..2_000 {
            let text: String = (0..random.usize(..14)).map(|_| letters[random.usize(..letters.len())]).collect();
            let sorted = |mut all: Vec<char>| {
                all.iter_mut().for_each(|c| *c = if *c == ')' { '(' } else { *c });
                all.sort_unstable();
                all
            };
            assert_eq!(sorted(visual(&text)), sorted(text.chars().collect()), "{text:?}");
        }
    }
}
