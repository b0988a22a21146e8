//! The password file of PostgreSQL: `host:port:database:user:password`, one login on each line.

/// The password for a login; the first line that fits counts, `*` fits everything, `\` hides a colon or itself.
#[must_use]
pub fn password_in(text: &str, login: [&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line)?;
        let (password, wanted) = fields.split_last()?;
        let fits = wanted.iter().zip(login).all(|(field, own)| field == "*" || field == own);
        fits.then(|| password.clone())
    })
}

/// The five fields of a line; the last one takes the rest.
fn fields(line: &str) -> Option<Vec<String>> {
    let (mut fields, mut field, mut hidden) = (Vec::new(), String::new(), false);
    for c in line.trim_end_matches(['\r', '\n']).chars() {
        match c {
            '\\' if !hidden => hidden = true,
            ':' if !hidden && fields.len() < 4 => fields.push(std::mem::take(&mut field)),
            _ => {
                field.push(c);
                hidden = false;
            }
        }
    }
    fields.push(field);
    (fields.len() == 5).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_line_that_fits_counts() {
        let text = "# a comment\nbroken\ndb:5432:state:li:one\n*:*:*:li:a\\:b\\\\c:d\n*:*:*:*:last\n";
        let of = |host, user| password_in(text, [host, "5432", "state", user]);
        assert_eq!(of("db", "li").as_deref(), Some("one"));
        assert_eq!(of("elsewhere", "li").as_deref(), Some("a:b\\c:d"));
        assert_eq!(of("db", "wang").as_deref(), Some("last"));
        assert_eq!(password_in("", ["a", "b", "c", "d"]), None);
    }
}
