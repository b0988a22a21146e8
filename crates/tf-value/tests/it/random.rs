//! Random values and the corpora of the fuzz targets.

use tf_value::{Type, json, msgpack};

#[test]
fn random_values_stay_the_same() {
    let mut n_json = 0;
    for seed in 0..20_000 {
        let sample = testkit::terraform::sample(seed);
        let ty: Type = sample.ty.parse().unwrap();
        assert_eq!(ty.to_json(), sample.ty.parse::<Type>().unwrap().to_json());
        let value =
            msgpack::decode(&sample.bytes, &ty).unwrap_or_else(|e| panic!("{seed}: {}: {e}", sample.ty));
        let written = msgpack::encode(&value, &ty).unwrap();
        let again = msgpack::decode(&written, &ty).unwrap();
        // Whole floats beyond 64 bits are written with the digits of a float, as the reference does: other numbers, same bytes.
        assert_eq!(msgpack::encode(&again, &ty).unwrap(), written, "{seed}");
        if let Ok(text) = json::encode(&value, &ty) {
            n_json += 1;
            let read = json::decode(text.as_bytes(), &ty).unwrap();
            assert_eq!(json::encode(&read, &ty).unwrap(), text, "{seed}");
        }
    }
    assert!(n_json > 5_000, "{n_json}");
}

#[test]
fn corpora_of_the_fuzz_targets_hold() {
    testkit::replay_corpora(testkit::terraform::TARGETS);
}

/// Single bytes of good values are changed: an error or another value, never a panic.
#[test]
fn damaged_values_are_told_or_read() {
    for seed in 0..5_000_u64 {
        let mut sample = testkit::terraform::sample(seed);
        let ty: Type = sample.ty.parse().unwrap();
        let at = (seed as usize * 7919) % sample.bytes.len();
        sample.bytes[at] = sample.bytes[at].wrapping_add(1 + (seed % 255) as u8);
        if let Ok(value) = msgpack::decode(&sample.bytes, &ty) {
            let written = msgpack::encode(&value, &ty).unwrap();
            let again = msgpack::decode(&written, &ty).unwrap();
            assert_eq!(msgpack::encode(&again, &ty).unwrap(), written, "{seed}");
        }
    }
}
