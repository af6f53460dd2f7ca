//! The keywords of one schema, read as what the vocabulary says they are.

use std::borrow::Cow;

use quintet_platform::json::{Json, Number};

use super::decimal::Decimal;
use super::fault::{SchemaFault, shown};
use super::model::{Bound, NodeId};
use super::places::Places;

/// The keywords of a schema that is an object.
pub(super) struct Keywords<'a, 'j> {
    places: &'a Places<'j>,
    id: NodeId,
    schema: &'j Json,
}

impl<'a, 'j> Keywords<'a, 'j> {
    /// Those of the schema at a place.
    pub(super) fn of(places: &'a Places<'j>, id: NodeId) -> Keywords<'a, 'j> {
        Keywords { places, id, schema: places.schema(id) }
    }

    /// A fault at one of them.
    pub(super) fn fault(&self, keyword: &str, problem: impl Into<Cow<'static, str>>) -> SchemaFault {
        self.places.fault(self.id, keyword, problem)
    }

    /// What a keyword says.
    pub(super) fn get(&self, keyword: &str) -> Option<&'j Json> {
        self.schema.get(keyword)
    }

    /// The schema that a keyword holds.
    pub(super) fn schema(&self, keyword: &str) -> Option<NodeId> {
        self.places.id_of(self.get(keyword)?)
    }

    /// The schemas that a keyword holds as a list.
    pub(super) fn schemas(&self, keyword: &str) -> Vec<NodeId> {
        match self.get(keyword) {
            Some(Json::Array(schemas)) => schemas.iter().filter_map(|schema| self.places.id_of(schema)).collect(),
            _ => Vec::new(),
        }
    }

    /// The schemas that a keyword holds by names.
    pub(super) fn named_schemas(&self, keyword: &str) -> impl Iterator<Item = (&'j str, NodeId)> {
        let members = match self.get(keyword) {
            Some(Json::Object(members)) => members.as_slice(),
            _ => &[],
        };
        members.iter().filter_map(|(name, schema)| Some((name.as_str(), self.places.id_of(schema)?)))
    }

    /// A count from 0.
    pub(super) fn count(&self, keyword: &str) -> Result<Option<u64>, SchemaFault> {
        let Some(value) = self.get(keyword) else { return Ok(None) };
        let count = number(value).and_then(|number| Decimal::read(number.as_str())?.as_count());
        count.map(Some).ok_or_else(|| self.fault(keyword, "must be a whole number from 0"))
    }

    /// A number.
    pub(super) fn number(&self, keyword: &str) -> Result<Option<Bound<Decimal>>, SchemaFault> {
        let Some(value) = self.get(keyword) else { return Ok(None) };
        let Some(number) = number(value) else { return Err(self.fault(keyword, "must be a number")) };
        match Decimal::read(number.as_str()) {
            Some(value) => Ok(Some(Bound { value, shown: shown(number.as_str()) })),
            None => Err(self.fault(keyword, "has an exponent beyond all that is counted with")),
        }
    }

    /// A flag, which is not up if the keyword is not there.
    pub(super) fn flag(&self, keyword: &str) -> Result<bool, SchemaFault> {
        match self.get(keyword) {
            None => Ok(false),
            Some(Json::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.fault(keyword, "must be true or false")),
        }
    }

    /// A text.
    pub(super) fn text(&self, keyword: &str) -> Result<Option<&'j str>, SchemaFault> {
        match self.get(keyword) {
            None => Ok(None),
            Some(Json::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.fault(keyword, "must be a string")),
        }
    }

    /// Names, each once.
    pub(super) fn names(&self, keyword: &str) -> Result<Vec<&'j str>, SchemaFault> {
        let Some(value) = self.get(keyword) else { return Ok(Vec::new()) };
        names(value).ok_or_else(|| self.fault(keyword, "must be an array of strings, each once"))
    }

    /// Lists of names, by name.
    pub(super) fn named_names(&self, keyword: &str) -> Result<Vec<(&'j str, Vec<&'j str>)>, SchemaFault> {
        let members = match self.get(keyword) {
            None => return Ok(Vec::new()),
            Some(Json::Object(members)) => members,
            Some(_) => return Err(self.fault(keyword, "must be an object of arrays of strings")),
        };
        let read = |(name, value): &'j (String, Json)| Some((name.as_str(), names(value)?));
        let all: Option<Vec<_>> = members.iter().map(read).collect();
        all.ok_or_else(|| self.fault(keyword, "must be an object of arrays of strings, each string once"))
    }
}

fn number(value: &Json) -> Option<&Number> {
    match value {
        Json::Number(number) => Some(number),
        _ => None,
    }
}

fn names(value: &Json) -> Option<Vec<&str>> {
    let Json::Array(items) = value else { return None };
    let names: Vec<&str> = items.iter().map(Json::as_str).collect::<Option<_>>()?;
    let mut sorted = names.clone();
    sorted.sort_unstable();
    let is_once = sorted.array_windows().all(|[one, other]| one != other);
    is_once.then_some(names)
}
