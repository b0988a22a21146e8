package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func (s *server) kind(name string) string { return strings.TrimPrefix(name, s.name+"_") }

func (s *server) ValidateResourceConfig(ctx context.Context, ask *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	answer := &tfprotov6.ValidateResourceConfigResponse{}
	config, err := ask.Config.Unmarshal(s.resources()[ask.TypeName].ValueType())
	if err != nil {
		return nil, err
	}
	if text(config, "name") == "refused" {
		answer.Diagnostics = append(answer.Diagnostics, problem("No such name", "`refused` is never taken", "name"))
	}
	writes := text(config, "write") != ""
	if writes && (ask.ClientCapabilities == nil || !ask.ClientCapabilities.WriteOnlyAttributesAllowed) {
		answer.Diagnostics = append(answer.Diagnostics, problem("No write-only attributes", "the host does not know them", "write"))
	}
	return answer, s.before(ctx, "ValidateResourceConfig")
}

func (s *server) UpgradeResourceState(ctx context.Context, ask *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	ty := s.resources()[ask.TypeName].ValueType()
	raw := ask.RawState
	if s.kind(ask.TypeName) == "old" && ask.Version < 2 {
		// `name` is called `title` since version 2.
		var all map[string]any
		if err := json.Unmarshal(raw.JSON, &all); err != nil {
			return nil, err
		}
		all["title"] = all["name"]
		delete(all, "name")
		renamed, err := json.Marshal(all)
		if err != nil {
			return nil, err
		}
		raw = &tfprotov6.RawState{JSON: renamed}
	}
	value, err := raw.UnmarshalWithOpts(ty, tfprotov6.UnmarshalOpts{ValueFromJSONOpts: tftypes.ValueFromJSONOpts{IgnoreUndefinedAttributes: true}})
	if err != nil {
		return &tfprotov6.UpgradeResourceStateResponse{Diagnostics: []*tfprotov6.Diagnostic{problem("Cannot read the state", err.Error())}}, nil
	}
	state, err := tfprotov6.NewDynamicValue(ty, value)
	if err != nil {
		return nil, err
	}
	answer := &tfprotov6.UpgradeResourceStateResponse{UpgradedState: &state}
	answer.UpgradedState, answer.Diagnostics = spoiled("UpgradeResourceState", answer.UpgradedState, nil)
	return answer, s.before(ctx, "UpgradeResourceState")
}

func (s *server) ReadResource(ctx context.Context, ask *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	ty := s.resources()[ask.TypeName].ValueType()
	value, err := ask.CurrentState.Unmarshal(ty)
	if err != nil {
		return nil, err
	}
	value = look(ask.TypeName, ty, value)
	if text(value, "behave") == "gone" {
		value = tftypes.NewValue(ty, nil)
	}
	state, err := tfprotov6.NewDynamicValue(ty, value)
	if err != nil {
		return nil, err
	}
	answer := &tfprotov6.ReadResourceResponse{NewState: &state, Private: ask.Private, NewIdentity: s.identity(ask.TypeName, value)}
	answer.NewState, answer.Diagnostics = spoiled("ReadResource", answer.NewState, s.locked())
	return answer, s.before(ctx, "ReadResource")
}

func (s *server) PlanResourceChange(ctx context.Context, ask *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	of := s.resources()[ask.TypeName]
	ty := of.ValueType()
	prior, err := ask.PriorState.Unmarshal(ty)
	if err != nil {
		return nil, err
	}
	proposed, err := ask.ProposedNewState.Unmarshal(ty)
	if err != nil {
		return nil, err
	}
	answer := &tfprotov6.PlanResourceChangeResponse{PlannedState: ask.ProposedNewState, PlannedPrivate: ask.PriorPrivate}
	if proposed.IsNull() {
		return answer, s.before(ctx, "PlanResourceChange")
	}
	plan, err := planned(of.Block, prior, proposed)
	if err != nil {
		return nil, err
	}
	if s.kind(ask.TypeName) == "legacy" {
		answer.UnsafeToUseLegacyTypeSystem = true
		plan = with(ty, plan, "opt", "what the provider likes")
	}
	if text(plan, "behave") == "bad-plan" {
		plan = with(ty, plan, "name", "another")
	}
	state, err := tfprotov6.NewDynamicValue(ty, plan)
	if err != nil {
		return nil, err
	}
	answer.PlannedState = &state
	answer.PlannedPrivate = []byte(`{"planned":true}`)
	answer.RequiresReplace = replaces(plan)
	wait := members(proposed)["wait"]
	puts := ask.ClientCapabilities != nil && ask.ClientCapabilities.DeferralAllowed
	if s.kind(ask.TypeName) == "later" && puts && (!wait.IsKnown() || text(proposed, "wait") == "always") {
		answer.Deferred = &tfprotov6.Deferred{Reason: tfprotov6.DeferredReasonResourceConfigUnknown}
	}
	answer.PlannedState, answer.Diagnostics = spoiled("PlanResourceChange", answer.PlannedState, nil)
	return answer, s.before(ctx, "PlanResourceChange")
}

// with is an object with another text in it.
func with(ty tftypes.Type, object tftypes.Value, name, text string) tftypes.Value {
	all := members(object)
	if _, found := all[name]; found {
		all[name] = tftypes.NewValue(tftypes.String, text)
	}
	return tftypes.NewValue(ty, all)
}

func (s *server) ApplyResourceChange(ctx context.Context, ask *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	ty := s.resources()[ask.TypeName].ValueType()
	var values [3]tftypes.Value
	for at, from := range []*tfprotov6.DynamicValue{ask.PriorState, ask.PlannedState, ask.Config} {
		var err error
		if values[at], err = from.Unmarshal(ty); err != nil {
			return nil, err
		}
	}
	prior, plan, config := values[0], values[1], values[2]
	// A fault strikes before anything is done; `late` ones after the world has changed.
	if err := s.before(ctx, "ApplyResourceChange"); err != nil {
		return nil, err
	}
	if said := s.locked(); said != nil {
		return &tfprotov6.ApplyResourceChangeResponse{NewState: ask.PriorState, Diagnostics: said}, nil
	}
	answer := &tfprotov6.ApplyResourceChangeResponse{NewState: ask.PlannedState, Private: ask.PlannedPrivate}
	if plan.IsNull() {
		if text(prior, "behave") == "stay" {
			answer.NewState, answer.Diagnostics = ask.PriorState, []*tfprotov6.Diagnostic{problem("It stays", "as asked")}
			return answer, nil
		}
		remove(ask.TypeName, prior)
		return answer, s.before(ctx, "ApplyResourceChange.late")
	}
	value, err := made(prior, plan, config)
	if err != nil {
		return nil, err
	}
	switch text(plan, "behave") {
	case "fail-empty":
		empty, err := tfprotov6.NewDynamicValue(ty, tftypes.NewValue(ty, nil))
		answer.NewState, answer.Diagnostics = &empty, []*tfprotov6.Diagnostic{problem("Nothing was made", "as asked")}
		return answer, err
	case "fail-half":
		answer.Diagnostics = append(answer.Diagnostics, problem("Only half of it was made", "as asked"))
	case "bad-apply":
		value = with(ty, value, "name", "another")
	case "unknown-left":
		value = plan
	case "null":
		value = tftypes.NewValue(ty, nil)
	}
	if said := write(ask.TypeName, prior.IsNull(), value); said != nil {
		empty, err := tfprotov6.NewDynamicValue(ty, prior)
		answer.NewState, answer.Diagnostics = &empty, []*tfprotov6.Diagnostic{said}
		return answer, err
	}
	state, err := tfprotov6.NewDynamicValue(ty, value)
	if err != nil {
		return nil, err
	}
	answer.NewState, answer.Private = &state, []byte(`{"made":true}`)
	answer.NewIdentity = s.identity(ask.TypeName, value)
	answer.UnsafeToUseLegacyTypeSystem = s.kind(ask.TypeName) == "legacy"
	answer.NewState, answer.Diagnostics = spoiled("ApplyResourceChange", answer.NewState, answer.Diagnostics)
	return answer, s.before(ctx, "ApplyResourceChange.late")
}

// identity says who an object is; nothing for types that have none.
func (s *server) identity(name string, value tftypes.Value) *tfprotov6.ResourceIdentityData {
	schema := s.identities()[name]
	if schema == nil || value.IsNull() {
		return nil
	}
	all := members(value)
	object := tftypes.NewValue(schema.ValueType(), map[string]tftypes.Value{"country": all["country"], "name": all["name"]})
	data, err := tfprotov6.NewDynamicValue(schema.ValueType(), object)
	if err != nil {
		return nil
	}
	return &tfprotov6.ResourceIdentityData{IdentityData: &data}
}
