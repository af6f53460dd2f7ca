//! What the service reads: bodies as commands. A member that is not known decides before one that is wrong.

use std::collections::HashSet;

use quintet_platform::ids::parse_uuid;
use quintet_platform::json::{FieldError, Fields, FromJson, Given, Json};

use crate::content::{KeyClass, KeyContext, Wished};
use crate::refusal::Refusal;
use crate::spaces::{
    CreateWorkspace, LEGAL_PREFIX_CHARS_MAX, LEGAL_PREFIXES_MAX, LOCALE_CHARS_MAX, LOCALES_MAX, NAME_CHARS_MAX,
    PatchProject, ProjectId, WorkspaceId, is_slug,
};

/// An object being read: the first thing that is wrong with it.
pub(super) struct Form {
    fields: Fields,
    wrong: Option<Refusal>,
}

impl Form {
    /// The members of a body.
    pub(super) fn of_body(json: Json) -> Result<Form, Refusal> {
        match Fields::new(json) {
            Ok(fields) => Ok(Form::new(fields)),
            Err(_) => Err(Refusal::InvalidBody("a JSON object is required")),
        }
    }

    /// The members of an object.
    pub(super) fn new(fields: Fields) -> Form {
        Form { fields, wrong: None }
    }

    fn noted<T>(&mut self, outcome: Result<T, FieldError>) -> Option<T> {
        match outcome {
            Ok(value) => Some(value),
            Err(error) => {
                self.wrong.get_or_insert(Refusal::field(error.field, error.problem.to_string()));
                None
            }
        }
    }

    /// A member that must be there.
    pub(super) fn required<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.required(name);
        self.noted(outcome)
    }

    /// A member that may be absent, but not null.
    pub(super) fn optional<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.optional(name);
        self.noted(outcome).flatten()
    }

    /// A member that may be absent or null.
    pub(super) fn nullable<T: FromJson>(&mut self, name: &str) -> Option<T> {
        let outcome = self.fields.nullable(name);
        self.noted(outcome).and_then(Given::value)
    }

    /// The objects of an array that must be there.
    pub(super) fn objects(&mut self, name: &str) -> Vec<Fields> {
        let outcome = self.fields.required_objects(name);
        self.noted(outcome).unwrap_or_default()
    }

    /// Says that a member is wrong.
    pub(super) fn wrong(&mut self, name: &str, problem: impl Into<String>) {
        let field = self.fields.path_of(name);
        self.wrong.get_or_insert(Refusal::field(field, problem));
    }

    /// Demands a number of characters.
    pub(super) fn demand_chars(&mut self, name: &str, text: Option<&str>, least: usize, most: usize) {
        if text.is_some_and(|text| !(least..=most).contains(&text.chars().take(most + 1).count())) {
            self.wrong(name, format!("has {least} to {most} characters"));
        }
    }

    /// Ends the reading.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        if let Err(unknown) = self.fields.finish() {
            let names: Vec<String> = unknown.into_iter().map(|error| error.field).collect();
            return Err(Refusal::UnknownField(names.join(", ")));
        }
        self.wrong.map_or(Ok(()), Err)
    }
}

/// What was read if nothing was wrong; a member that is missing then was noted before.
fn read<T>(value: Option<T>) -> Result<T, Refusal> {
    value.ok_or(Refusal::InvalidBody("a member is missing"))
}

fn slug(form: &mut Form) -> Option<String> {
    let slug: Option<String> = form.required("slug");
    if slug.as_deref().is_some_and(|slug| !is_slug(slug)) {
        form.wrong("slug", "must match ^[a-z0-9][a-z0-9-]{1,62}$");
    }
    slug
}

/// A name: the contract bounds its length from above and nothing else, so that it may be empty, too.
fn name(form: &mut Form, name: Option<String>) -> Option<String> {
    form.demand_chars("name", name.as_deref(), 0, NAME_CHARS_MAX);
    name
}

/// WorkspaceCreate.
pub(super) fn create_workspace(json: Json) -> Result<CreateWorkspace, Refusal> {
    let mut form = Form::of_body(json)?;
    let slug = slug(&mut form);
    let given = form.required("name");
    let name = name(&mut form, given);
    form.finish()?;
    Ok(CreateWorkspace { slug: read(slug)?, name: read(name)? })
}

/// ProjectCreate, its source locale still as it was written.
pub(super) struct NewProject {
    pub(super) workspace_id: WorkspaceId,
    pub(super) slug: String,
    pub(super) name: String,
    pub(super) source_locale: String,
}

/// ProjectCreate.
pub(super) fn create_project(json: Json) -> Result<NewProject, Refusal> {
    let mut form = Form::of_body(json)?;
    let workspace_id: Option<String> = form.required("workspace_id");
    let workspace_id = workspace_id.map(|text| parse_uuid(&text).map(WorkspaceId));
    if workspace_id == Some(None) {
        form.wrong("workspace_id", "must be a UUID");
    }
    let slug = slug(&mut form);
    let given = form.required("name");
    let name = name(&mut form, given);
    let source_locale: Option<String> = form.required("source_locale");
    form.demand_chars("source_locale", source_locale.as_deref(), 2, LOCALE_CHARS_MAX);
    form.finish()?;
    Ok(NewProject {
        workspace_id: read(workspace_id.flatten())?,
        slug: read(slug)?,
        name: read(name)?,
        source_locale: read(source_locale)?,
    })
}

/// ProjectPatch, whichever project it is for.
pub(super) struct WishedPatch {
    name: Option<String>,
    legal_prefixes: Option<Vec<String>>,
}

impl WishedPatch {
    /// The command for a project.
    pub(super) fn of(self, project_id: ProjectId) -> PatchProject {
        PatchProject { project_id, name: self.name, legal_prefixes: self.legal_prefixes }
    }
}

/// ProjectPatch.
pub(super) fn patch_project(json: Json) -> Result<WishedPatch, Refusal> {
    let mut form = Form::of_body(json)?;
    let given = form.optional("name");
    let name = name(&mut form, given);
    let legal_prefixes: Option<Vec<String>> = form.optional("legal_prefixes");
    if let Some(prefixes) = &legal_prefixes {
        let fits = |prefix: &String| (1..=LEGAL_PREFIX_CHARS_MAX).contains(&prefix.chars().count());
        if prefixes.len() > LEGAL_PREFIXES_MAX || !prefixes.iter().all(fits) {
            form.wrong("legal_prefixes", "has at most 50 items of 1 to 200 characters");
        }
    }
    form.finish()?;
    Ok(WishedPatch { name, legal_prefixes })
}

/// ProjectLocalesPut.
pub(super) fn put_locales(json: Json) -> Result<Vec<String>, Refusal> {
    let mut form = Form::of_body(json)?;
    let locales: Option<Vec<String>> = form.required("locales");
    if let Some(tags) = &locales {
        let fits = |tag: &String| (1..=LOCALE_CHARS_MAX).contains(&tag.chars().count());
        if !(1..=LOCALES_MAX).contains(&tags.len()) || !tags.iter().all(fits) {
            form.wrong("locales", "has 1 to 100 items of 1 to 64 characters");
        }
    }
    form.finish()?;
    read(locales)
}

/// SourceLocalePut and LocaleValidate: one tag under this name.
pub(super) fn one_tag(member: &str, json: Json) -> Result<String, Refusal> {
    let mut form = Form::of_body(json)?;
    let tag: Option<String> = form.required(member);
    form.demand_chars(member, tag.as_deref(), 1, LOCALE_CHARS_MAX);
    form.finish()?;
    read(tag)
}

/// The longest text of a translation that a body may have, in characters; what is stored is shorter.
pub(super) const TEXT_CHARS_MAX: usize = 262_144;
/// The most forms of a plural.
const FORMS_MAX: usize = 6;

/// TranslationPut.
pub(super) fn put_translation(json: Json) -> Result<Wished, Refusal> {
    let mut form = Form::of_body(json)?;
    let text: Option<String> = form.optional("text");
    let forms: Option<Vec<(String, Json)>> = form.optional("forms");
    form.demand_chars("text", text.as_deref(), 0, TEXT_CHARS_MAX);
    let count = forms.as_ref().map(Vec::len);
    if count.is_some_and(|count| !(1..=FORMS_MAX).contains(&count)) {
        form.wrong("forms", "has 1 to 6 members");
    }
    let mut texts = Vec::new();
    for (category, value) in forms.into_iter().flatten() {
        match value {
            Json::String(text) => texts.push((category, text)),
            _ => form.wrong("forms", "has strings"),
        }
    }
    form.finish()?;
    match (text, count) {
        (Some(text), None) => Ok(Wished::Text(text)),
        (None, Some(_)) => Ok(Wished::Forms(texts)),
        _ => Err(Refusal::InvalidBody("exactly one of text and forms is required")),
    }
}

/// The most entries of one request about key context.
pub(super) const CONTEXTS_MAX: usize = 1000;
/// The longest path of a key, context, and number of a length.
pub(super) const KEY_PATH_CHARS_MAX: usize = 1024;
pub(super) const CONTEXT_CHARS_MAX: usize = 2000;
const LENGTH_MAX: u32 = 100_000;

/// The body of key contexts. A member that is not known decides before one that is wrong, wherever they stand.
pub(super) fn put_contexts(json: Json) -> Result<Vec<KeyContext>, Refusal> {
    let mut form = Form::of_body(json)?;
    let entries = form.objects("keys");
    if !(1..=CONTEXTS_MAX).contains(&entries.len()) {
        form.wrong("keys", "has 1 to 1000 items");
    }
    let mut outcome = form.finish();
    let mut contexts = Vec::with_capacity(entries.len());
    let mut paths = HashSet::new();
    for fields in entries {
        match (key_context(Form::new(fields), &mut paths), &outcome) {
            (Ok(context), _) => contexts.push(context),
            (Err(unknown @ Refusal::UnknownField(_)), Ok(()) | Err(Refusal::InvalidField(..))) => {
                outcome = Err(unknown)
            }
            (Err(refusal), Ok(())) => outcome = Err(refusal),
            (Err(_), Err(_)) => {}
        }
    }
    outcome.map(|()| contexts)
}

/// One entry of them; `paths` are those of the entries before it.
fn key_context(mut form: Form, paths: &mut HashSet<String>) -> Result<KeyContext, Refusal> {
    let path: Option<String> = form.required("path");
    form.demand_chars("path", path.as_deref(), 1, KEY_PATH_CHARS_MAX);
    let class: Option<String> = form.nullable("class");
    let class = class.map(|class| match class.as_str() {
        "prose" => Some(KeyClass::Prose),
        "claim" => Some(KeyClass::Claim),
        "legal" => Some(KeyClass::Legal),
        _ => None,
    });
    if class == Some(None) {
        form.wrong("class", "is prose, claim, legal or null");
    }
    let context: Option<String> = form.nullable("context");
    form.demand_chars("context", context.as_deref(), 1, CONTEXT_CHARS_MAX);
    let mut length = |name: &str| -> Option<u32> {
        let length: Option<u32> = form.nullable(name);
        if length.is_some_and(|length| !(1..=LENGTH_MAX).contains(&length)) {
            form.wrong(name, "is 1 to 100000 or null");
        }
        length
    };
    let (min_length, max_length) = (length("min_length"), length("max_length"));
    if path.as_ref().is_some_and(|path| !paths.insert(path.clone())) {
        form.wrong("path", "occurs more than once");
    }
    form.finish()?;
    Ok(KeyContext { path: read(path)?, class: class.flatten(), context, min_length, max_length })
}
