//! The compressed headers of SPDY/3: one zlib stream over all frames, with a dictionary of its own.

use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_HAS_MORE_INPUT;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// The words of SPDY/3's dictionary: each with its length before it.
const WORDS: &str = "options head post put delete trace accept accept-charset accept-encoding accept-language \
    accept-ranges age allow authorization cache-control connection content-base content-encoding content-language \
    content-length content-location content-md5 content-range content-type date etag expect expires from host if-match \
    if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma \
    proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade \
    user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie \
    keep-alive origin";
/// Its end, which has no lengths.
const END: &str = "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 \
    Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not \
    Found500 Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov \
    Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,\
    application/xml,application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,\
    sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

fn dictionary() -> Vec<u8> {
    let mut out = Vec::new();
    for word in WORDS.split_whitespace() {
        let word = word.replace('_', " ");
        out.extend_from_slice(&(word.len() as u32).to_be_bytes());
        out.extend_from_slice(word.as_bytes());
    }
    out.extend_from_slice(END.as_bytes());
    out
}

/// A window of deflate; a power of two.
const WINDOW: usize = 32 << 10;
/// The zlib header: two bytes, and four that name the dictionary.
const HEADER: usize = 6;
/// Header blocks longer than this are nobody's.
const LONGEST: usize = 64 << 10;

/// The reading side of the stream.
pub(super) struct Headers {
    state: Box<DecompressorOxide>,
    window: Vec<u8>,
    at: usize,
    begun: bool,
}

impl Headers {
    pub(super) fn new() -> Headers {
        let mut window = dictionary();
        let at = window.len();
        window.resize(WINDOW, 0);
        Headers { state: Box::default(), window, at, begun: false }
    }

    /// Reads a header block: pairs of name and value. `None` when it is not one.
    pub(super) fn read(&mut self, block: &[u8]) -> Option<Vec<(String, String)>> {
        let block = match std::mem::replace(&mut self.begun, true) {
            true => block,
            false => block.get(HEADER..)?,
        };
        pairs(&self.inflate(block)?)
    }

    fn inflate(&mut self, mut block: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        loop {
            let (status, read, made) =
                decompress(&mut self.state, block, &mut self.window, self.at, TINFL_FLAG_HAS_MORE_INPUT);
            out.extend_from_slice(self.window.get(self.at..self.at + made)?);
            self.at = (self.at + made) % WINDOW;
            block = block.get(read..)?;
            if out.len() > LONGEST {
                return None;
            }
            match status {
                TINFLStatus::HasMoreOutput => {}
                TINFLStatus::NeedsMoreInput if block.is_empty() => return Some(out),
                _ => return None,
            }
        }
    }
}

/// A count, then for each pair two texts with their lengths.
fn pairs(mut bytes: &[u8]) -> Option<Vec<(String, String)>> {
    let number = |bytes: &mut &[u8]| -> Option<usize> {
        let (first, rest) = bytes.split_first_chunk::<4>()?;
        *bytes = rest;
        usize::try_from(u32::from_be_bytes(*first)).ok()
    };
    let text = |bytes: &mut &[u8]| -> Option<String> {
        let length = number(bytes)?;
        let (text, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(String::from_utf8_lossy(text).into_owned())
    };
    let (first, rest) = bytes.split_first_chunk::<4>()?;
    bytes = rest;
    let count = u32::from_be_bytes(*first).min(1000);
    (0..count).map(|_| Some((text(&mut bytes)?.to_ascii_lowercase(), text(&mut bytes)?))).collect()
}

/// An empty header block: the first of a connection begins the stream, without a dictionary, with stored bytes.
pub(super) fn no_headers(first: bool) -> Vec<u8> {
    // The count zero, then an empty block: readers hand out what they have when they see one.
    let block: &[u8] = &[0, 4, 0, 0xfb, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
    match first {
        true => [&[0x78, 0x01], block].concat(),
        false => block.to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dictionary_is_that_of_the_protocol() {
        let bytes = dictionary();
        let sum = bytes.iter().fold((1u32, 0u32), |(a, b), byte| {
            let a = (a + u32::from(*byte)) % 65_521;
            (a, (b + a) % 65_521)
        });
        assert_eq!((bytes.len(), sum.1 << 16 | sum.0), (1423, 0xe3c6_a7c2));
    }

    #[test]
    fn headers_of_two_streams_are_read_from_one_zlib_stream() {
        let mut headers = Headers::new();
        let blocks: [&[u8]; 2] = [
            &[
                120, 249, 227, 198, 167, 194, 2, 37, 58, 72, 249, 91, 4, 78, 234, 22, 6, 22, 6, 64, 154, 179,
                8, 18, 95, 153, 160, 116, 204, 104, 0, 78, 137, 37, 69, 169, 137, 185, 208, 194, 134, 53, 21,
                20, 21, 0, 0, 0, 0, 255, 255,
            ],
            &[34, 83, 51, 168, 164, 74, 4, 0, 0, 0, 255, 255],
        ];
        for (block, kind) in blocks.iter().zip(["error", "data"]) {
            let read = headers.read(block).unwrap();
            let wanted = [("port", "8080"), ("requestid", "0"), ("streamtype", kind)];
            assert_eq!(read, wanted.map(|(key, value)| (key.to_owned(), value.to_owned())));
        }
    }

    #[test]
    fn garbage_is_refused() {
        assert!(Headers::new().read(b"").is_none());
        assert!(Headers::new().read(&[0xff; 100]).is_none());
        assert!(pairs(&[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]).is_none());
    }
}
