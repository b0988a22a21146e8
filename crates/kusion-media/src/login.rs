//! Where the credentials of a backend come from: the names of the places, never what stands there.

use crate::address::{Address, Kind};
use crate::{Surroundings, password_in, profile_in};

/// Returns where the login of a backend is taken from, in words; `None` if none was found and the service decides by itself.
#[must_use]
pub fn login_source(address: &Address, around: &Surroundings) -> Option<String> {
    let first = |names: &[&str]| {
        let set = names.iter().find(|name| around.variable(name).is_some());
        set.map(|name| format!("the variable {name}"))
    };
    match address.kind {
        Kind::File => None,
        Kind::S3 if address.has_password() => Some("the configuration of the backend".to_owned()),
        Kind::S3 => first(&["AWS_ACCESS_KEY_ID"])
            .or_else(|| aws_file(address, around))
            .or_else(|| first(&["AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"])),
        Kind::Google => first(&[
            "GOOGLE_SERVICE_ACCOUNT_KEY",
            "GOOGLE_SERVICE_ACCOUNT",
            "GOOGLE_SERVICE_ACCOUNT_PATH",
            "GOOGLE_APPLICATION_CREDENTIALS",
        ]),
        Kind::Azure => first(&[
            "AZURE_STORAGE_ACCOUNT_KEY",
            "AZURE_STORAGE_SAS_KEY",
            "AZURE_STORAGE_TOKEN",
            "AZURE_CLIENT_SECRET",
            "AZURE_FEDERATED_TOKEN_FILE",
        ]),
        Kind::Postgres if address.has_password() => Some("the address itself".to_owned()),
        Kind::Postgres => first(&["PGPASSWORD"]).or_else(|| pg_file(address, around)),
        Kind::Kubernetes => Some(match address.options.get("kubeconfig") {
            Some(file) => format!("the kubeconfig {file}"),
            None => first(&["KUBECONFIG"]).unwrap_or_else(|| "~/.kube/config".to_owned()),
        }),
    }
}

fn aws_file(address: &Address, around: &Surroundings) -> Option<String> {
    let named = address.options.get("profile").map(String::as_str).or_else(|| around.variable("AWS_PROFILE"));
    let profile = named.unwrap_or("default");
    let found = profile_in(&around.file("AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials"), profile);
    found.access_key_id.map(|_| format!("the profile `{profile}` of ~/.aws/credentials"))
}

fn pg_file(address: &Address, around: &Surroundings) -> Option<String> {
    let (host, port) = address.root.rsplit_once(':').unwrap_or((&address.root, "5432"));
    let user = address.login.user.as_deref().or_else(|| around.variable("PGUSER")).unwrap_or("postgres");
    let found = password_in(&around.file("PGPASSFILE", ".pgpass"), [host, port, &address.prefix, user]);
    found.map(|_| "~/.pgpass".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_named_and_values_are_not() {
        let around = |pairs: &[(&str, &str)]| Surroundings {
            variables: pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
            ..Surroundings::default()
        };
        let told = |address: &str, pairs: &[(&str, &str)]| {
            login_source(&Address::parse(address).unwrap(), &around(pairs))
        };
        let told_s3 = told("s3://b", &[("AWS_ACCESS_KEY_ID", "canary")]).unwrap();
        assert_eq!(told_s3, "the variable AWS_ACCESS_KEY_ID");
        assert_eq!(told("s3://b", &[]), None);
        assert_eq!(told("postgres://li:canary@h/d", &[]).unwrap(), "the address itself");
        assert_eq!(told("postgres://li@h/d", &[("PGPASSWORD", "c")]).unwrap(), "the variable PGPASSWORD");
        assert_eq!(told("kubernetes://ns", &[]).unwrap(), "~/.kube/config");
        assert_eq!(told("file:///x", &[]), None);
    }
}
