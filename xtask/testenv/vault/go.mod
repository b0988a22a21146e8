module vaultbox

go 1.26.0

require github.com/hashicorp/vault v1.21.1

replace (
	github.com/99designs/keyring => github.com/Jeffail/keyring v1.2.3
	github.com/hashicorp/vault/api => github.com/hashicorp/vault/api v1.22.0
	github.com/hashicorp/vault/api/auth/approle => github.com/hashicorp/vault/api/auth/approle v0.11.0
	github.com/hashicorp/vault/api/auth/kubernetes => github.com/hashicorp/vault/api/auth/kubernetes v0.10.0
	github.com/hashicorp/vault/api/auth/userpass => github.com/hashicorp/vault/api/auth/userpass v0.10.0
	github.com/hashicorp/vault/sdk => github.com/hashicorp/vault/sdk v0.20.0
	github.com/ma314smith/signedxml v1.1.1 => github.com/moov-io/signedxml v1.1.1
)
