//! Signatures of requests to AWS, version 4: for `POST` of a JSON document, which is all that we send.

use base_secret::SecretValue;
use data_encoding::HEXLOWER;
use ring::{digest, hmac};
use zeroize::Zeroizing;

/// Who signs.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub(crate) id: String,
    pub(crate) key: SecretValue,
    /// For credentials that pass.
    pub(crate) session: Option<SecretValue>,
}

/// What is signed.
pub(crate) struct Letter<'a> {
    pub(crate) host: &'a str,
    pub(crate) region: &'a str,
    pub(crate) service: &'a str,
    /// The operation: the header `X-Amz-Target`.
    pub(crate) target: &'a str,
    pub(crate) body: &'a [u8],
    /// `20260131T120000Z`.
    pub(crate) time: &'a str,
}

pub(crate) const CONTENT_TYPE: &str = "application/x-amz-json-1.1";

fn sha256(bytes: &[u8]) -> String {
    HEXLOWER.encode(digest::digest(&digest::SHA256, bytes).as_ref())
}

fn keyed(key: &[u8], bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key);
    Zeroizing::new(hmac::sign(&key, bytes).as_ref().to_vec())
}

/// The value of the header `Authorization`.
pub(crate) fn authorization(letter: &Letter<'_>, by: &Credentials) -> String {
    let session = by.session.as_ref().and_then(SecretValue::expose_text);
    let mut headers = vec![
        ("content-type", CONTENT_TYPE),
        ("host", letter.host),
        ("x-amz-date", letter.time),
        ("x-amz-target", letter.target),
    ];
    headers.extend(session.map(|token| ("x-amz-security-token", token)));
    headers.sort_unstable();
    let lines: String = headers.iter().map(|(name, value)| format!("{name}:{}\n", value.trim())).collect();
    let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
    let asked = Zeroizing::new(format!("POST\n/\n\n{lines}\n{names}\n{}", sha256(letter.body)));
    let day = letter.time.get(..8).unwrap_or_default();
    let scope = format!("{day}/{}/{}/aws4_request", letter.region, letter.service);
    let told = format!("AWS4-HMAC-SHA256\n{}\n{scope}\n{}", letter.time, sha256(asked.as_bytes()));
    let mut key = Zeroizing::new(b"AWS4".to_vec());
    key.extend_from_slice(by.key.expose());
    for part in [day, letter.region, letter.service, "aws4_request"] {
        key = keyed(&key, part.as_bytes());
    }
    let signature = HEXLOWER.encode(&keyed(&key, told.as_bytes()));
    format!("AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}", by.id)
}

/// `20260131T120000Z` of seconds since 1970.
pub(crate) fn stamp(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to a date of the Gregorian calendar, counted from March so that the leap day is the last (Howard Hinnant).
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, year) = (if month < 10 { month + 3 } else { month - 9 }, year_of_era + era * 400);
    let year = if month <= 2 { year + 1 } else { year };
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with botocore 1.44: `SigV4Auth(Credentials(…), "secretsmanager", "eu-west-1").add_auth(request)`.
    #[test]
    fn a_signature_is_that_of_botocore() {
        let by = Credentials {
            id: "AKIDEXAMPLE".to_owned(),
            key: SecretValue::from("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned()),
            session: Some(SecretValue::from("the-session-token".to_owned())),
        };
        let letter = Letter {
            host: "secretsmanager.eu-west-1.amazonaws.com",
            region: "eu-west-1",
            service: "secretsmanager",
            target: "secretsmanager.GetSecretValue",
            body: br#"{"SecretId":"db"}"#,
            time: "20260131T120000Z",
        };
        let text = authorization(&letter, &by);
        assert_eq!(
            text,
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260131/eu-west-1/secretsmanager/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-security-token;x-amz-target, \
             Signature=9c9e3a505f71a619d48100a74877c7d8fc13913dbb203b820104cbaaa529a65c"
        );
    }

    #[test]
    fn times_are_dates() {
        for (seconds, text) in [
            (0, "19700101T000000Z"),
            (951_827_696, "20000229T123456Z"),
            (1_769_860_800, "20260131T120000Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(stamp(seconds), text);
        }
    }
}
