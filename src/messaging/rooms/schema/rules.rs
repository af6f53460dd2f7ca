//! From the keywords of a schema to what it asks for.
//!
//! Read is all of core, applicators, validation and unevaluated. `format`, `contentEncoding`, `contentMediaType`,
//! `contentSchema` and what nobody knows are annotations: they ask for nothing.

use std::collections::BTreeMap;

use quintet_platform::json::{Json, to_compact};

use super::budget::Budget;
use super::fault::SchemaFault;
use super::keywords::Keywords;
use super::model::{
    Arrays, Bound, Choice, Condition, Contains, Named, Node, NodeId, Numbers, Objects, Rules, Texts, Types,
};
use super::pattern::Pattern;
use super::places::Places;
use super::same::text_of;

/// The most patterns of a schema, and what all of them may take when they are made ready, in bytes.
const PATTERNS_MAX: usize = 100;
const PATTERN_BYTES_MAX: usize = 1 << 20;

/// The longest values that are told when a value must be one of them, in bytes.
const SHOWN_CHOICE_BYTES_MAX: usize = 200;

/// The patterns that have been read so far.
#[derive(Default)]
pub(super) struct PatternsSoFar {
    count: usize,
    bytes: usize,
}

/// Reads the schema at a place.
///
/// # Errors
/// A keyword does not say what it may say.
pub(super) fn read(places: &Places<'_>, id: NodeId, so_far: &mut PatternsSoFar) -> Result<Node, SchemaFault> {
    match places.schema(id) {
        Json::Bool(true) => return Ok(Node::Always),
        Json::Bool(false) => return Ok(Node::Never),
        _ => {}
    }
    let keywords = Keywords::of(places, id);
    let (reference, dynamic) = places.references(id);
    let condition = keywords.schema("if").map(|condition| Condition {
        condition,
        then: keywords.schema("then"),
        otherwise: keywords.schema("else"),
    });
    Ok(Node::Rules(Box::new(Rules {
        resource: places.resource(id),
        reference,
        dynamic,
        all_of: keywords.schemas("allOf"),
        any_of: keywords.schemas("anyOf"),
        one_of: keywords.schemas("oneOf"),
        not: keywords.schema("not"),
        condition,
        types: types(&keywords)?,
        choices: choices(&keywords)?,
        numbers: numbers(&keywords)?,
        texts: texts(&keywords, so_far)?,
        arrays: arrays(&keywords)?,
        objects: objects(&keywords, so_far)?,
        leftover_items: keywords.schema("unevaluatedItems"),
        leftover_members: keywords.schema("unevaluatedProperties"),
    })))
}

fn types(keywords: &Keywords<'_, '_>) -> Result<Option<Types>, SchemaFault> {
    let names = match keywords.get("type") {
        None => return Ok(None),
        Some(Json::String(name)) => vec![name.as_str()],
        Some(_) => keywords.names("type")?,
    };
    let mut types = Types::default();
    let mut shown = Vec::new();
    for name in names {
        let (flag, text) = match name {
            "null" => (&mut types.null, "null"),
            "boolean" => (&mut types.boolean, "true or false"),
            "integer" => (&mut types.integer, "a whole number"),
            "number" => (&mut types.number, "a number"),
            "string" => (&mut types.string, "a string"),
            "array" => (&mut types.array, "an array"),
            "object" => (&mut types.object, "an object"),
            _ => {
                let problem = "must be of null, boolean, integer, number, string, array, object";
                return Err(keywords.fault("type", problem));
            }
        };
        *flag = true;
        shown.push(text);
    }
    if shown.is_empty() {
        return Err(keywords.fault("type", "must have at least one type"));
    }
    types.shown = shown.join(" or ");
    Ok(Some(types))
}

fn choices(keywords: &Keywords<'_, '_>) -> Result<Vec<Choice>, SchemaFault> {
    let mut choices = Vec::new();
    match keywords.get("enum") {
        None => {}
        Some(Json::Array(values)) => choices.push(choice(&values.iter().collect::<Vec<_>>())),
        Some(_) => return Err(keywords.fault("enum", "must be an array")),
    }
    choices.extend(keywords.get("const").map(|value| choice(&[value])));
    Ok(choices)
}

fn choice(values: &[&Json]) -> Choice {
    // A schema has fewer values than a check has steps.
    let mut texts: Vec<String> = values.iter().filter_map(|value| text_of(value, &mut Budget::whole()).ok()).collect();
    texts.sort_unstable();
    let told: Vec<String> = values.iter().map(|value| to_compact(value)).collect();
    let shown = match (told.as_slice(), told.iter().map(|text| text.len() + 2).sum::<usize>()) {
        ([only], ..=SHOWN_CHOICE_BYTES_MAX) => only.clone(),
        ([_, ..], ..=SHOWN_CHOICE_BYTES_MAX) => format!("one of {}", told.join(", ")),
        ([_], _) => "the one value that the schema names".to_owned(),
        _ => format!("one of the {} values that the schema names", told.len()),
    };
    Choice { longest_bytes: texts.iter().map(String::len).max().unwrap_or_default(), texts, shown }
}

fn numbers(keywords: &Keywords<'_, '_>) -> Result<Option<Numbers>, SchemaFault> {
    let multiple_of = match keywords.number("multipleOf")? {
        None => None,
        Some(Bound { value, .. }) if !value.is_positive() => {
            return Err(keywords.fault("multipleOf", "must be more than 0"));
        }
        Some(Bound { value, shown }) => match value.as_divisor() {
            Some(value) => Some(Bound { value, shown }),
            None => return Err(keywords.fault("multipleOf", "must have fewer than 20 digits")),
        },
    };
    let numbers = Numbers {
        multiple_of,
        minimum: keywords.number("minimum")?,
        exclusive_minimum: keywords.number("exclusiveMinimum")?,
        maximum: keywords.number("maximum")?,
        exclusive_maximum: keywords.number("exclusiveMaximum")?,
    };
    let asks = numbers.multiple_of.is_some()
        || numbers.minimum.is_some()
        || numbers.exclusive_minimum.is_some()
        || numbers.maximum.is_some()
        || numbers.exclusive_maximum.is_some();
    Ok(asks.then_some(numbers))
}

fn texts(keywords: &Keywords<'_, '_>, so_far: &mut PatternsSoFar) -> Result<Option<Texts>, SchemaFault> {
    let pattern = match keywords.text("pattern")? {
        Some(text) => Some(pattern(keywords, "pattern", text, so_far)?),
        None => None,
    };
    let texts = Texts { chars_min: keywords.count("minLength")?, chars_max: keywords.count("maxLength")?, pattern };
    let asks = texts.pattern.is_some() || texts.chars_min.is_some() || texts.chars_max.is_some();
    Ok(asks.then_some(texts))
}

fn pattern(
    keywords: &Keywords<'_, '_>,
    keyword: &str,
    text: &str,
    so_far: &mut PatternsSoFar,
) -> Result<Pattern, SchemaFault> {
    so_far.count += 1;
    if so_far.count > PATTERNS_MAX {
        return Err(keywords.fault(keyword, "is one pattern too many: a schema has at most 100"));
    }
    let pattern = Pattern::read(text).map_err(|problem| keywords.fault(keyword, problem))?;
    so_far.bytes += pattern.size_bytes();
    if so_far.bytes > PATTERN_BYTES_MAX {
        return Err(keywords.fault(keyword, "is too much: all patterns of a schema take at most 1 MiB made ready"));
    }
    Ok(pattern)
}

fn arrays(keywords: &Keywords<'_, '_>) -> Result<Option<Arrays>, SchemaFault> {
    // Without `contains` its counts mean nothing; they must be counts all the same.
    let (least, most) = (keywords.count("minContains")?.unwrap_or(1), keywords.count("maxContains")?);
    let arrays = Arrays {
        items_min: keywords.count("minItems")?,
        items_max: keywords.count("maxItems")?,
        are_unique: keywords.flag("uniqueItems")?,
        prefix: keywords.schemas("prefixItems"),
        items: keywords.schema("items"),
        contains: keywords.schema("contains").map(|schema| Contains { schema, least, most }),
    };
    let asks = arrays.items_min.is_some()
        || arrays.items_max.is_some()
        || arrays.are_unique
        || !arrays.prefix.is_empty()
        || arrays.items.is_some()
        || arrays.contains.is_some();
    Ok(asks.then_some(arrays))
}

fn objects(keywords: &Keywords<'_, '_>, so_far: &mut PatternsSoFar) -> Result<Option<Objects>, SchemaFault> {
    let mut patterns = Vec::new();
    for (text, schema) in keywords.named_schemas("patternProperties") {
        patterns.push((pattern(keywords, "patternProperties", text, so_far)?, schema));
    }
    let objects = Objects {
        members_min: keywords.count("minProperties")?,
        members_max: keywords.count("maxProperties")?,
        named: named(keywords)?,
        patterns,
        additional: keywords.schema("additionalProperties"),
        names: keywords.schema("propertyNames"),
    };
    let asks = objects.members_min.is_some()
        || objects.members_max.is_some()
        || !objects.named.is_empty()
        || !objects.patterns.is_empty()
        || objects.additional.is_some()
        || objects.names.is_some();
    Ok(asks.then_some(objects))
}

/// What is said about one name, before the names have places.
#[derive(Default)]
struct Said<'j> {
    schema: Option<NodeId>,
    is_required: bool,
    also_required: Vec<&'j str>,
    dependent: Option<NodeId>,
}

fn named(keywords: &Keywords<'_, '_>) -> Result<Vec<Named>, SchemaFault> {
    let mut said: BTreeMap<&str, Said<'_>> = BTreeMap::new();
    for (name, schema) in keywords.named_schemas("properties") {
        said.entry(name).or_default().schema = Some(schema);
    }
    for name in keywords.names("required")? {
        said.entry(name).or_default().is_required = true;
    }
    for (name, schema) in keywords.named_schemas("dependentSchemas") {
        said.entry(name).or_default().dependent = Some(schema);
    }
    for (name, also) in keywords.named_names("dependentRequired")? {
        for other in &also {
            said.entry(other).or_default();
        }
        said.entry(name).or_default().also_required = also;
    }
    let places: BTreeMap<&str, usize> = said.keys().enumerate().map(|(place, name)| (*name, place)).collect();
    let named = said.iter().map(|(name, said)| Named {
        name: (*name).to_owned(),
        schema: said.schema,
        is_required: said.is_required,
        also_required: said.also_required.iter().filter_map(|other| places.get(other).copied()).collect(),
        dependent: said.dependent,
    });
    Ok(named.collect())
}
