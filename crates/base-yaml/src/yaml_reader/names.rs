//! Tokens that are names: directives, anchors and aliases, tags.

use super::scanner::Scanner;
use super::token::{Kind, failure};
use crate::node::YamlError;

type Done = Result<(), YamlError>;

impl Scanner<'_> {
    pub(super) fn fetch_directive(&mut self) -> Done {
        self.unroll(-1);
        self.remove_key()?;
        self.key_allowed = false;
        let start = self.mark;
        let context = Some(("while scanning a directive", start));
        self.skip();
        let from = self.mark.index;
        while self.byte(0).is_ascii_alphanumeric() || matches!(self.byte(0), b'_' | b'-') {
            self.skip();
        }
        match &self.text[from..self.mark.index] {
            "" => return Err(failure("could not find expected directive name", self.mark, context)),
            _ if !self.is_blankz(0) => {
                return Err(failure("found unexpected non-alphabetical character", self.mark, context));
            }
            "YAML" | "TAG" => {}
            _ => return Err(failure("found unknown directive name", self.mark, context)),
        }
        while !self.at_end() && self.break_width(0) == 0 {
            self.skip();
        }
        self.push(Kind::Directive, start);
        Ok(())
    }

    pub(super) fn fetch_anchor(&mut self) -> Done {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark;
        let alias = self.byte(0) == b'*';
        self.skip();
        let from = self.mark.index;
        while self.byte(0).is_ascii_alphanumeric() || matches!(self.byte(0), b'_' | b'-') {
            self.skip();
        }
        let name = self.text[from..self.mark.index].to_owned();
        let ends = self.is_blankz(0)
            || matches!(self.byte(0), b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`');
        if name.is_empty() || !ends {
            let context = if alias { "while scanning an alias" } else { "while scanning an anchor" };
            let problem = "did not find expected alphabetic or numeric character";
            return Err(failure(problem, self.mark, Some((context, start))));
        }
        self.push(if alias { Kind::Alias(name) } else { Kind::Anchor(name) }, start);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> Done {
        self.save_key()?;
        self.key_allowed = false;
        let start = self.mark;
        self.skip();
        let verbatim = self.byte(0) == b'<';
        while is_tag_byte(self.byte(0))
            || verbatim && matches!(self.byte(0), b'<' | b'>' | b',' | b'[' | b']')
        {
            self.skip();
        }
        let tag = &self.text[start.index..self.mark.index];
        if tag.len() > 1 && tag.ends_with('!') {
            let context = Some(("while parsing a tag", start));
            return Err(failure("did not find expected tag URI", self.mark, context));
        }
        let ended = self.is_blankz(0) || self.flow > 0 && self.byte(0) == b',';
        if !ended {
            let context = Some(("while scanning a tag", start));
            return Err(failure("did not find expected whitespace or line break", self.mark, context));
        }
        let full = match tag.strip_prefix("!!") {
            Some(name) => format!("tag:yaml.org,2002:{name}"),
            None => tag.trim_start_matches("!<").trim_end_matches('>').to_owned(),
        };
        self.push(Kind::Tag(full), start);
        Ok(())
    }
}

fn is_tag_byte(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b"_-;/?:@&=+$.%!~*'()".contains(&b)
}
