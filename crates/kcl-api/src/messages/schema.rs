//! Schemas as data, and documents of them.

use std::collections::BTreeMap;

use super::{ExecProgramArgs, ParseProgramArgs};

messages! {
    /// The question of `GetSchemaTypeMapping`.
    GetSchemaTypeMappingArgs {
        exec_args: (message, optional) Option<ExecProgramArgs> = 1;
        schema_name: (string) String = 2;
    }
    /// The answer of `GetSchemaTypeMapping`.
    GetSchemaTypeMappingResult {
        schema_type_mapping: (btree_map = "string, message") BTreeMap<String, KclType> = 1;
    }
    /// The answer of `GetSchemaTypeMappingUnderPath`.
    GetSchemaTypeMappingUnderPathResult {
        schema_type_mapping: (btree_map = "string, message") BTreeMap<String, SchemaTypes> = 1;
    }
    /// Part of an answer.
    SchemaTypes {
        schema_type: (message, repeated) Vec<KclType> = 1;
    }
    /// A type as data.
    KclType {
        r#type: (string) String = 1;
        union_types: (message, repeated) Vec<KclType> = 2;
        default: (string) String = 3;
        schema_name: (string) String = 4;
        schema_doc: (string) String = 5;
        properties: (btree_map = "string, message") BTreeMap<String, KclType> = 6;
        required: (string, repeated) Vec<String> = 7;
        key: (message, optional, boxed) Option<Box<KclType>> = 8;
        item: (message, optional, boxed) Option<Box<KclType>> = 9;
        line: (int32) i32 = 10;
        decorators: (message, repeated) Vec<Decorator> = 11;
        filename: (string) String = 12;
        pkg_path: (string) String = 13;
        description: (string) String = 14;
        examples: (btree_map = "string, message") BTreeMap<String, Example> = 15;
        base_schema: (message, optional, boxed) Option<Box<KclType>> = 16;
        function: (message, optional, boxed) Option<Box<FunctionType>> = 17;
        index_signature: (message, optional, boxed) Option<Box<IndexSignature>> = 18;
    }
    /// Part of an answer.
    FunctionType {
        params: (message, repeated) Vec<Parameter> = 1;
        return_ty: (message, optional, boxed) Option<Box<KclType>> = 2;
    }
    /// Part of an answer.
    Parameter {
        name: (string) String = 1;
        ty: (message, optional) Option<KclType> = 2;
    }
    /// Part of an answer.
    IndexSignature {
        key_name: (string, optional) Option<String> = 1;
        key: (message, optional, boxed) Option<Box<KclType>> = 2;
        val: (message, optional, boxed) Option<Box<KclType>> = 3;
        any_other: (bool) bool = 4;
    }
    /// Part of an answer.
    Decorator {
        name: (string) String = 1;
        arguments: (string, repeated) Vec<String> = 2;
        keywords: (btree_map = "string, string") BTreeMap<String, String> = 3;
    }
    /// Part of an answer.
    Example {
        summary: (string) String = 1;
        description: (string) String = 2;
        value: (string) String = 3;
    }
    /// The question of `GenerateKcl`.
    GenerateKclArgs {
        source: (string) String = 1;
        filename: (string) String = 2;
        format: (string) String = 3;
    }
    /// The answer of `GenerateKcl`.
    GenerateKclResult {
        kcl: (string) String = 1;
    }
    /// The question of `GenerateOpenAPI`.
    GenerateOpenAPIArgs {
        parse_args: (message, optional) Option<ParseProgramArgs> = 1;
        version: (string) String = 2;
    }
    /// The answer of `GenerateOpenAPI`.
    GenerateOpenAPIResult {
        spec: (string) String = 1;
    }
    /// The question of `GenerateProto`.
    GenerateProtoArgs {
        parse_args: (message, optional) Option<ParseProgramArgs> = 1;
        package: (string) String = 2;
    }
    /// The answer of `GenerateProto`.
    GenerateProtoResult {
        proto: (string) String = 1;
    }
    /// The question of `GenerateDoc`.
    GenerateDocArgs {
        parse_args: (message, optional) Option<ParseProgramArgs> = 1;
        format: (string) String = 2;
    }
    /// The answer of `GenerateDoc`.
    GenerateDocResult {
        content: (string) String = 1;
    }
}
