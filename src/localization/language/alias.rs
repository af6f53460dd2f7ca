//! CLDR's rules that replace languages, and the parts of a tag they apply to.

/// The part of a tag that means something without extensions, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LanguageId {
    pub(super) language: String,
    pub(super) script: Option<String>,
    pub(super) region: Option<String>,
    pub(super) variants: Vec<String>,
}

impl LanguageId {
    /// The subtags in lower case.
    pub(super) fn lower_case(&self) -> String {
        let mut text = self.language.clone();
        for subtag in self.script.iter().chain(&self.region).chain(&self.variants) {
            text.push('-');
            text.push_str(subtag);
        }
        text
    }

    /// The subtags as they are written by custom: `zh-Hant-TW`.
    pub(super) fn customary(&self) -> String {
        let mut text = self.language.clone();
        if let Some(script) = &self.script {
            text.push('-');
            let mut letters = script.chars();
            text.extend(letters.next().map(|first| first.to_ascii_uppercase()));
            text.push_str(letters.as_str());
        }
        if let Some(region) = &self.region {
            text.push('-');
            text.push_str(&region.to_ascii_uppercase());
        }
        for variant in &self.variants {
            text.push('-');
            text.push_str(variant);
        }
        text
    }
}

/// One rule: where all of `from` stands, it makes room for `to`. The language `und` stands for any.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    from: LanguageId,
    to: LanguageId,
}

impl Rule {
    /// Reads both sides. `None`: one of them is no such tag.
    pub(super) fn read(from: &str, to: &str) -> Option<Self> {
        Some(Self { from: read(from)?, to: read(to)? })
    }

    /// How much the rule says.
    pub(super) fn subtags(&self) -> usize {
        1 + usize::from(self.from.script.is_some()) + usize::from(self.from.region.is_some()) + self.from.variants.len()
    }

    /// Whether the variant is one of those that the rule replaces.
    pub(super) fn speaks_of(&self, variant: &str) -> bool {
        self.from.variants.iter().any(|from| from == variant)
    }

    /// The tag after the rule, if it applies (UTS 35, annex C): what the rule does not speak of stays, and what the
    /// replacement adds yields to what the tag says itself (`sh` is `sr-Latn`, but `sh-Cyrl` is `sr-Cyrl`).
    pub(super) fn apply(&self, tag: &LanguageId) -> Option<LanguageId> {
        let Self { from, to } = self;
        let applies = (from.language == "und" || from.language == tag.language)
            && (from.script.is_none() || from.script == tag.script)
            && (from.region.is_none() || from.region == tag.region)
            && from.variants.iter().all(|variant| tag.variants.contains(variant));
        if !applies {
            return None;
        }
        let field = |from: &Option<String>, to: &Option<String>, tag: &Option<String>| {
            let kept = if from.is_some() { None } else { tag.clone() };
            kept.or_else(|| to.clone())
        };
        let mut variants = tag.variants.clone();
        variants.retain(|variant| !from.variants.contains(variant));
        for variant in &to.variants {
            if !variants.contains(variant) {
                variants.push(variant.clone());
            }
        }
        Some(LanguageId {
            language: if to.language == "und" { tag.language.clone() } else { to.language.clone() },
            script: field(&from.script, &to.script, &tag.script),
            region: field(&from.region, &to.region, &tag.region),
            variants,
        })
    }
}

/// Whether a subtag has the form of a region.
pub(super) fn is_region(subtag: &str) -> bool {
    (subtag.len() == 2 && subtag.bytes().all(|byte| byte.is_ascii_alphabetic()))
        || (subtag.len() == 3 && subtag.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a subtag has the form of a script.
pub(super) fn is_script(subtag: &str) -> bool {
    subtag.len() == 4 && subtag.bytes().all(|byte| byte.is_ascii_alphabetic())
}

/// Whether a subtag has the form of a variant.
pub(super) fn is_variant(subtag: &str) -> bool {
    matches!(subtag.len(), 5..=8) || (subtag.len() == 4 && subtag.as_bytes().first().is_some_and(u8::is_ascii_digit))
}

/// Reads language, script, region and variants, as they stand in the tables.
pub(super) fn read(text: &str) -> Option<LanguageId> {
    let mut subtags = text.split('-').peekable();
    let language = subtags.next().filter(|language| matches!(language.len(), 2 | 3))?.to_owned();
    let script = subtags.next_if(|subtag| is_script(subtag));
    let region = subtags.next_if(|subtag| is_region(subtag));
    let variants: Vec<String> = subtags.map(str::to_owned).collect();
    let well_formed = variants.iter().all(|variant| is_variant(variant));
    well_formed.then_some(LanguageId {
        language,
        script: script.map(str::to_owned),
        region: region.map(str::to_owned),
        variants,
    })
}
