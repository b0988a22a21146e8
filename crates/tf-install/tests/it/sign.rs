//! A publisher: an Ed25519 key in OpenPGP's packets, and its signatures.

use data_encoding::BASE64;
use ring::signature::{Ed25519KeyPair, KeyPair};
use sha2::{Digest, Sha512};

const OID: &[u8] = &[9, 0x2b, 0x06, 0x01, 0x04, 0x01, 0xda, 0x47, 0x0f, 0x01];
const CREATED: u32 = 1_700_000_000;

pub(crate) struct Publisher {
    pair: Ed25519KeyPair,
    body: Vec<u8>,
}

impl Publisher {
    pub(crate) fn new(seed: u8) -> Publisher {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap();
        let mut body = vec![4];
        body.extend(CREATED.to_be_bytes());
        body.push(22);
        body.extend(OID);
        let mut point = vec![0x40];
        point.extend(pair.public_key().as_ref());
        body.extend(mpi(&point));
        Publisher { pair, body }
    }

    fn framed(&self) -> Vec<u8> {
        let mut out = vec![0x99];
        out.extend(u16::try_from(self.body.len()).unwrap().to_be_bytes());
        out.extend(&self.body);
        out
    }

    fn id(&self) -> [u8; 8] {
        use sha1::Sha1;
        let fingerprint: [u8; 20] = Sha1::digest(self.framed()).into();
        *fingerprint.last_chunk().unwrap()
    }

    /// The key as a registry hands it out.
    pub(crate) fn armor(&self) -> String {
        let user = b"publisher <p@example.org>";
        let mut signed = self.framed();
        signed.push(0xb4);
        signed.extend(u32::try_from(user.len()).unwrap().to_be_bytes());
        signed.extend(user);
        let mut bytes = packet(6, &self.body);
        bytes.extend(packet(13, user));
        bytes.extend(self.signature(0x13, &signed, &[2, 27, 0x03]));
        let mut out = "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n".to_owned();
        for chunk in BASE64.encode(&bytes).as_bytes().chunks(64) {
            out.push_str(std::str::from_utf8(chunk).unwrap());
            out.push('\n');
        }
        out + &format!("={}\n-----END PGP PUBLIC KEY BLOCK-----\n", BASE64.encode(&crc24(&bytes)))
    }

    /// A detached signature of bytes.
    pub(crate) fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        self.signature(0x00, bytes, &[])
    }

    fn signature(&self, kind: u8, bytes: &[u8], more: &[u8]) -> Vec<u8> {
        let mut hashed = vec![5, 2];
        hashed.extend(CREATED.to_be_bytes());
        hashed.extend(more);
        let mut head = vec![4, kind, 22, 10];
        head.extend(u16::try_from(hashed.len()).unwrap().to_be_bytes());
        head.extend(&hashed);
        let mut message = bytes.to_vec();
        message.extend(&head);
        message.extend([4, 0xff]);
        message.extend(u32::try_from(head.len()).unwrap().to_be_bytes());
        let digest = Sha512::digest(&message);
        let signature = self.pair.sign(&digest);
        let mut body = head;
        let mut loose = vec![9, 16];
        loose.extend(self.id());
        body.extend(u16::try_from(loose.len()).unwrap().to_be_bytes());
        body.extend(loose);
        body.extend(&digest[..2]);
        body.extend(mpi(&signature.as_ref()[..32]));
        body.extend(mpi(&signature.as_ref()[32..]));
        packet(2, &body)
    }
}

fn packet(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![0xc0 | tag, 0xff];
    out.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
    out.extend(body);
    out
}

fn mpi(bytes: &[u8]) -> Vec<u8> {
    let start = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    let number = &bytes[start..];
    let bits = number.first().map_or(0, |first| number.len() * 8 - first.leading_zeros() as usize);
    let mut out = u16::try_from(bits).unwrap().to_be_bytes().to_vec();
    out.extend(number);
    out
}

fn crc24(bytes: &[u8]) -> [u8; 3] {
    let mut crc = 0xb7_04ceu32;
    for byte in bytes {
        crc ^= u32::from(*byte) << 16;
        for _ in 0..8 {
            crc <<= 1;
            if crc & 0x100_0000 != 0 {
                crc ^= 0x186_4cfb;
            }
        }
    }
    let [_, a, b, c] = crc.to_be_bytes();
    [a, b, c]
}

#[test]
fn gnupg_agrees_with_the_publisher_of_these_tests() {
    if !testenv::installed("gpg") || !testenv::installed("gpgv") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let publisher = Publisher::new(1);
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("key"), publisher.armor()).unwrap();
    std::fs::write(path("text"), "text").unwrap();
    std::fs::write(path("text.sig"), publisher.sign(b"text")).unwrap();
    let run = |program: &str, words: &[&std::ffi::OsStr]| {
        let mut command = std::process::Command::new(program);
        command.args(words).env("GNUPGHOME", folder.path()).output().unwrap()
    };
    let keyring = path("ring");
    let made = run(
        "gpg",
        &[
            "--batch".as_ref(),
            "--yes".as_ref(),
            "--dearmor".as_ref(),
            "-o".as_ref(),
            keyring.as_ref(),
            path("key").as_ref(),
        ],
    );
    assert!(made.status.success());
    let checked = run(
        "gpgv",
        &["--keyring".as_ref(), keyring.as_ref(), path("text.sig").as_ref(), path("text").as_ref()],
    );
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
