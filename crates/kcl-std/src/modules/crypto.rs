//! `crypto`: digests as lower-case hex, and random identifiers.

use std::path::Path;

use data_encoding::HEXLOWER;
use encoding_rs::Encoding;
use kcl_value::Value;
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

use super::text;
use crate::{Args, Error, FileTask, Host, Mistake};

type Answer = Result<Value, Error>;

/// Returns the bytes of `value` in `encoding`, a WHATWG label.
fn encoded(host: &mut dyn Host, args: Args<'_>) -> Result<Vec<u8>, Error> {
    let value = text(args, 0, "value");
    host.charge(value.len() as u64 / 16)?;
    let Some(label) = args.get(1, "encoding").and_then(Value::as_str) else {
        return Ok(value.as_bytes().to_vec());
    };
    let unknown = || Mistake::UnknownEncoding { label: label.into() };
    let encoding = Encoding::for_label(label.as_bytes()).ok_or_else(unknown)?;
    let (bytes, _, unmappable) = encoding.encode(value);
    if unmappable {
        return Err(Mistake::NotEncodable { label: label.into() }.into());
    }
    Ok(bytes.into_owned())
}

fn hex(bytes: &[u8]) -> Answer {
    Ok(Value::from(HEXLOWER.encode(bytes)))
}

/// `md5(value, encoding)`.
pub(crate) fn md5(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    hex(&Md5::digest(encoded(host, args)?))
}

/// `sha1(value, encoding)`.
pub(crate) fn sha1(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    hex(&Sha1::digest(encoded(host, args)?))
}

/// `sha224(value, encoding)`.
pub(crate) fn sha224(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    hex(&Sha224::digest(encoded(host, args)?))
}

/// `sha256(value, encoding)`.
pub(crate) fn sha256(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    hex(&Sha256::digest(encoded(host, args)?))
}

/// `sha384(value, encoding)`.
pub(crate) fn sha384(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    hex(&Sha384::digest(encoded(host, args)?))
}

/// `sha512(value, encoding)`.
pub(crate) fn sha512(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    hex(&Sha512::digest(encoded(host, args)?))
}

/// `blake3(value, encoding)`.
pub(crate) fn blake3(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    hex(blake3::hash(&encoded(host, args)?).as_bytes())
}

/// `filesha256(filepath)`.
pub(crate) fn file_sha256(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let path = text(args, 0, "filepath");
    let failed = |why| super::file::failed(FileTask::Digest, path, why);
    let bytes = host.read_file(Path::new(path)).map_err(failed)?;
    hex(&Sha256::digest(bytes))
}

/// `uuid()`: version 4.
pub(crate) fn uuid(host: &mut dyn Host, _: &Value, _: Args<'_>) -> Answer {
    let mut bytes = host.random().map_err(|why| Mistake::NoRandom { why })?;
    bytes[6] = bytes[6] & 0x0F | 0x40;
    bytes[8] = bytes[8] & 0x3F | 0x80;
    let digits = HEXLOWER.encode(&bytes);
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(Value::from(parts.join("-")))
}
