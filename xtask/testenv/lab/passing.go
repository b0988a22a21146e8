package main

import (
	"context"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func (s *server) ValidateEphemeralResourceConfig(ctx context.Context, _ *tfprotov6.ValidateEphemeralResourceConfigRequest) (*tfprotov6.ValidateEphemeralResourceConfigResponse, error) {
	return &tfprotov6.ValidateEphemeralResourceConfigResponse{}, s.before(ctx, "ValidateEphemeralResourceConfig")
}

// OpenEphemeralResource gives a token; its private part counts how often it was renewed.
func (s *server) OpenEphemeralResource(ctx context.Context, ask *tfprotov6.OpenEphemeralResourceRequest) (*tfprotov6.OpenEphemeralResourceResponse, error) {
	ty := s.ephemerals()[ask.TypeName].ValueType()
	config, err := ask.Config.Unmarshal(ty)
	if err != nil {
		return nil, err
	}
	all := members(config)
	all["token"] = tftypes.NewValue(tftypes.String, "token-of-"+text(config, "name"))
	result, err := tfprotov6.NewDynamicValue(ty, tftypes.NewValue(ty, all))
	if err != nil {
		return nil, err
	}
	seconds := new(big.Float)
	if wish := all["renew_seconds"]; wish.IsKnown() && !wish.IsNull() {
		_ = wish.As(&seconds)
	}
	answer := &tfprotov6.OpenEphemeralResourceResponse{Result: &result, Private: []byte("0")}
	if n, _ := seconds.Int64(); n > 0 {
		answer.RenewAt = time.Now().Add(time.Duration(n) * time.Second)
	}
	return answer, s.before(ctx, "OpenEphemeralResource")
}

func (s *server) RenewEphemeralResource(ctx context.Context, ask *tfprotov6.RenewEphemeralResourceRequest) (*tfprotov6.RenewEphemeralResourceResponse, error) {
	n, err := strconv.Atoi(string(ask.Private))
	if err != nil {
		return nil, err
	}
	answer := &tfprotov6.RenewEphemeralResourceResponse{Private: []byte(strconv.Itoa(n + 1)), RenewAt: time.Now().Add(time.Second)}
	return answer, s.before(ctx, "RenewEphemeralResource")
}

// CloseEphemeralResource writes down the private part that it was given: it must be the newest.
func (s *server) CloseEphemeralResource(ctx context.Context, ask *tfprotov6.CloseEphemeralResourceRequest) (*tfprotov6.CloseEphemeralResourceResponse, error) {
	trace("closed after " + string(ask.Private))
	return &tfprotov6.CloseEphemeralResourceResponse{}, s.before(ctx, "CloseEphemeralResource")
}

func (s *server) GetFunctions(ctx context.Context, _ *tfprotov6.GetFunctionsRequest) (*tfprotov6.GetFunctionsResponse, error) {
	return &tfprotov6.GetFunctionsResponse{Functions: functions()}, s.before(ctx, "GetFunctions")
}

func (s *server) CallFunction(ctx context.Context, ask *tfprotov6.CallFunctionRequest) (*tfprotov6.CallFunctionResponse, error) {
	if err := s.before(ctx, "CallFunction"); err != nil {
		return nil, err
	}
	of := functions()[ask.Name]
	var arguments []tftypes.Value
	for at, raw := range ask.Arguments {
		parameter := of.VariadicParameter
		if at < len(of.Parameters) {
			parameter = of.Parameters[at]
		}
		value, err := raw.Unmarshal(parameter.Type)
		if err != nil {
			return nil, err
		}
		arguments = append(arguments, value)
	}
	second := int64(1)
	var result string
	switch ask.Name {
	case "fail":
		return &tfprotov6.CallFunctionResponse{Error: &tfprotov6.FunctionError{Text: "the second one is wrong", FunctionArgument: &second}}, nil
	case "kind":
		switch {
		case !arguments[0].IsKnown():
			result = "unknown"
		case arguments[0].IsNull():
			result = "null"
		default:
			result = arguments[0].Type().String()
		}
	case "join":
		var texts []string
		for _, one := range arguments[1:] {
			var text string
			_ = one.As(&text)
			texts = append(texts, text)
		}
		var between string
		_ = arguments[0].As(&between)
		result = strings.Join(texts, between)
	}
	back, err := tfprotov6.NewDynamicValue(textType, tftypes.NewValue(textType, result))
	return &tfprotov6.CallFunctionResponse{Result: &back}, err
}

func upper(value tftypes.Value) tftypes.Value {
	var text *string
	if !value.IsKnown() || value.IsNull() || value.As(&text) != nil {
		return tftypes.NewValue(tftypes.String, nil)
	}
	return tftypes.NewValue(tftypes.String, strings.ToUpper(*text))
}
