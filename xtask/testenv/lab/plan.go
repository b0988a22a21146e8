package main

import (
	"crypto/sha256"
	"fmt"
	"math/big"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// find follows a path through a schema; nil for what is no attribute of its own.
func find(of *block, path *tftypes.AttributePath) *attribute {
	var found *attribute
	var attributes []*attribute
	attributes, blocks := of.Attributes, of.BlockTypes
	for _, step := range path.Steps() {
		name, isName := step.(tftypes.AttributeName)
		if !isName {
			continue
		}
		found = nil
		for _, one := range attributes {
			if one.Name == string(name) {
				found = one
			}
		}
		if found != nil {
			if found.NestedType == nil {
				// What stands deeper is a part of this value.
				return found
			}
			attributes, blocks = found.NestedType.Attributes, nil
			continue
		}
		for _, one := range blocks {
			if one.TypeName == string(name) {
				attributes, blocks = one.Block.Attributes, one.Block.BlockTypes
				break
			}
		}
	}
	return found
}

func last(path *tftypes.AttributePath) string {
	steps := path.Steps()
	if len(steps) == 0 {
		return ""
	}
	name, _ := steps[len(steps)-1].(tftypes.AttributeName)
	return string(name)
}

// planned makes a plan of a proposal: what is computed and new is unknown, what changes has a new revision.
func planned(of *block, prior, proposed tftypes.Value) (tftypes.Value, error) {
	changed := prior.IsNull() || !sameButRevision(prior, proposed)
	return tftypes.Transform(proposed, func(path *tftypes.AttributePath, value tftypes.Value) (tftypes.Value, error) {
		attribute := find(of, path)
		switch {
		case attribute == nil || last(path) != attribute.Name:
			return value, nil
		case attribute.WriteOnly:
			return tftypes.NewValue(value.Type(), nil), nil
		case attribute.Name == "revision" && changed:
			return tftypes.NewValue(value.Type(), tftypes.UnknownValue), nil
		case attribute.Name == "write_digest" && (prior.IsNull() || !same(prior, proposed, "write_version")):
			return tftypes.NewValue(value.Type(), tftypes.UnknownValue), nil
		case attribute.Computed && value.IsNull() && attribute.Name != "write_digest":
			return tftypes.NewValue(value.Type(), tftypes.UnknownValue), nil
		}
		return value, nil
	})
}

func sameButRevision(prior, proposed tftypes.Value) bool {
	before, after := members(prior), members(proposed)
	for name, value := range after {
		if name != "revision" && name != "write" && name != "write_digest" && !value.Equal(before[name]) {
			return false
		}
	}
	return true
}

func members(value tftypes.Value) map[string]tftypes.Value {
	out := map[string]tftypes.Value{}
	if !value.IsNull() && value.IsKnown() {
		_ = value.As(&out)
	}
	return out
}

func same(left, right tftypes.Value, name string) bool {
	return members(left)[name].Equal(members(right)[name])
}

func text(value tftypes.Value, name string) string {
	member, found := members(value)[name]
	var out *string
	if !found || member.IsNull() || !member.IsKnown() || member.As(&out) != nil {
		return ""
	}
	return *out
}

// made turns a plan into what it became: every unknown value follows from the name and its place.
func made(prior, plan, config tftypes.Value) (tftypes.Value, error) {
	name := text(plan, "name")
	return tftypes.Transform(plan, func(path *tftypes.AttributePath, value tftypes.Value) (tftypes.Value, error) {
		if value.IsKnown() {
			return value, nil
		}
		switch last(path) {
		case "revision":
			before := new(big.Float)
			if number, found := members(prior)["revision"]; found && number.IsKnown() && !number.IsNull() {
				_ = number.As(&before)
			}
			return tftypes.NewValue(tftypes.Number, new(big.Float).Add(before, big.NewFloat(1))), nil
		case "write_digest":
			return tftypes.NewValue(tftypes.String, digest(text(config, "write"))), nil
		case "id":
			if len(path.Steps()) == 1 {
				return tftypes.NewValue(tftypes.String, "id-"+name), nil
			}
		}
		if !value.Type().Is(tftypes.String) {
			return tftypes.NewValue(value.Type(), nil), nil
		}
		return tftypes.NewValue(tftypes.String, "made:"+name+"/"+names(path)), nil
	})
}

func names(path *tftypes.AttributePath) string {
	var out []string
	for _, step := range path.Steps() {
		if name, isName := step.(tftypes.AttributeName); isName {
			out = append(out, string(name))
		}
	}
	return strings.Join(out, ".")
}

func digest(value string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(value)))[:16]
}

// replaces names what cannot be changed in place; also where it did not change, as real providers do.
func replaces(value tftypes.Value) []*tftypes.AttributePath {
	paths := []*tftypes.AttributePath{}
	at := tftypes.NewAttributePath
	if _, found := members(value)["force"]; found {
		paths = append(paths, at().WithAttributeName("force"))
	}
	if many, found := members(value)["many"]; found && many.IsKnown() && !many.IsNull() {
		var items []tftypes.Value
		_ = many.As(&items)
		for index := range items {
			paths = append(paths, at().WithAttributeName("many").WithElementKeyInt(index).WithAttributeName("fixed"))
		}
	}
	for _, name := range []string{"one", "group", "in_one"} {
		if object, found := members(value)[name]; found && !object.IsNull() && object.IsKnown() {
			paths = append(paths, at().WithAttributeName(name).WithAttributeName("fixed"))
		}
	}
	return paths
}

func problem(summary, detail string, path ...string) *tfprotov6.Diagnostic {
	said := &tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityError, Summary: summary, Detail: detail}
	if len(path) > 0 {
		at := tftypes.NewAttributePath()
		for _, name := range path {
			at = at.WithAttributeName(name)
		}
		said.Attribute = at
	}
	return said
}
