//! Bech32 (BIP 173), as age writes its keys: a word, `1`, data of five bits a letter, a checksum of six letters.

const LETTERS: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
/// Longer texts are no keys.
const LONGEST: usize = 120;

fn checksum(word: &str, data: &[u8]) -> u32 {
    const GENERATOR: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let lower = word.bytes().map(|byte| byte.to_ascii_lowercase());
    let high = lower.clone().map(|byte| byte >> 5);
    let values = high.chain([0]).chain(lower.map(|byte| byte & 31)).chain(data.iter().copied());
    values.fold(1, |sum, value| {
        let top = sum >> 25;
        let next = (sum & 0x01ff_ffff) << 5 ^ u32::from(value);
        (0..5).filter(|bit| top >> bit & 1 == 1).fold(next, |sum, bit| sum ^ GENERATOR[bit])
    })
}

/// Bits in groups of one size as groups of another; what is left over is filled with zeros, or must be zeros.
fn regroup(data: &[u8], from: u32, to: u32, fill: bool) -> Option<Vec<u8>> {
    let (mut out, mut bits, mut held) = (Vec::new(), 0_u32, 0_u32);
    for &value in data {
        held = (held << from | u32::from(value)) & 0xfff;
        bits += from;
        while bits >= to {
            bits -= to;
            out.push((held >> bits & ((1 << to) - 1)) as u8);
        }
    }
    let rest = held << (to - bits) & ((1 << to) - 1);
    if fill && bits > 0 {
        out.push(rest as u8);
    }
    (fill || bits < from && rest == 0).then_some(out)
}

/// Writes data under a word; in capitals if the word is.
pub(super) fn encode(word: &str, data: &[u8]) -> String {
    let mut groups = regroup(data, 8, 5, true).unwrap_or_default();
    let length = groups.len();
    groups.extend([0; 6]);
    let sum = checksum(word, &groups) ^ 1;
    for (at, group) in groups[length..].iter_mut().enumerate() {
        *group = (sum >> (5 * (5 - at)) & 31) as u8;
    }
    let letters: String = groups.iter().map(|&group| char::from(LETTERS[usize::from(group)])).collect();
    let text = format!("{}1{letters}", word.to_ascii_lowercase());
    if word.bytes().any(|byte| byte.is_ascii_uppercase()) { text.to_ascii_uppercase() } else { text }
}

/// Reads data under a word, written as the word is: in capitals or not.
pub(super) fn decode(word: &str, text: &str) -> Option<Vec<u8>> {
    let rest = text.strip_prefix(word)?.strip_prefix('1')?;
    let capital = word.bytes().any(|byte| byte.is_ascii_uppercase());
    let mixed = |byte: u8| if capital { byte.is_ascii_lowercase() } else { byte.is_ascii_uppercase() };
    if text.len() > LONGEST || rest.bytes().any(mixed) {
        return None;
    }
    let place = |byte: u8| LETTERS.iter().position(|&letter| letter == byte.to_ascii_lowercase());
    let groups: Vec<u8> = rest.bytes().map(|byte| place(byte).map(|at| at as u8)).collect::<Option<_>>()?;
    if groups.len() < 6 || checksum(word, &groups) != 1 {
        return None;
    }
    regroup(&groups[..groups.len() - 6], 5, 8, false)
}
