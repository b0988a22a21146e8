//! State files of other tools.

use tf_schema::state::{Key, Mode, State, StateError};
use tf_value::{Path, Type};

const FILE: &str = r#"{
  "version": 4,
  "terraform_version": "1.12.6",
  "serial": 7,
  "lineage": "5f0c",
  "outputs": {
    "secret": {
      "value": "a\u003cb",
      "type": "string",
      "sensitive": true
    }
  },
  "resources": [
    {
      "mode": "data",
      "type": "local_file",
      "name": "z",
      "provider": "provider[\"registry.opentofu.org/hashicorp/local\"]",
      "instances": []
    },
    {
      "mode": "managed",
      "type": "random_id",
      "name": "a",
      "provider": "provider[\"registry.opentofu.org/hashicorp/random\"]",
      "instances": [
        {
          "schema_version": 0,
          "attributes": {
            "big": 123456789012345678901234567890,
            "hex": null
          },
          "sensitive_attributes": []
        },
        {
          "index_key": 2,
          "status": "tainted",
          "schema_version": 1,
          "attributes": {
            "hex": "00"
          },
          "sensitive_attributes": [
            [
              {
                "type": "get_attr",
                "value": "tags"
              },
              {
                "type": "index",
                "value": {
                  "value": "k",
                  "type": "string"
                }
              }
            ]
          ],
          "private": "bnVsbA==",
          "dependencies": [
            "data.local_file.z",
            "random_pet.p"
          ],
          "create_before_destroy": true
        },
        {
          "index_key": "k",
          "deposed": "0badcafe",
          "schema_version": 0,
          "attributes": {},
          "sensitive_attributes": []
        }
      ]
    }
  ],
  "check_results": null
}
"#;

#[test]
fn a_state_is_read_and_written_byte_for_byte() {
    let state = State::parse(FILE.as_bytes()).unwrap();
    assert_eq!(state.to_text(), FILE);
    let random = &state.resources[1];
    assert_eq!((random.mode, random.instances.len()), (Mode::Managed, 3));
    let tainted = &random.instances[1];
    assert!(tainted.tainted && tainted.create_before_destroy);
    assert_eq!(tainted.index_key, Some(Key::Int(2)));
    assert_eq!(tainted.private, b"null");
    assert_eq!(tainted.sensitive, [Path::default().attribute("tags").key("k")]);
    let ty: Type = r#"["object",{"big":"number","new":"string"}]"#.parse().unwrap();
    let value = random.instances[0].value(&ty).unwrap();
    assert_eq!(value.get("big").unwrap().as_number().unwrap().to_string(), "123456789012345678901234567890");
    assert!(value.get("new").unwrap().is_null());
}

#[test]
fn the_order_is_that_of_the_tools() {
    let mut state = State::parse(FILE.as_bytes()).unwrap();
    state.resources.reverse();
    state.resources[0].instances.reverse();
    assert_eq!(state.to_text(), FILE);
}

#[test]
fn what_is_no_state_is_told() {
    for (text, error) in [
        ("{}", StateError::Version("none".into())),
        (r#"{"version":3}"#, StateError::Version("3".into())),
        (
            r#"{"version":4,"resources":[{"mode":"wild","type":"a","name":"b"}]}"#,
            StateError::Field {
                place: "resources[0].mode".into(),
                message: "there is no mode \"wild\"".into(),
            },
        ),
        (
            r#"{"version":4,"resources":[{"mode":"managed","type":"a","name":"b","instances":[{"private":"!"}]}]}"#,
            StateError::Field {
                place: "resources[0].instances[0].private".into(),
                message: "is not base64".into(),
            },
        ),
    ] {
        assert_eq!(State::parse(text.as_bytes()), Err(error), "{text}");
    }
    assert!(matches!(State::parse(b"text"), Err(StateError::NotJson(_))));
    // What tofu accepts is accepted: nothing but the version and the resources.
    let small = r#"{"version":4,"resources":[{"mode":"managed","type":"a","name":"b","provider":"p","instances":[{"attributes":{}}]}]}"#;
    assert_eq!(State::parse(small.as_bytes()).unwrap().resources[0].instances[0].schema_version, 0);
}
