package kcl

import (
	"context"
	"encoding/json"
)

// Program is what to run, and how.
type Program struct {
	// Folder that relative paths start from; the working folder if empty.
	WorkDir string
	// Files, in order. Text i stands for file i, if there is one.
	Files []string
	Texts []string
	// Values for option(), as Go values.
	Options map[string]any
	// Changes of the source before it runs: "a.b=1".
	Overrides []string
	// Parts of the result: "a.b".
	Select      []string
	SortKeys    bool
	DisableNone bool
}

// Result is what came out of a run.
type Result struct {
	YAML string `json:"yaml_result"`
	JSON string `json:"json_result"`
	// What print wrote.
	Log string `json:"log_message"`
}

type argument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Run runs a program. What does not compile, and what fails while it runs, is an *Error.
func (c *Client) Run(ctx context.Context, p Program) (*Result, error) {
	args := []argument{}
	for name, value := range p.Options {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		args = append(args, argument{name, string(text)})
	}
	var result struct {
		Result
		Error string `json:"err_message"`
	}
	err := c.Call(ctx, "KclService.ExecProgram", map[string]any{
		"work_dir": p.WorkDir, "k_filename_list": list(p.Files), "k_code_list": list(p.Texts), "args": args,
		"overrides": list(p.Overrides), "path_selector": list(p.Select), "sort_keys": p.SortKeys, "disable_none": p.DisableNone,
	}, &result)
	if err != nil {
		return nil, err
	}
	if result.Error != "" {
		return nil, &Error{Message: result.Error}
	}
	return &result.Result, nil
}

// Decode runs a program and decodes its result as JSON.
func (c *Client) Decode(ctx context.Context, p Program, into any) error {
	result, err := c.Run(ctx, p)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(result.JSON), into)
}

// Override changes values in a file: "app.image=\"pay:v42\"". It tells whether something was there to change.
func (c *Client) Override(ctx context.Context, file string, specs ...string) (bool, error) {
	var result struct {
		Result bool `json:"result"`
		Errors []struct {
			Messages []struct {
				Text string `json:"msg"`
			} `json:"messages"`
		} `json:"parse_errors"`
	}
	err := c.Call(ctx, "KclService.OverrideFile", map[string]any{"file": file, "specs": list(specs)}, &result)
	if err == nil && len(result.Errors) > 0 && len(result.Errors[0].Messages) > 0 {
		err = &Error{Message: file + " does not parse: " + result.Errors[0].Messages[0].Text}
	}
	return result.Result, err
}

// Format formats a text.
func (c *Client) Format(ctx context.Context, text string) (string, error) {
	var result struct {
		Formatted []byte `json:"formatted"`
	}
	err := c.Call(ctx, "KclService.FormatCode", map[string]any{"source": text}, &result)
	return string(result.Formatted), err
}

// FormatPath formats a file, the files of a folder, or everything below it ("folder/..."); it returns what changed.
func (c *Client) FormatPath(ctx context.Context, path string) ([]string, error) {
	var result struct {
		Changed []string `json:"changed_paths"`
	}
	err := c.Call(ctx, "KclService.FormatPath", map[string]any{"path": path}, &result)
	return result.Changed, err
}

// Vet checks data (format "json", "yaml" or "toml") against a schema of the code; nil means that it holds.
func (c *Client) Vet(ctx context.Context, code, schema, data, format string) error {
	var result struct {
		Success bool   `json:"success"`
		Message string `json:"err_message"`
	}
	err := c.Call(ctx, "KclService.ValidateCode", map[string]any{"code": code, "schema": schema, "data": data, "format": format}, &result)
	if err == nil && !result.Success {
		err = &Error{Message: result.Message}
	}
	return err
}

// A list that is not there is an empty one, never null.
func list(items []string) []string {
	if items == nil {
		return []string{}
	}
	return items
}
