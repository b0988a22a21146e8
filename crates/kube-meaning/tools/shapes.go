// Prints src/tables/shapes.tsv: how the server's own types write each field as JSON (facts that OpenAPI does not carry).
//
// Only the types of kubernetes.tsv are kept: filter the output by its T lines.
//
//	cd xtask/testenv/kubebox && go run ../../../crates/kube-meaning/tools/shapes.go > ../../../crates/kube-meaning/src/tables/shapes.tsv
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/scheme"
	aggregator "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var seen = map[reflect.Type]bool{}
var lines []string

func name(t reflect.Type) string {
	parts := strings.Split(t.PkgPath(), "/")
	host := strings.Split(parts[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(append(host, parts[1:]...), ".") + "." + t.Name()
}

// One letter per field; the meaning is in src/tables/shapes.rs.
func code(t reflect.Type, opts string) string {
	omit := strings.Contains(opts, "omitempty")
	zero := strings.Contains(opts, "omitzero")
	pick := func(yes, no string) string {
		if omit || zero {
			return yes
		}
		return no
	}
	switch t {
	case reflect.TypeOf(resource.Quantity{}):
		return "q"
	case reflect.TypeOf(intstr.IntOrString{}):
		return "i"
	case reflect.TypeOf(metav1.Time{}), reflect.TypeOf(metav1.MicroTime{}), reflect.TypeOf(runtime.RawExtension{}), reflect.TypeOf(apiext.JSON{}):
		if zero {
			return "T"
		}
		return "t"
	}
	switch t.Kind() {
	case reflect.Ptr, reflect.Interface:
		return pick("p", "n")
	case reflect.Slice, reflect.Map:
		return pick("e", "n")
	case reflect.Struct:
		if zero {
			return "S"
		}
		return "s"
	default:
		return pick("z", "r")
	}
}

func visit(t reflect.Type) {
	for t.Kind() == reflect.Ptr || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] || !strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		return
	}
	seen[t] = true
	switch t {
	case reflect.TypeOf(resource.Quantity{}), reflect.TypeOf(intstr.IntOrString{}), reflect.TypeOf(metav1.Time{}), reflect.TypeOf(metav1.MicroTime{}), reflect.TypeOf(runtime.RawExtension{}), reflect.TypeOf(apiext.JSON{}):
		return
	}
	var out []string
	fields(t, &out)
	sort.Strings(out)
	if len(out) > 0 {
		lines = append(lines, name(t)+"\t"+strings.Join(out, " "))
	}
}

func fields(t reflect.Type, out *[]string) {
	for i := 0; i < t.NumField(); i++ {
		f := t.Field(i)
		parts := strings.SplitN(f.Tag.Get("json"), ",", 2)
		opts := ""
		if len(parts) == 2 {
			opts = parts[1]
		}
		if parts[0] == "-" || f.PkgPath != "" {
			continue
		}
		if parts[0] == "" && (f.Anonymous || strings.Contains(opts, "inline")) {
			inner := f.Type
			if inner.Kind() == reflect.Ptr {
				inner = inner.Elem()
			}
			fields(inner, out)
			continue
		}
		if parts[0] == "" {
			continue
		}
		*out = append(*out, parts[0]+"="+code(f.Type, opts))
		visit(f.Type)
	}
}

func main() {
	apiext.AddToScheme(scheme.Scheme)
	aggregator.AddToScheme(scheme.Scheme)
	for gvk, t := range scheme.Scheme.AllKnownTypes() {
		if gvk.Version != "__internal" {
			visit(t)
		}
	}
	sort.Strings(lines)
	for _, line := range lines {
		fmt.Println(line)
	}
}
