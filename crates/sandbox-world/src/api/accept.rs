//! In which form an answer is wanted, from the Accept header.

use kube_meaning::status::Refusal;

use super::respond::not_acceptable;

/// The form of objects in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Whole objects.
    Whole,
    /// A table for people; the flag says that the older version of it was asked for.
    Table,
    /// Only type and metadata.
    Metadata,
}

/// One media type of an Accept header.
struct Media<'a> {
    name: &'a str,
    target: &'a str,
    group: &'a str,
    version: &'a str,
}

fn medias(accept: &str) -> impl Iterator<Item = Media<'_>> {
    accept.split(',').map(|part| {
        let mut words = part.split(';').map(str::trim);
        let mut media = Media { name: words.next().unwrap_or_default(), target: "", group: "", version: "" };
        for word in words {
            match word.split_once('=') {
                Some(("as", value)) => media.target = value,
                Some(("g", value)) => media.group = value,
                Some(("v", value)) => media.version = value,
                _ => {}
            }
        }
        media
    })
}

fn is_json(name: &str) -> bool {
    matches!(name, "application/json" | "*/*" | "application/*")
}

/// The form of objects that a client takes first, of those that exist.
pub(crate) fn form(accept: Option<&str>) -> Result<Form, Refusal> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else { return Ok(Form::Whole) };
    for media in medias(accept) {
        if !is_json(media.name) {
            continue;
        }
        let known = media.group == "meta.k8s.io" && matches!(media.version, "v1" | "v1beta1");
        match media.target {
            "" => return Ok(Form::Whole),
            "Table" if known => return Ok(Form::Table),
            "PartialObjectMetadata" | "PartialObjectMetadataList" if known => return Ok(Form::Metadata),
            _ => {}
        }
    }
    Err(not_acceptable(&["application/json"]))
}

/// Whether plain JSON is taken.
pub(crate) fn takes_json(accept: Option<&str>) -> bool {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else { return true };
    medias(accept).any(|media| (is_json(media.name) || media.name == "text/*") && media.target.is_empty())
}

/// How discovery is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiscoveryForm {
    Aggregated,
    Legacy,
}

/// The form of discovery that a client takes first, of those that exist.
pub(crate) fn discovery_form(accept: Option<&str>) -> Result<DiscoveryForm, Refusal> {
    let Some(accept) = accept.filter(|accept| !accept.trim().is_empty()) else {
        return Ok(DiscoveryForm::Legacy);
    };
    for media in medias(accept).filter(|media| is_json(media.name)) {
        match media.target {
            "" => return Ok(DiscoveryForm::Legacy),
            "APIGroupDiscoveryList" if media.group == "apidiscovery.k8s.io" && media.version == "v2" => {
                return Ok(DiscoveryForm::Aggregated);
            }
            _ => {}
        }
    }
    Err(not_acceptable(&["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_form_that_exists_is_taken() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        assert_eq!(form(Some(table)).unwrap(), Form::Table);
        assert_eq!(form(None).unwrap(), Form::Whole);
        assert_eq!(form(Some("application/vnd.kubernetes.protobuf,application/json")).unwrap(), Form::Whole);
        assert_eq!(form(Some("application/json;as=Table;v=v9;g=meta.k8s.io")).unwrap_err().code, 406);
        assert_eq!(
            form(Some("application/json;as=Table;v=v9;g=meta.k8s.io,application/json")).unwrap(),
            Form::Whole
        );
        assert_eq!(form(Some("application/vnd.kubernetes.protobuf")).unwrap_err().code, 406);
    }

    #[test]
    fn discovery_is_aggregated_when_it_is_asked_for_first() {
        let both = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
        assert_eq!(discovery_form(Some(both)).unwrap(), DiscoveryForm::Aggregated);
        assert_eq!(discovery_form(Some("application/json")).unwrap(), DiscoveryForm::Legacy);
        let old = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
        assert_eq!(discovery_form(Some(old)).unwrap_err().code, 406);
    }
}
