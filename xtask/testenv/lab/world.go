package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// place is the file of an object; empty if objects live in the state alone.
func place(kind string, value tftypes.Value) string {
	folder, id := os.Getenv("LAB_WORLD"), text(value, "id")
	if folder == "" || id == "" {
		return ""
	}
	return filepath.Join(folder, kind+"-"+strings.ReplaceAll(id, "/", "-")+".json")
}

// look brings an object up to date: null if its file is gone, with the `opt` that stands there.
func look(kind string, ty tftypes.Type, value tftypes.Value) tftypes.Value {
	path := place(kind, value)
	if path == "" {
		return value
	}
	bytes, err := os.ReadFile(path)
	if err != nil {
		return tftypes.NewValue(ty, nil)
	}
	var stands struct{ Opt *string }
	if json.Unmarshal(bytes, &stands) == nil && stands.Opt != nil {
		return with(ty, value, "opt", *stands.Opt)
	}
	return value
}

// write makes or changes the file of an object. What is new must not be there.
func write(kind string, isNew bool, value tftypes.Value) *tfprotov6.Diagnostic {
	path := place(kind, value)
	if path == "" {
		return nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if isNew {
		flags = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return problem("It cannot be made", err.Error())
	}
	defer file.Close()
	stands := map[string]any{}
	if opt := text(value, "opt"); opt != "" {
		stands["opt"] = opt
	}
	if err := json.NewEncoder(file).Encode(stands); err != nil {
		return problem("It cannot be written", err.Error())
	}
	return nil
}

func remove(kind string, value tftypes.Value) {
	if path := place(kind, value); path != "" {
		_ = os.Remove(path)
	}
}
