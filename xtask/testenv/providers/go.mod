module providers

go 1.26.8

require (
	github.com/hashicorp/terraform-provider-time v0.14.2
	github.com/hashicorp/terraform-provider-tls v1.2.1-0.20260819085117-d044ca7c6f52
	github.com/terraform-providers/terraform-provider-http v1.2.1-0.20260903154542-926109cd8c07
	github.com/terraform-providers/terraform-provider-local v1.4.1-0.20260513075820-3561e410f9fe
	github.com/terraform-providers/terraform-provider-random v1.3.2-0.20260824155315-e1092b0cfc07
)
