//! A small HTTP/1.1 client for the plane's plain-text proxy (`kubectl proxy`), with one kept connection.
//!
//! In: method, path, content type, body. Out: status and body. It knows just enough of the protocol for JSON requests
//! and answers (length, chunks, keep-alive); it follows no redirects and streams nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::{Context, Error};

/// Largest answer that is accepted; the OpenAPI documents are the largest ones asked for.
const LIMIT: u64 = 256 << 20;

/// What the server answered.
#[derive(Debug, Clone)]
pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
}

impl Response {
    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A client with one connection; cheap to make, one per thread.
#[derive(Debug)]
pub struct Client {
    address: String,
    connection: Option<BufReader<TcpStream>>,
    /// Headers of every request, as lines.
    headers: String,
}

impl Client {
    /// `address` is `host:port`.
    pub fn new(address: impl Into<String>) -> Self {
        Self { address: address.into(), connection: None, headers: String::new() }
    }

    /// Sends a header with every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    /// GET.
    pub fn get(&mut self, path: &str) -> Result<Response, Error> {
        self.request("GET", path, "", &[])
    }

    /// One request; a kept connection that the server closed in between is opened again.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        content_type: &str,
        body: &[u8],
    ) -> Result<Response, Error> {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\nUser-Agent: kusion-testenv\r\nContent-Length: {}\r\n",
            self.address,
            body.len()
        );
        if !content_type.is_empty() {
            head.push_str(&format!("Content-Type: {content_type}\r\n"));
        }
        head.push_str(&self.headers);
        head.push_str("\r\n");
        let mut message = head.into_bytes();
        message.extend_from_slice(body);
        let kept = self.connection.is_some();
        match self.exchange(&message) {
            Ok(Some(response)) => Ok(response),
            // Closed before the first byte of an answer: the usual end of an idle connection.
            Ok(None) if kept => match self.exchange(&message)? {
                Some(response) => Ok(response),
                None => Err(Error::new(format!("{method} {path}: connection closed without an answer"))),
            },
            Ok(None) => Err(Error::new(format!("{method} {path}: connection closed without an answer"))),
            Err(error) => Err(Error::new(format!("{method} {path}: {error}"))),
        }
    }

    fn exchange(&mut self, message: &[u8]) -> Result<Option<Response>, Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let stream = TcpStream::connect(&self.address)
                    .context(|| format!("connecting to {}", self.address))?;
                stream
                    .set_read_timeout(Some(Duration::from_secs(120)))
                    .context(|| "setting a timeout".into())?;
                stream.set_nodelay(true).context(|| "setting no delay".into())?;
                BufReader::new(stream)
            }
        };
        if connection.get_mut().write_all(message).is_err() {
            return Ok(None);
        }
        let Some((response, keep)) = read_response(&mut connection)? else {
            return Ok(None);
        };
        if keep {
            self.connection = Some(connection);
        }
        Ok(Some(response))
    }
}

/// Reads one answer; `None` when the connection ended before its first byte. The flag says whether it can be kept.
fn read_response(input: &mut impl BufRead) -> Result<Option<(Response, bool)>, Error> {
    let Some(line) = read_line(input)? else {
        return Ok(None);
    };
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse::<u16>().ok())
        .ok_or_else(|| Error::new(format!("not an HTTP answer: {line}")))?;
    let mut length = None;
    let mut chunked = false;
    let mut keep = true;
    loop {
        let line = read_line(input)?.ok_or_else(|| Error::new("answer cut off in its head"))?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse::<u64>().ok(),
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            "connection" => keep = !value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    let mut body = Vec::new();
    match (chunked, length) {
        (true, _) => read_chunks(input, &mut body)?,
        (false, Some(length)) => read_exact(input, length, &mut body)?,
        (false, None) if status == 204 || status == 304 => {}
        (false, None) => {
            keep = false;
            input.take(LIMIT).read_to_end(&mut body).context(|| "reading an answer".into())?;
        }
    }
    Ok(Some((Response { status, body }, keep)))
}

fn read_chunks(input: &mut impl BufRead, body: &mut Vec<u8>) -> Result<(), Error> {
    loop {
        let line = read_line(input)?.ok_or_else(|| Error::new("answer cut off between chunks"))?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).context(|| format!("chunk size {digits:?}"))?;
        if size == 0 {
            while read_line(input)?.is_some_and(|line| !line.is_empty()) {}
            return Ok(());
        }
        read_exact(input, size, body)?;
        read_line(input)?;
    }
}

fn read_exact(input: &mut impl BufRead, size: u64, body: &mut Vec<u8>) -> Result<(), Error> {
    if size > LIMIT || body.len() as u64 + size > LIMIT {
        return Err(Error::new("answer too large"));
    }
    let read = input.take(size).read_to_end(body).context(|| "reading an answer".into())?;
    if read as u64 == size { Ok(()) } else { Err(Error::new("answer cut off")) }
}

fn read_line(input: &mut impl BufRead) -> Result<Option<String>, Error> {
    let mut line = String::new();
    let read = input.take(64 << 10).read_line(&mut line).context(|| "reading an answer".into())?;
    Ok((read > 0).then(|| line.trim_end().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_in_chunks_is_joined_and_the_connection_kept() {
        let mut text: &[u8] =
            b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n";
        let (response, keep) = read_response(&mut text).unwrap().unwrap();
        assert_eq!((response.status, response.text().as_str(), keep), (201, "abcde", true));
    }

    #[test]
    fn an_answer_that_is_cut_off_is_an_error() {
        let mut text: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
        assert!(read_response(&mut text).is_err());
    }

    #[test]
    fn a_connection_closed_before_the_answer_is_told_apart() {
        let mut text: &[u8] = b"";
        assert!(read_response(&mut text).unwrap().is_none());
    }
}
