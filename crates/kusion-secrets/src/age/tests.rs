use super::*;

/// Of the age specification's test suite: the identity that opens its files, and its recipient.
const IDENTITY: &str = "AGE-SECRET-KEY-1XMWWC06LY3EE5RYTXM9MFLAZ2U56JJJ36S0MYPDRWSVLUL66MV4QX3S7F6";

#[test]
fn keys_are_read_and_written() {
    let identity = Identity::parse(IDENTITY).unwrap();
    assert_eq!(&*identity.to_text(), IDENTITY);
    let text = identity.recipient().to_string();
    assert_eq!(Recipient::parse(&text), Some(identity.recipient()));
    for wrong in [text.to_uppercase(), text.replace("age1", "age"), text[..60].to_owned(), format!("{text}q")]
    {
        assert_eq!(Recipient::parse(&wrong), None, "{wrong}");
    }
    let mut flipped = text.into_bytes();
    flipped[10] = if flipped[10] == b'q' { b'p' } else { b'q' };
    assert_eq!(Recipient::parse(std::str::from_utf8(&flipped).unwrap()), None);
}

#[test]
fn what_is_encrypted_opens_for_each_recipient_and_nobody_else() {
    let (one, two, other) =
        (Identity::generate().unwrap(), Identity::generate().unwrap(), Identity::generate().unwrap());
    for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK] {
        let plain: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
        let text = encrypt(&plain, &[one.recipient(), two.recipient()]).unwrap();
        for identity in [&one, &two] {
            let identity = Identity(identity.0.clone());
            assert_eq!(*decrypt(text.as_bytes(), &[identity]).unwrap(), plain, "{length}");
        }
        let other = Identity(other.0.clone());
        assert_eq!(decrypt(text.as_bytes(), &[other]).unwrap_err(), AgeFault::NoIdentity);
    }
}

#[test]
fn every_flipped_bit_and_every_cut_is_told() {
    let identity = Identity::generate().unwrap();
    let plain =
        format::without_armour(encrypt(b"canary", &[identity.recipient()]).unwrap().as_bytes()).unwrap();
    let all = [identity];
    assert_eq!(*decrypt(&plain, &all).unwrap(), b"canary");
    for at in 0..plain.len() * 8 {
        let mut bytes = plain.clone();
        bytes[at / 8] ^= 1 << (at % 8);
        assert!(decrypt(&bytes, &all).is_err(), "bit {at}");
    }
    for end in 0..plain.len() {
        assert!(decrypt(&plain[..end], &all).is_err(), "{end} bytes");
    }
    let long = vec![7; 2 * CHUNK];
    let long = format::without_armour(encrypt(&long, &[all[0].recipient()]).unwrap().as_bytes()).unwrap();
    assert_eq!(decrypt(&long[..long.len() - CHUNK - TAG], &all).unwrap_err(), AgeFault::Cut);
    assert!(decrypt(&[long.as_slice(), b"x"].concat(), &all).is_err());
}
