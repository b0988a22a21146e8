// A provider for tests: every kind of schema, values that follow from the configuration alone, and faults on request.
//
// Started as `terraform-provider-lab` it speaks protocol 6, as `terraform-provider-lab5` protocol 5 (without nested
// attributes, which 5 does not have). What it is told by its environment:
//
//	LAB_TRACE=FILE    a line for each call
//	LAB_FAULT=A:K,…   call A fails as K says (faults.go)
//	LAB_WORLD=FOLDER  objects live there as files: they can be changed, removed and met twice
//	LAB_TLS=insist    it does not start without the certificate of a client; `wrong`: it shows another one than its own
//	LAB_LINE=TEXT     printed instead of the handshake
//	LAB_LOCK=TOKEN    objects are there only for who configures the provider with this token
package main

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-mux/tf6to5server"
)

func main() {
	tls := os.Getenv("LAB_TLS")
	if tls == "insist" && os.Getenv("PLUGIN_CLIENT_CERT") == "" {
		fmt.Fprintln(os.Stderr, "lab: only mutual TLS is spoken here: PLUGIN_CLIENT_CERT is not set")
		os.Exit(1)
	}
	if line := os.Getenv("LAB_LINE"); line != "" {
		rewriteHandshake(func(string) string { return line })
	} else if tls == "wrong" {
		rewriteHandshake(withOtherCertificate)
	}
	if strings.HasPrefix(filepath.Base(os.Args[0]), "terraform-provider-lab5") {
		serve5()
		return
	}
	server := newServer("lab", true)
	err := tf6server.Serve("registry.opentofu.org/acme/lab", func() tfprotov6.ProviderServer { return server })
	end(err)
}

func serve5() {
	down, err := tf6to5server.DowngradeServer(nil, func() tfprotov6.ProviderServer { return newServer("lab5", false) })
	if err != nil {
		end(err)
	}
	end(tf5server.Serve("registry.opentofu.org/acme/lab5", func() tfprotov5.ProviderServer { return down }))
}

func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// rewriteHandshake stands between the plugin library and the real standard output for one line.
func rewriteHandshake(change func(string) string) {
	real := os.Stdout
	from, to, err := os.Pipe()
	if err != nil {
		end(err)
	}
	os.Stdout = to
	go func() {
		lines := bufio.NewReader(from)
		line, _ := lines.ReadString('\n')
		fmt.Fprintln(real, change(strings.TrimSpace(line)))
		_, _ = io.Copy(real, lines)
	}()
}

func withOtherCertificate(line string) string {
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		return err.Error()
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"localhost"}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err.Error()
	}
	fields := strings.Split(line, "|")
	fields[5] = base64.RawStdEncoding.EncodeToString(der)
	return strings.Join(fields, "|")
}
