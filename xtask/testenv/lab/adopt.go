package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// object makes an object of some texts, null in all other places; blocks that are lists are empty.
func object(of *tfprotov6.Schema, texts map[string]string) (tftypes.Value, *tfprotov6.DynamicValue, error) {
	ty := of.ValueType()
	all := map[string]tftypes.Value{}
	for name, member := range ty.(tftypes.Object).AttributeTypes {
		all[name] = tftypes.NewValue(member, nil)
		if text, found := texts[name]; found {
			all[name] = tftypes.NewValue(tftypes.String, text)
		}
	}
	value := tftypes.NewValue(ty, all)
	data, err := tfprotov6.NewDynamicValue(ty, value)
	return value, &data, err
}

// ImportResourceState takes over what an id or an identity names: `NAME`, or `COUNTRY/NAME`. `none` and `two` are those many,
// `later` is put off if that is allowed.
func (s *server) ImportResourceState(ctx context.Context, ask *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	answer := &tfprotov6.ImportResourceStateResponse{Diagnostics: s.locked()}
	if ask.ID == "later" && ask.ClientCapabilities != nil && ask.ClientCapabilities.DeferralAllowed {
		answer.Deferred = &tfprotov6.Deferred{Reason: tfprotov6.DeferredReasonAbsentPrereq}
		return answer, s.before(ctx, "ImportResourceState")
	}
	texts := map[string]string{"id": "id-" + ask.ID, "name": ask.ID, "title": ask.ID}
	if schema := s.identities()[ask.TypeName]; schema != nil {
		country, name, _ := strings.Cut(ask.ID, "/")
		if ask.Identity != nil && ask.Identity.IdentityData != nil {
			who, err := ask.Identity.IdentityData.Unmarshal(schema.ValueType())
			if err != nil {
				return nil, err
			}
			country, name = text(who, "country"), text(who, "name")
		}
		texts = map[string]string{"id": "id-" + name, "name": name, "country": country}
	}
	value, state, err := object(s.resources()[ask.TypeName], texts)
	if err != nil {
		return nil, err
	}
	one := &tfprotov6.ImportedResource{TypeName: ask.TypeName, State: state, Private: []byte(`{"imported":true}`), Identity: s.identity(ask.TypeName, value)}
	switch ask.ID {
	case "none":
	case "two":
		answer.ImportedResources = append(answer.ImportedResources, one, one)
	default:
		answer.ImportedResources = append(answer.ImportedResources, one)
	}
	return answer, s.before(ctx, "ImportResourceState")
}

// MoveResourceState makes heirs of things, and of nothing else.
func (s *server) MoveResourceState(ctx context.Context, ask *tfprotov6.MoveResourceStateRequest) (*tfprotov6.MoveResourceStateResponse, error) {
	answer := &tfprotov6.MoveResourceStateResponse{TargetPrivate: ask.SourcePrivate}
	if !strings.HasSuffix(ask.SourceTypeName, "_thing") || s.kind(ask.TargetTypeName) != "heir" {
		answer.Diagnostics = append(answer.Diagnostics, problem("Cannot be moved", ask.SourceTypeName+" cannot become "+ask.TargetTypeName))
		return answer, nil
	}
	var all map[string]any
	if err := json.Unmarshal(ask.SourceState.JSON, &all); err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, name := range []string{"id", "name", "opt"} {
		if text, isText := all[name].(string); isText {
			texts[name] = text
		}
	}
	_, state, err := object(s.resources()[ask.TargetTypeName], texts)
	answer.TargetState = state
	if err != nil {
		return nil, err
	}
	return answer, s.before(ctx, "MoveResourceState")
}

// UpgradeResourceIdentity: in version 0 the country was called `land`.
func (s *server) UpgradeResourceIdentity(ctx context.Context, ask *tfprotov6.UpgradeResourceIdentityRequest) (*tfprotov6.UpgradeResourceIdentityResponse, error) {
	var all map[string]string
	if err := json.Unmarshal(ask.RawIdentity.JSON, &all); err != nil {
		return nil, err
	}
	if land, found := all["land"]; found {
		all["country"] = land
	}
	schema := s.identities()[ask.TypeName]
	who := map[string]tftypes.Value{}
	for _, name := range []string{"country", "name"} {
		who[name] = tftypes.NewValue(tftypes.String, all[name])
	}
	data, err := tfprotov6.NewDynamicValue(schema.ValueType(), tftypes.NewValue(schema.ValueType(), who))
	if err != nil {
		return nil, err
	}
	return &tfprotov6.UpgradeResourceIdentityResponse{UpgradedIdentity: &tfprotov6.ResourceIdentityData{IdentityData: &data}}, s.before(ctx, "UpgradeResourceIdentity")
}

func (s *server) GenerateResourceConfig(ctx context.Context, ask *tfprotov6.GenerateResourceConfigRequest) (*tfprotov6.GenerateResourceConfigResponse, error) {
	return &tfprotov6.GenerateResourceConfigResponse{Config: ask.State}, s.before(ctx, "GenerateResourceConfig")
}
