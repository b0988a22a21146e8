package main

import (
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type (
	attribute = tfprotov6.SchemaAttribute
	block     = tfprotov6.SchemaBlock
	nested    = tfprotov6.SchemaNestedBlock
)

var (
	textType   = tftypes.String
	objectType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"a": tftypes.String, "n": tftypes.Number}}
)

func optional(name string, ty tftypes.Type) *attribute {
	return &attribute{Name: name, Type: ty, Optional: true}
}

func computed(name string, ty tftypes.Type) *attribute {
	return &attribute{Name: name, Type: ty, Computed: true}
}

func required(name string, ty tftypes.Type) *attribute {
	return &attribute{Name: name, Type: ty, Required: true}
}

// What stands in each block and nested attribute.
func inner() []*attribute {
	return []*attribute{
		required("name", textType),
		optional("value", textType),
		computed("id", textType),
		{Name: "either", Type: textType, Optional: true, Computed: true},
		optional("fixed", textType),
		{Name: "hidden", Type: textType, Optional: true, Sensitive: true},
	}
}

// thing has a place for everything that a schema can hold.
func thing(with6 bool) *tfprotov6.Schema {
	attributes := []*attribute{
		computed("id", textType),
		required("name", textType),
		optional("opt", textType),
		{Name: "either", Type: textType, Optional: true, Computed: true},
		computed("revision", tftypes.Number),
		optional("number", tftypes.Number),
		optional("flag", tftypes.Bool),
		optional("force", textType),
		{Name: "secret", Type: textType, Optional: true, Sensitive: true},
		{Name: "write", Type: textType, Optional: true, WriteOnly: true, Sensitive: true},
		optional("write_version", tftypes.Number),
		computed("write_digest", textType),
		optional("list", tftypes.List{ElementType: textType}),
		optional("set", tftypes.Set{ElementType: textType}),
		optional("numbers", tftypes.Set{ElementType: tftypes.Number}),
		optional("map", tftypes.Map{ElementType: textType}),
		optional("object", objectType),
		optional("objects", tftypes.Set{ElementType: objectType}),
		optional("any", tftypes.DynamicPseudoType),
		optional("behave", textType),
	}
	if with6 {
		nest := func(name string, mode tfprotov6.SchemaObjectNestingMode) *attribute {
			return &attribute{Name: name, Optional: true, NestedType: &tfprotov6.SchemaObject{Nesting: mode, Attributes: inner()}}
		}
		attributes = append(attributes,
			nest("in_one", tfprotov6.SchemaObjectNestingModeSingle),
			nest("in_list", tfprotov6.SchemaObjectNestingModeList),
			nest("in_set", tfprotov6.SchemaObjectNestingModeSet),
			nest("in_map", tfprotov6.SchemaObjectNestingModeMap),
		)
	}
	of := func(name string, mode tfprotov6.SchemaNestedBlockNestingMode, blocks ...*nested) *nested {
		return &nested{TypeName: name, Nesting: mode, Block: &block{Attributes: inner(), BlockTypes: blocks}}
	}
	deep := of("leaf", tfprotov6.SchemaNestedBlockNestingModeSet)
	group := of("group", tfprotov6.SchemaNestedBlockNestingModeGroup)
	// A group is there always, so nothing of it may be required.
	group.Block.Attributes[0] = optional("name", textType)
	blocks := []*nested{
		of("one", tfprotov6.SchemaNestedBlockNestingModeSingle),
		of("many", tfprotov6.SchemaNestedBlockNestingModeList, deep),
		of("bag", tfprotov6.SchemaNestedBlockNestingModeSet),
		of("named", tfprotov6.SchemaNestedBlockNestingModeMap),
		group,
	}
	return &tfprotov6.Schema{Version: 1, Block: &block{Attributes: attributes, BlockTypes: blocks}}
}

// A small schema of plain attributes.
func small(version int64, attributes ...*attribute) *tfprotov6.Schema {
	return &tfprotov6.Schema{Version: version, Block: &block{Attributes: attributes}}
}

func (s *server) resources() map[string]*tfprotov6.Schema {
	id := func() *attribute { return computed("id", textType) }
	return map[string]*tfprotov6.Schema{
		s.name + "_thing": thing(s.with6),
		// Says who it is by an identity.
		s.name + "_citizen": small(0, id(), required("name", textType), required("country", textType), optional("opt", textType)),
		// Takes over things.
		s.name + "_heir": small(0, id(), required("name", textType), optional("opt", textType)),
		// Its state was once written otherwise.
		s.name + "_old": small(2, id(), required("title", textType)),
		// Puts plans off.
		s.name + "_later": small(0, id(), optional("wait", textType)),
		// Breaks the rules as providers of the old SDK do.
		s.name + "_legacy": small(0, id(), required("name", textType), optional("opt", textType)),
	}
}

func (s *server) dataSources() map[string]*tfprotov6.Schema {
	return map[string]*tfprotov6.Schema{
		s.name + "_echo": small(0, optional("in", tftypes.DynamicPseudoType), computed("out", tftypes.DynamicPseudoType), optional("text", textType), computed("upper", textType)),
	}
}

func (s *server) ephemerals() map[string]*tfprotov6.Schema {
	return map[string]*tfprotov6.Schema{
		s.name + "_token": small(0, required("name", textType), optional("renew_seconds", tftypes.Number), computed("token", textType)),
	}
}

func (s *server) identities() map[string]*tfprotov6.ResourceIdentitySchema {
	return map[string]*tfprotov6.ResourceIdentitySchema{
		s.name + "_citizen": {Version: 1, IdentityAttributes: []*tfprotov6.ResourceIdentitySchemaAttribute{
			{Name: "country", Type: textType, RequiredForImport: true},
			{Name: "name", Type: textType, RequiredForImport: true},
		}},
	}
}

func functions() map[string]*tfprotov6.Function {
	text := func(name string) *tfprotov6.FunctionParameter {
		return &tfprotov6.FunctionParameter{Name: name, Type: textType}
	}
	back := &tfprotov6.FunctionReturn{Type: textType}
	return map[string]*tfprotov6.Function{
		"join": {Parameters: []*tfprotov6.FunctionParameter{text("between")}, VariadicParameter: text("part"), Return: back},
		"fail": {Parameters: []*tfprotov6.FunctionParameter{text("first"), text("second")}, Return: back},
		"kind": {
			Parameters: []*tfprotov6.FunctionParameter{{Name: "value", Type: tftypes.DynamicPseudoType, AllowNullValue: true, AllowUnknownValues: true}},
			Return:     back,
		},
	}
}
