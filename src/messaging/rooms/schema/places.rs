//! Where the schemas of a schema are: each place that holds one is found once, with the resource it belongs to and the
//! names under which it is referred to.

use std::borrow::Cow;
use std::collections::BTreeMap;

use quintet_platform::json::Json;

use super::fault::{SchemaFault, Step, pointer, shown};
use super::model::{Dynamic, NodeId, ResourceId};
use super::reference::{self, NO_BASE, Target, decoded, follow};

/// The one dialect that is read.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The keywords that hold schemas. `definitions` is what `$defs` was called before.
const HOLD_ONE: [&str; 11] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
const HOLD_LIST: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
const HOLD_NAMED: [&str; 5] = ["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"];

/// All places of a schema.
pub(super) struct Places<'j> {
    document: &'j Json,
    places: Vec<Place<'j>>,
    /// Where values lie in memory, by which a place is known that is come to in another way.
    known: BTreeMap<*const Json, NodeId>,
    resources: Vec<Resource<'j>>,
}

struct Place<'j> {
    schema: &'j Json,
    way: Way<'j>,
    resource: ResourceId,
    reference: Option<NodeId>,
    dynamic: Option<Dynamic>,
}

/// How a place was come to.
enum Way<'j> {
    Whole,
    /// From another place, by a keyword and what it holds.
    From(NodeId, &'j str, Option<Step<'j>>),
    /// By a reference to what no keyword holds.
    Pointer(String),
}

/// A schema with an identifier of its own.
struct Resource<'j> {
    uri: String,
    schema: &'j Json,
    anchors: BTreeMap<&'j str, NodeId>,
    dynamic_anchors: BTreeMap<&'j str, NodeId>,
}

impl<'j> Places<'j> {
    /// Finds all places of a document.
    ///
    /// # Errors
    /// Something that should be a schema is none, or a name or reference is wrong.
    pub(super) fn of(document: &'j Json) -> Result<Places<'j>, SchemaFault> {
        let mut places = Places { document, places: Vec::new(), known: BTreeMap::new(), resources: Vec::new() };
        let whole = Resource {
            uri: NO_BASE.to_owned(),
            schema: document,
            anchors: BTreeMap::new(),
            dynamic_anchors: BTreeMap::new(),
        };
        places.resources.push(whole);
        places.find(document, Way::Whole, ResourceId(0))?;
        // References may lead to more places, which have references.
        let mut place = 0;
        while place < places.places.len() {
            places.refer(NodeId(place))?;
            place += 1;
        }
        Ok(places)
    }

    /// All places, in the order of their ids.
    pub(super) fn ids(&self) -> impl Iterator<Item = NodeId> {
        (0..self.places.len()).map(NodeId)
    }

    /// The schema at a place.
    pub(super) fn schema(&self, id: NodeId) -> &'j Json {
        self.places.get(id.0).map_or(self.document, |place| place.schema)
    }

    /// The place of a schema that a keyword holds.
    pub(super) fn id_of(&self, schema: &'j Json) -> Option<NodeId> {
        self.known.get(&std::ptr::from_ref(schema)).copied()
    }

    /// The resource that a place belongs to.
    pub(super) fn resource(&self, id: NodeId) -> ResourceId {
        self.places.get(id.0).map_or(ResourceId(0), |place| place.resource)
    }

    /// What `$ref` and `$dynamicRef` of a place lead to.
    pub(super) fn references(&self, id: NodeId) -> (Option<NodeId>, Option<Dynamic>) {
        self.places.get(id.0).map_or((None, None), |place| (place.reference, place.dynamic.clone()))
    }

    /// The dynamic anchors of each resource.
    pub(super) fn dynamic_anchors(&self) -> Vec<BTreeMap<String, NodeId>> {
        let owned = |resource: &Resource<'j>| {
            resource.dynamic_anchors.iter().map(|(name, id)| ((*name).to_owned(), *id)).collect()
        };
        self.resources.iter().map(owned).collect()
    }

    /// A fault at a keyword of a place.
    pub(super) fn fault(&self, id: NodeId, keyword: &str, problem: impl Into<Cow<'static, str>>) -> SchemaFault {
        let steps = Some(Step::Member(keyword));
        SchemaFault::At { pointer: self.pointer(id, steps), problem: problem.into() }
    }

    fn pointer<'s>(&'s self, id: NodeId, further: impl IntoIterator<Item = Step<'s>>) -> String {
        let mut back: Vec<Step<'s>> = Vec::new();
        let mut beginning = "";
        let mut at = self.places.get(id.0);
        while let Some(place) = at {
            at = match &place.way {
                Way::Whole => None,
                Way::Pointer(pointer) => {
                    beginning = pointer;
                    None
                }
                Way::From(from, keyword, step) => {
                    back.extend(*step);
                    back.push(Step::Member(keyword));
                    self.places.get(from.0)
                }
            };
        }
        format!("{beginning}{}", pointer(back.into_iter().rev().chain(further)))
    }

    /// Takes in a schema and all that its keywords hold. Calls itself; the depth of documents is bounded by their reader.
    fn find(&mut self, schema: &'j Json, way: Way<'j>, resource: ResourceId) -> Result<NodeId, SchemaFault> {
        if let Some(known) = self.id_of(schema) {
            return Ok(known);
        }
        let id = NodeId(self.places.len());
        self.places.push(Place { schema, way, resource, reference: None, dynamic: None });
        self.known.insert(std::ptr::from_ref(schema), id);
        let members = match schema {
            Json::Bool(_) => return Ok(id),
            Json::Object(members) => members,
            _ => {
                let problem = "must be a schema: an object, true or false".into();
                return Err(SchemaFault::At { pointer: self.pointer(id, None), problem });
            }
        };
        let resource = self.identify(id, schema, resource)?;
        self.name(id, schema, resource)?;
        for (keyword, value) in members {
            self.find_below(id, keyword, value, resource)?;
        }
        Ok(id)
    }

    fn find_below(
        &mut self,
        id: NodeId,
        keyword: &'j str,
        value: &'j Json,
        resource: ResourceId,
    ) -> Result<(), SchemaFault> {
        let from = |step| Way::From(id, keyword, step);
        if HOLD_ONE.contains(&keyword) {
            if keyword == "items" && matches!(value, Json::Array(_)) {
                let problem = "must be one schema, for all items; those of the first items stand in prefixItems";
                return Err(self.fault(id, keyword, problem));
            }
            self.find(value, from(None), resource)?;
        } else if HOLD_LIST.contains(&keyword) {
            let Json::Array(schemas) = value else {
                return Err(self.fault(id, keyword, "must be an array of schemas"));
            };
            if schemas.is_empty() {
                return Err(self.fault(id, keyword, "must have at least one schema"));
            }
            for (place, schema) in schemas.iter().enumerate() {
                self.find(schema, from(Some(Step::Item(place))), resource)?;
            }
        } else if HOLD_NAMED.contains(&keyword) {
            let Json::Object(schemas) = value else {
                return Err(self.fault(id, keyword, "must be an object of schemas"));
            };
            for (name, schema) in schemas {
                self.find(schema, from(Some(Step::Member(name))), resource)?;
            }
        }
        Ok(())
    }

    /// `$schema` and `$id`: the resource that a schema belongs to.
    fn identify(&mut self, id: NodeId, schema: &'j Json, resource: ResourceId) -> Result<ResourceId, SchemaFault> {
        match schema.get("$schema").map(|dialect| dialect.as_str().map(|text| text.trim_end_matches('#'))) {
            None | Some(Some(DIALECT)) => {}
            Some(_) => return Err(self.fault(id, "$schema", format!("must be {DIALECT}, or be left out"))),
        }
        let Some(identifier) = schema.get("$id") else { return Ok(resource) };
        let Some(text) = identifier.as_str() else { return Err(self.fault(id, "$id", "must be a string")) };
        let base = self.resources.get(resource.0).map_or(NO_BASE, |resource| &resource.uri);
        let Target { document: uri, fragment } = reference::resolve(base, text);
        if fragment.is_some_and(|fragment| !fragment.is_empty()) {
            return Err(self.fault(id, "$id", "must have no fragment: a place is named with $anchor"));
        }
        // The whole is a resource from the beginning.
        if id == NodeId(0) {
            if let Some(whole) = self.resources.first_mut() {
                whole.uri = uri;
            }
            return Ok(ResourceId(0));
        }
        if self.resources.iter().any(|known| known.uri == uri) {
            return Err(self.fault(id, "$id", "is the identifier of another schema here"));
        }
        let own = ResourceId(self.resources.len());
        self.resources.push(Resource { uri, schema, anchors: BTreeMap::new(), dynamic_anchors: BTreeMap::new() });
        if let Some(place) = self.places.get_mut(id.0) {
            place.resource = own;
        }
        Ok(own)
    }

    /// `$anchor` and `$dynamicAnchor`
    fn name(&mut self, id: NodeId, schema: &'j Json, resource: ResourceId) -> Result<(), SchemaFault> {
        for (keyword, is_dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
            let Some(value) = schema.get(keyword) else { continue };
            let Some(name) = value.as_str().filter(|name| is_anchor(name)) else {
                let problem = "must be a name: letters, digits, \"-\", \"_\" and \".\", a letter or \"_\" first";
                return Err(self.fault(id, keyword, problem));
            };
            let Some(resource) = self.resources.get_mut(resource.0) else { continue };
            let earlier = resource.anchors.insert(name, id);
            if is_dynamic {
                resource.dynamic_anchors.insert(name, id);
            }
            // One schema may have the same name as both.
            if earlier.is_some_and(|earlier| earlier != id) {
                return Err(self.fault(id, keyword, "is the name of another schema here"));
            }
        }
        Ok(())
    }

    /// `$ref` and `$dynamicRef`
    fn refer(&mut self, id: NodeId) -> Result<(), SchemaFault> {
        let schema = self.schema(id);
        let reference = match schema.get("$ref") {
            Some(reference) => Some(self.target(id, "$ref", reference)?.0),
            None => None,
        };
        let dynamic = match schema.get("$dynamicRef") {
            Some(reference) => {
                let (target, anchor) = self.target(id, "$dynamicRef", reference)?;
                let is_dynamic = |name: &&str| {
                    let resource = self.resources.get(self.resource(target).0);
                    resource.is_some_and(|resource| resource.dynamic_anchors.get(name) == Some(&target))
                };
                let anchor = anchor.filter(is_dynamic).map(str::to_owned);
                Some(Dynamic { target, anchor })
            }
            None => None,
        };
        if let Some(place) = self.places.get_mut(id.0) {
            (place.reference, place.dynamic) = (reference, dynamic);
        }
        Ok(())
    }

    /// The place that a reference leads to, and the anchor that it names.
    fn target(
        &mut self,
        id: NodeId,
        keyword: &'static str,
        reference: &'j Json,
    ) -> Result<(NodeId, Option<&'j str>), SchemaFault> {
        let Some(text) = reference.as_str() else { return Err(self.fault(id, keyword, "must be a string")) };
        let base = self.resources.get(self.resource(id).0).map_or(NO_BASE, |resource| &resource.uri);
        let Target { document, fragment } = reference::resolve(base, text);
        let Some(place) = self.resources.iter().position(|resource| resource.uri == document) else {
            let problem =
                format!("leads to {:?}, which is not part of this schema; nothing is fetched", shown(&document));
            return Err(self.fault(id, keyword, problem));
        };
        let nowhere = || self.fault(id, keyword, format!("leads to {:?}, which is not there", shown(text)));
        let Some(resource) = self.resources.get(place) else { return Err(nowhere()) };
        let Some(fragment) = fragment.map_or(Some(Cow::Borrowed("")), decoded) else { return Err(nowhere()) };
        if fragment.is_empty() || fragment.starts_with('/') {
            let Some(schema) = follow(resource.schema, &fragment) else { return Err(nowhere()) };
            if let Some(known) = self.id_of(schema) {
                return Ok((known, None));
            }
            // Where the resource is in the document does not matter to whoever wrote the reference.
            let way = Way::Pointer(shown(&fragment));
            return Ok((self.find(schema, way, ResourceId(place))?, None));
        }
        // The anchor is told by its name in the schema, which lives as long as the schema.
        match resource.anchors.get_key_value(fragment.as_ref()) {
            Some((name, target)) => Ok((*target, Some(name))),
            None => Err(nowhere()),
        }
    }
}

fn is_anchor(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
