//! Addresses in answers of registries, which may be relative to the answer.

/// The host of an address that begins with `https://`.
pub(crate) fn host(url: &str) -> &str {
    let rest = url.strip_prefix("https://").unwrap_or(url);
    rest.split(['/', '?', '#']).next().unwrap_or(rest)
}

/// An address as seen from another. Only HTTPS comes out.
pub(crate) fn join(base: &str, reference: &str) -> Result<String, String> {
    let told = || format!("`{}` is no address that begins with https://", reference.escape_debug());
    if reference.is_empty() || reference.contains(|c: char| c.is_control() || c == ' ' || c == '\\') {
        return Err(told());
    }
    let scheme = reference.split_once(':').is_some_and(|(scheme, _)| {
        !scheme.is_empty() && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    });
    if reference.starts_with("https://") {
        return if host(reference).is_empty() || host(reference).contains('@') {
            Err(told())
        } else {
            Ok(reference.to_owned())
        };
    }
    if scheme {
        return Err(told());
    }
    if let Some(rest) = reference.strip_prefix("//") {
        return join(base, &format!("https://{rest}"));
    }
    let origin = format!("https://{}", host(base));
    let path = base.get(origin.len()..).unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let (rest, query) = reference.find(['?', '#']).map_or((reference, ""), |at| reference.split_at(at));
    let folder =
        if rest.starts_with('/') { "" } else { path.rsplit_once('/').map_or("", |(folder, _)| folder) };
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(rest.split('/')).filter(|part| !part.is_empty()) {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let slash = if rest.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    Ok(format!("{origin}/{}{slash}{query}", parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_seen_from_the_answer() {
        let base = "https://r.example:8443/v1/providers/a/b/1.0.0/download/linux/amd64?x=1";
        for (reference, wanted) in [
            ("https://cdn.example/a.zip?sig=a/b", "https://cdn.example/a.zip?sig=a/b"),
            ("//cdn.example/a.zip", "https://cdn.example/a.zip"),
            ("/files/a.zip", "https://r.example:8443/files/a.zip"),
            ("a.zip", "https://r.example:8443/v1/providers/a/b/1.0.0/download/linux/a.zip"),
            ("../../../a.zip?t=1", "https://r.example:8443/v1/providers/a/b/a.zip?t=1"),
            ("../../../../../../../../../..", "https://r.example:8443/"),
            ("./sub/", "https://r.example:8443/v1/providers/a/b/1.0.0/download/linux/sub/"),
        ] {
            assert_eq!(join(base, reference).unwrap(), wanted);
        }
        for wrong in [
            "",
            "http://x/a",
            "ftp://x",
            "file:///etc/passwd",
            "https://",
            "https://u:p@x/",
            "a b",
            "javascript:x",
            "a\nb",
        ] {
            assert!(join(base, wrong).is_err(), "{wrong}");
        }
    }
}
