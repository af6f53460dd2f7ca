//! Likely subtags: what is most likely meant where a tag leaves script or region open (UTS 35, part 1, section 4.3).

use super::alias::LanguageId;
use super::tables::Tables;

/// Adds the script and the region that are most likely meant where there is none. Of a language that CLDR says
/// nothing about, they stay open. No locale has the language `und`, so that nobody guesses languages here.
pub(super) fn maximize(tables: &Tables, id: &LanguageId) -> LanguageId {
    let mut full = id.clone();
    if full.script.is_some() && full.region.is_some() {
        return full;
    }
    let language = full.language.as_str();
    let by = |subtag: &Option<String>| tables.likely.get(format!("{language}-{}", subtag.as_ref()?).as_str()).copied();
    let found = by(&full.script).or_else(|| by(&full.region)).or_else(|| tables.likely.get(language).copied());
    let mut subtags = found.unwrap_or_default().split('-').skip(1).map(str::to_owned);
    let (script, region) = (subtags.next(), subtags.next());
    full.script = full.script.or(script);
    full.region = full.region.or(region);
    full
}
