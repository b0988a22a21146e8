//! Lines that fit: broken between words, with their colours.

/// Where a word that is too long for a line may be broken, after the character.
const JOINTS: [char; 4] = [':', '/', '.', '-'];

/// A piece of a broken word is at least so long.
const LEAST: usize = 8;

/// The characters of a line that take room: escapes that colour take none.
pub(crate) fn width(line: &str) -> usize {
    pieces(line).filter(|piece| !piece.starts_with('\x1b')).count()
}

/// Breaks a line so that no part is wider than the room. What follows is indented a little more than the line.
pub(crate) fn wrap(line: &str, room: usize) -> Vec<String> {
    if width(line) <= room {
        return vec![line.to_owned()];
    }
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let further = " ".repeat((indent + 2).min(room / 2));
    let (mut lines, mut now) = (Vec::new(), " ".repeat(indent.min(room / 2)));
    let mut is_empty = true;
    for (space, word) in words(&line[indent..]) {
        // A word that fits on no line is broken where it stands, if there is some room.
        let fits = width(&further) + width(word) <= room || width(&now) + space + LEAST > room;
        if !is_empty && fits && width(&now) + space + width(word) > room {
            lines.push(now.trim_end().to_owned());
            now = further.clone();
        } else if !is_empty {
            now.push_str(&" ".repeat(space));
        }
        is_empty = false;
        let mut rest = word;
        while width(&now) + width(rest) > room {
            let (head, tail) = broken(rest, room.saturating_sub(width(&now)).max(1));
            now.push_str(head);
            lines.push(std::mem::replace(&mut now, further.clone()));
            rest = tail;
        }
        now.push_str(rest);
    }
    lines.push(now);
    lines
}

/// Words, and how many spaces stand before each.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut space = 0;
    text.split(' ').filter_map(move |word| {
        if word.is_empty() {
            space += 1;
            return None;
        }
        Some((std::mem::replace(&mut space, 1), word))
    })
}

/// Breaks a word after the last joint that fits, else where the room ends.
fn broken(word: &str, room: usize) -> (&str, &str) {
    let (mut at, mut joint, mut n) = (0, 0, 0);
    for piece in pieces(word) {
        let takes = usize::from(!piece.starts_with('\x1b'));
        if n + takes > room {
            break;
        }
        n += takes;
        at += piece.len();
        if piece.starts_with(JOINTS) {
            joint = at;
        }
    }
    word.split_at(if joint > 0 { joint } else { at })
}

/// A line as characters, an escape in one piece.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = match first {
            '\x1b' => rest.find('m').map_or(rest.len(), |at| at + 1),
            other => other.len_utf8(),
        };
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_long_ids_at_their_joints() {
        assert_eq!(wrap("short", 40), ["short"]);
        let line = "  x apps/v1:Deployment:guestbook-dev:frontend  failed  no pod is ready";
        let lines = wrap(line, 30);
        assert_eq!(
            lines,
            ["  x apps/v1:Deployment:", "    guestbook-dev:frontend", "    failed  no pod is ready"]
        );
        assert!(wrap(&"y".repeat(100), 30).iter().all(|line| width(line) <= 30));
    }

    #[test]
    fn colours_take_no_room_and_nothing_is_lost() {
        let line = "  \x1b[36mv1:ConfigMap:a\x1b[0m  \x1b[31mfailed\x1b[0m because of this and that";
        assert_eq!(wrap(line, 80), [line]);
        for room in 20..60 {
            let lines = wrap(line, room);
            assert!(lines.iter().all(|line| width(line) <= room), "{room}: {lines:?}");
            let plain = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(plain(&lines.concat()), plain(line), "{room}");
        }
    }
}
