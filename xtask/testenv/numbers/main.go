// Prints the protobuf numbers of the fields of every type that a kind of Kubernetes reaches: a line per type, "number=field",
// or "number>type" for a message whose fields stand in the outer object. Asked by reflection of the types that the pinned
// modules register; `cargo xtask codegen protobuf` runs it with the go.mod and go.sum of kubebox.
package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"

	extensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/kubernetes/scheme"
	registration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

var lines = map[string]string{}

// name is the type's name in OpenAPI: io.k8s.api.core.v1.Pod.
func name(t reflect.Type) string {
	path := strings.Split(t.PkgPath(), "/")
	host := strings.Split(path[0], ".")
	for i, j := 0, len(host)-1; i < j; i, j = i+1, j-1 {
		host[i], host[j] = host[j], host[i]
	}
	return strings.Join(append(append(host, path[1:]...), t.Name()), ".")
}

func visit(t reflect.Type) {
	switch t.Kind() {
	case reflect.Ptr, reflect.Slice, reflect.Array:
		visit(t.Elem())
		return
	case reflect.Map:
		visit(t.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if !strings.HasPrefix(t.PkgPath(), "k8s.io/") {
		return
	}
	key := name(t)
	if _, known := lines[key]; known {
		return
	}
	lines[key] = ""
	words := []string{}
	numbers := map[string]int{}
	for i := 0; i < t.NumField(); i++ {
		field := t.Field(i)
		tag := strings.Split(field.Tag.Get("protobuf"), ",")
		if len(tag) > 1 {
			json := strings.Split(field.Tag.Get("json"), ",")[0]
			word := tag[1] + "=" + json
			if json == "" {
				inner := field.Type
				for inner.Kind() == reflect.Ptr || inner.Kind() == reflect.Slice {
					inner = inner.Elem()
				}
				word = tag[1] + ">" + name(inner)
			}
			if json != "-" {
				number := 0
				fmt.Sscan(tag[1], &number)
				numbers[word] = number
				words = append(words, word)
			}
		}
		visit(field.Type)
	}
	sort.Slice(words, func(i, j int) bool { return numbers[words[i]] < numbers[words[j]] })
	lines[key] = strings.Join(words, " ")
}

func main() {
	all := scheme.Scheme
	if err := extensions.AddToScheme(all); err != nil {
		panic(err)
	}
	if err := registration.AddToScheme(all); err != nil {
		panic(err)
	}
	for _, t := range all.AllKnownTypes() {
		visit(t)
	}
	keys := []string{}
	for key := range lines {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for _, key := range keys {
		fmt.Printf("%s\t%s\n", key, lines[key])
	}
}
