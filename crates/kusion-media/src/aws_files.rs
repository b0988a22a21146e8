//! The files in which the tools of AWS keep logins: `~/.aws/credentials` and `~/.aws/config`.

use std::fmt;

/// What a profile says.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AwsProfile {
    pub access_key_id: Option<String>,
    pub secret_access_key: Option<String>,
    pub session_token: Option<String>,
    pub region: Option<String>,
}

impl fmt::Debug for AwsProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AwsProfile").field("region", &self.region).finish_non_exhaustive()
    }
}

/// Reads one profile (`[name]`, or `[profile name]`); lines that are neither a section nor a setting are passed by.
#[must_use]
pub fn profile_in(text: &str, name: &str) -> AwsProfile {
    let (mut found, mut inside) = (AwsProfile::default(), false);
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with(['#', ';'])) {
        if let Some(section) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            let section = section.trim();
            inside = section.strip_prefix("profile ").map_or(section, str::trim) == name;
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| inside) else { continue };
        let slot = match key.trim() {
            "aws_access_key_id" => &mut found.access_key_id,
            "aws_secret_access_key" => &mut found.secret_access_key,
            "aws_session_token" => &mut found.session_token,
            "region" => &mut found.region,
            _ => continue,
        };
        *slot = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_named_profile_is_read() {
        let text = "[default]\naws_access_key_id = A\naws_secret_access_key=s=1\n# x\n[profile ci]\nregion = eu-west-1\nnonsense\n";
        let default = profile_in(text, "default");
        assert_eq!(
            (default.access_key_id.as_deref(), default.secret_access_key.as_deref()),
            (Some("A"), Some("s=1"))
        );
        assert_eq!(default.region, None);
        assert_eq!(profile_in(text, "ci").region.as_deref(), Some("eu-west-1"));
        assert_eq!(profile_in(text, "other"), AwsProfile::default());
        assert!(!format!("{default:?}").contains("s=1"));
    }
}
