//! YAML 1.2 reader with spans; byte-exact YAML and JSON emitters.
