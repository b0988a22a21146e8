//! Running programs.

messages! {
    /// A package by its name and folder.
    ExternalPkg {
        pkg_name: (string) String = 1;
        pkg_path: (string) String = 2;
    }
    /// A value for `option()`: its name and a JSON text.
    Argument {
        name: (string) String = 1;
        value: (string) String = 2;
    }
    /// What to run, and how.
    ExecProgramArgs {
        work_dir: (string) String = 1;
        k_filename_list: (string, repeated) Vec<String> = 2;
        k_code_list: (string, repeated) Vec<String> = 3;
        args: (message, repeated) Vec<Argument> = 4;
        overrides: (string, repeated) Vec<String> = 5;
        disable_yaml_result: (bool) bool = 6;
        print_override_ast: (bool) bool = 7;
        strict_range_check: (bool) bool = 8;
        disable_none: (bool) bool = 9;
        verbose: (int32) i32 = 10;
        debug: (int32) i32 = 11;
        sort_keys: (bool) bool = 12;
        external_pkgs: (message, repeated) Vec<ExternalPkg> = 13;
        include_schema_type_path: (bool) bool = 14;
        compile_only: (bool) bool = 15;
        show_hidden: (bool) bool = 16;
        path_selector: (string, repeated) Vec<String> = 17;
        fast_eval: (bool) bool = 18;
        error_format: (string) String = 19;
        format: (string) String = 20;
        emit_attribute_metadata: (bool) bool = 21;
        sourcemap_output: (string, optional) Option<String> = 22;
    }
    /// What came out: run-time errors stand in `err_message`.
    ExecProgramResult {
        json_result: (string) String = 1;
        yaml_result: (string) String = 2;
        log_message: (string) String = 3;
        err_message: (string) String = 4;
        sourcemap: (string, optional) Option<String> = 5;
    }
    /// The question of `GenerateToml`.
    GenerateTomlArgs {
        exec_args: (message, optional) Option<ExecProgramArgs> = 1;
        sort_keys: (bool) bool = 2;
    }
    /// The answer of `GenerateToml`.
    GenerateTomlResult {
        toml: (string) String = 1;
    }
    /// The question of `LoadSettingsFiles`.
    LoadSettingsFilesArgs {
        work_dir: (string) String = 1;
        files: (string, repeated) Vec<String> = 2;
    }
    /// The answer of `LoadSettingsFiles`.
    LoadSettingsFilesResult {
        kcl_cli_configs: (message, optional) Option<CliConfig> = 1;
        kcl_options: (message, repeated) Vec<KeyValuePair> = 2;
    }
    /// Part of an answer.
    CliConfig {
        files: (string, repeated) Vec<String> = 1;
        output: (string) String = 2;
        overrides: (string, repeated) Vec<String> = 3;
        path_selector: (string, repeated) Vec<String> = 4;
        strict_range_check: (bool) bool = 5;
        disable_none: (bool) bool = 6;
        verbose: (int64) i64 = 7;
        debug: (bool) bool = 8;
        sort_keys: (bool) bool = 9;
        show_hidden: (bool) bool = 10;
        include_schema_type_path: (bool) bool = 11;
        fast_eval: (bool) bool = 12;
    }
    /// Part of an answer.
    KeyValuePair {
        key: (string) String = 1;
        value: (string) String = 2;
    }
    /// The question of `ValidateCode`.
    ValidateCodeArgs {
        datafile: (string) String = 1;
        data: (string) String = 2;
        file: (string) String = 3;
        code: (string) String = 4;
        schema: (string) String = 5;
        attribute_name: (string) String = 6;
        format: (string) String = 7;
        external_pkgs: (message, repeated) Vec<ExternalPkg> = 8;
    }
    /// The answer of `ValidateCode`.
    ValidateCodeResult {
        success: (bool) bool = 1;
        err_message: (string) String = 2;
    }
    /// The question of `Ping`.
    PingArgs {
        value: (string) String = 1;
    }
    /// The answer of `Ping`.
    PingResult {
        value: (string) String = 1;
    }
    /// The question of `GetVersion`.
    GetVersionArgs {}
    /// The answer of `GetVersion`.
    GetVersionResult {
        version: (string) String = 1;
        checksum: (string) String = 2;
        git_sha: (string) String = 3;
        version_info: (string) String = 4;
    }
    /// The question of `ListMethod`.
    ListMethodArgs {}
    /// The answer of `ListMethod`.
    ListMethodResult {
        method_name_list: (string, repeated) Vec<String> = 1;
    }
}
