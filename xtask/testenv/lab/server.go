package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// server answers all calls; its types have the name of the provider before them.
type server struct {
	name    string
	with6   bool
	token   string
	stopped chan struct{}
}

func newServer(name string, with6 bool) *server {
	return &server{name: name, with6: with6, stopped: make(chan struct{})}
}

var _ tfprotov6.ProviderServer = (*server)(nil)

var able = &tfprotov6.ServerCapabilities{PlanDestroy: true, GetProviderSchemaOptional: true, MoveResourceState: true}

func (s *server) configuration() *tfprotov6.Schema {
	return small(0, optional("token", textType), optional("region", textType))
}

func (s *server) GetMetadata(ctx context.Context, _ *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	answer := &tfprotov6.GetMetadataResponse{ServerCapabilities: able}
	for name := range s.resources() {
		answer.Resources = append(answer.Resources, tfprotov6.ResourceMetadata{TypeName: name})
	}
	for name := range s.dataSources() {
		answer.DataSources = append(answer.DataSources, tfprotov6.DataSourceMetadata{TypeName: name})
	}
	for name := range s.ephemerals() {
		answer.EphemeralResources = append(answer.EphemeralResources, tfprotov6.EphemeralResourceMetadata{TypeName: name})
	}
	for name := range functions() {
		answer.Functions = append(answer.Functions, tfprotov6.FunctionMetadata{Name: name})
	}
	return answer, s.before(ctx, "GetMetadata")
}

func (s *server) GetProviderSchema(ctx context.Context, _ *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	answer := &tfprotov6.GetProviderSchemaResponse{
		ServerCapabilities:       able,
		Provider:                 s.configuration(),
		ProviderMeta:             small(0, optional("module", textType)),
		ResourceSchemas:          s.resources(),
		DataSourceSchemas:        s.dataSources(),
		EphemeralResourceSchemas: s.ephemerals(),
		Functions:                functions(),
	}
	if fault("GetProviderSchema") == "garbage" {
		// Two flags that exclude each other.
		answer.ResourceSchemas[s.name+"_later"].Block.Attributes[0].Required = true
	}
	_, answer.Diagnostics = spoiled("GetProviderSchema", nil, nil)
	return answer, s.before(ctx, "GetProviderSchema")
}

func (s *server) GetResourceIdentitySchemas(ctx context.Context, _ *tfprotov6.GetResourceIdentitySchemasRequest) (*tfprotov6.GetResourceIdentitySchemasResponse, error) {
	return &tfprotov6.GetResourceIdentitySchemasResponse{IdentitySchemas: s.identities()}, s.before(ctx, "GetResourceIdentitySchemas")
}

func (s *server) ValidateProviderConfig(ctx context.Context, ask *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: ask.Config}, s.before(ctx, "ValidateProviderConfig")
}

func (s *server) ConfigureProvider(ctx context.Context, ask *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	answer := &tfprotov6.ConfigureProviderResponse{}
	config, err := ask.Config.Unmarshal(s.configuration().ValueType())
	if err != nil {
		return nil, err
	}
	if text(config, "token") == "wrong" {
		answer.Diagnostics = append(answer.Diagnostics, problem("Not allowed", "the token is not known", "token"))
	}
	s.token = text(config, "token")
	return answer, s.before(ctx, "ConfigureProvider")
}

func (s *server) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	trace("StopProvider")
	close(s.stopped)
	return &tfprotov6.StopProviderResponse{}, nil
}

func (s *server) ValidateDataResourceConfig(ctx context.Context, _ *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, s.before(ctx, "ValidateDataResourceConfig")
}

// ReadDataSource gives back what it was given.
func (s *server) ReadDataSource(ctx context.Context, ask *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	ty := s.dataSources()[ask.TypeName].ValueType()
	config, err := ask.Config.Unmarshal(ty)
	if err != nil {
		return nil, err
	}
	all := members(config)
	all["out"] = all["in"]
	all["upper"] = upper(all["text"])
	state, err := tfprotov6.NewDynamicValue(ty, tftypes.NewValue(ty, all))
	if err != nil {
		return nil, err
	}
	answer := &tfprotov6.ReadDataSourceResponse{State: &state}
	if text(config, "text") == "defer" && ask.ClientCapabilities != nil && ask.ClientCapabilities.DeferralAllowed {
		answer.Deferred = &tfprotov6.Deferred{Reason: tfprotov6.DeferredReasonProviderConfigUnknown}
	}
	answer.State, answer.Diagnostics = spoiled("ReadDataSource", answer.State, nil)
	return answer, s.before(ctx, "ReadDataSource")
}
