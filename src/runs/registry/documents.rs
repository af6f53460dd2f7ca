//! The documents of a registry: indexes and manifests, OCI's and Docker's, read for what a pull needs.

use quintet_runtime::Digest;
use serde::Deserialize;

use super::model::PullError;

pub(super) const INDEX: &str = "application/vnd.oci.image.index.v1+json";
pub(super) const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const DOCKER_INDEX: &str = "application/vnd.docker.distribution.manifest.list.v2+json";
const DOCKER_MANIFEST: &str = "application/vnd.docker.distribution.manifest.v2+json";

/// What a registry is asked for.
pub(super) const ACCEPTED: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.docker.distribution.manifest.v2+json";

/// Some content, by its digest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Descriptor {
    #[serde(default)]
    pub media_type: String,
    pub digest: Digest,
    pub size: u64,
    #[serde(default)]
    platform: Option<Platform>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Platform {
    #[serde(default)]
    os: String,
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    variant: Option<String>,
}

/// A manifest: what an image is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    /// Its kind, as a layout names it.
    pub media_type: String,
    pub config: Descriptor,
    pub layers: Vec<Descriptor>,
}

/// What a document turned out to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Document {
    /// Where the image for this machine is.
    Index(Descriptor),
    /// An image.
    Manifest(Manifest),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Any {
    schema_version: u32,
    media_type: Option<String>,
    manifests: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
}

fn bad<T>(reason: &str) -> Result<T, PullError> {
    Err(PullError::BadImage(reason.to_owned()))
}

/// Reads a document. `said` is what the registry or an index calls it. A document that could be read both ways is
/// refused: its digest would stand for two images.
pub(super) fn read(content: &[u8], said: &str) -> Result<Document, PullError> {
    let said = said.split(';').next().unwrap_or_default().trim();
    let any: Any = match serde_json::from_slice(content) {
        Ok(any) => any,
        Err(_) => return bad("its manifest is not one of the kinds that are supported"),
    };
    if any.schema_version != 2 {
        return bad("its manifest is of another version than 2");
    }
    let known = [INDEX, MANIFEST, DOCKER_INDEX, DOCKER_MANIFEST];
    let named = any.media_type.as_deref().filter(|own| !own.is_empty());
    let said = known.contains(&said).then_some(said);
    if let (Some(named), Some(said)) = (named, said)
        && named != said
    {
        return bad("its manifest calls itself something else than the registry does");
    }
    let kind = said.or(named);
    match (any.manifests, any.config, any.layers) {
        (Some(manifests), None, None) if kind.is_none_or(|kind| kind == INDEX || kind == DOCKER_INDEX) => {
            choose(manifests).map(Document::Index)
        }
        (None, Some(config), Some(layers)) if kind.is_none_or(|kind| kind == MANIFEST || kind == DOCKER_MANIFEST) => {
            let media_type = kind.unwrap_or(MANIFEST).to_owned();
            Ok(Document::Manifest(Manifest { media_type, config, layers }))
        }
        _ => bad("its manifest is not one of the kinds that are supported"),
    }
}

/// The first that is for this machine; one without a variant goes before one that may ask for a newer processor.
fn choose(manifests: Vec<Descriptor>) -> Result<Descriptor, PullError> {
    let fits = |platform: &Platform| platform.os == "linux" && platform.architecture == "amd64";
    let rank = |descriptor: &Descriptor| match &descriptor.platform {
        Some(platform) if fits(platform) => Some(match platform.variant.as_deref() {
            None | Some("" | "v1") => 0,
            Some(_) => 2,
        }),
        Some(_) => None,
        None => Some(1),
    };
    let ranked = manifests.into_iter().filter_map(|descriptor| Some((rank(&descriptor)?, descriptor)));
    match ranked.min_by_key(|(rank, _)| *rank) {
        Some((_, descriptor)) => Ok(descriptor),
        None => bad("nothing in it is for linux on amd64"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn descriptor(number: u8, platform: Value) -> Value {
        json!({ "mediaType": MANIFEST, "digest": Digest::of(&[number]).as_str(), "size": number, "platform": platform })
    }

    fn chosen(manifests: Vec<Value>) -> Option<u64> {
        let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": manifests });
        match read(&serde_json::to_vec(&index).unwrap(), INDEX) {
            Ok(Document::Index(descriptor)) => Some(descriptor.size),
            Ok(other) => panic!("{other:?}"),
            Err(_) => None,
        }
    }

    #[test]
    fn the_image_for_this_machine_is_chosen() {
        let of = |os: &str, architecture: &str| json!({ "os": os, "architecture": architecture });
        let v3 = json!({ "os": "linux", "architecture": "amd64", "variant": "v3" });
        let attestation = of("unknown", "unknown");
        assert_eq!(chosen(vec![descriptor(1, of("linux", "arm64")), descriptor(2, of("linux", "amd64"))]), Some(2));
        assert_eq!(chosen(vec![descriptor(1, v3.clone()), descriptor(2, of("linux", "amd64"))]), Some(2));
        assert_eq!(chosen(vec![descriptor(1, v3), descriptor(2, of("windows", "amd64"))]), Some(1));
        assert_eq!(chosen(vec![descriptor(1, attestation.clone()), descriptor(2, json!(null))]), Some(2));
        assert_eq!(chosen(vec![descriptor(1, attestation)]), None);
        assert_eq!(chosen(vec![]), None);
    }

    #[test]
    fn what_could_be_two_things_is_neither() {
        let manifest = json!({ "schemaVersion": 2, "config": descriptor(1, json!(null)), "layers": [] });
        let with = |key: &str, value: Value| {
            let mut document = manifest.clone();
            document[key] = value;
            document
        };
        let reads = |document: &Value, said: &str| read(&serde_json::to_vec(document).unwrap(), said).is_ok();
        for said in
            ["", MANIFEST, DOCKER_MANIFEST, "application/json", "application/vnd.oci.image.manifest.v1+json; a=b"]
        {
            assert!(reads(&manifest, said), "{said}");
        }
        assert!(reads(&with("mediaType", json!(DOCKER_MANIFEST)), DOCKER_MANIFEST));
        for (document, said) in [
            (with("mediaType", json!(DOCKER_MANIFEST)), MANIFEST),
            (with("mediaType", json!(INDEX)), ""),
            (with("manifests", json!([])), ""),
            (with("schemaVersion", json!(1)), ""),
            (with("layers", json!(null)), ""),
            (with("config", json!({ "digest": "md5:1", "size": 1 })), ""),
            (with("config", json!({ "digest": Digest::of(b"").as_str(), "size": -1 })), ""),
            (manifest.clone(), INDEX),
            (json!([]), ""),
            (json!({ "schemaVersion": 2 }), ""),
        ] {
            assert!(!reads(&document, said), "{document} {said}");
        }
        assert!(read(b"<html>", "text/html").is_err());
    }
}
