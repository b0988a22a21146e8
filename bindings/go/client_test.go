package kcl

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func client(t *testing.T) *Client {
	t.Helper()
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return c
}

func TestRun(t *testing.T) {
	c, ctx := client(t), context.Background()
	var out struct {
		Name string `json:"name"`
		N    int    `json:"n"`
	}
	p := Program{Files: []string{"main.k"}, Texts: []string{"name = option(\"who\")\nn = 41 + 1\nprint(name)\n"}, Options: map[string]any{"who": "you"}}
	if err := c.Decode(ctx, p, &out); err != nil || out.Name != "you" || out.N != 42 {
		t.Fatal(out, err)
	}
	result, err := c.Run(ctx, Program{Files: p.Files, Texts: p.Texts, Options: p.Options, Overrides: []string{"n=1"}})
	if err != nil || result.YAML != "name: you\n'n': 1" || result.Log != "you\n" {
		t.Fatalf("%+v %v", result, err)
	}
	var wrong *Error
	for _, text := range []string{"a: int = \"x\"", "a = [1][2]"} {
		if _, err := c.Run(ctx, Program{Files: []string{"main.k"}, Texts: []string{text}}); !errors.As(err, &wrong) {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

func TestOverrideAndFormat(t *testing.T) {
	c, ctx := client(t), context.Background()
	file := filepath.Join(t.TempDir(), "main.k")
	os.WriteFile(file, []byte("# kept\napp = {image = \"pay:v1\"}\n"), 0o644)
	done, err := c.Override(ctx, file, `app.image="pay:v42"`)
	text, _ := os.ReadFile(file)
	if !done || err != nil || string(text) != "# kept\napp = {image = \"pay:v42\"}\n" {
		t.Fatal(done, err, string(text))
	}
	if done, err := c.Override(ctx, file, "nothing.there-"); done || err != nil {
		t.Fatal(done, err)
	}
	if text, err := c.Format(ctx, "a=1"); text != "a = 1\n" || err != nil {
		t.Fatalf("%q %v", text, err)
	}
	os.WriteFile(file, []byte("a=1\n"), 0o644)
	if changed, err := c.FormatPath(ctx, file); len(changed) != 1 || err != nil {
		t.Fatal(changed, err)
	}
}

func TestVet(t *testing.T) {
	c, ctx := client(t), context.Background()
	code := "schema User:\n    age: int\n    check:\n        age > 0, \"too young\"\n"
	if err := c.Vet(ctx, code, "User", `{"age": 1}`, "json"); err != nil {
		t.Fatal(err)
	}
	if err := c.Vet(ctx, code, "User", "age: 0", "yaml"); err == nil || !strings.Contains(err.Error(), "too young") {
		t.Fatal(err)
	}
}

func TestManyAtATimeAndCancellation(t *testing.T) {
	c := client(t)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if text, err := c.Format(context.Background(), "a=1"); text != "a = 1\n" || err != nil {
				t.Error(text, err)
			}
		})
	}
	all.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	if _, err := c.Format(ctx, "a=1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}
