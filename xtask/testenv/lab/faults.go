package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The plugin library takes the standard error over; what a dying process says goes past it.
var lastWords = os.Stderr

// before is called by every call: it is traced, and fails if that was asked for.
//
//	exit     the process ends, with a word on its standard error
//	panic    it ends as Go programs do
//	hang     no answer, until the provider is told to stop
//	sleep=D  a late answer
//	error    a failed call
func (s *server) before(ctx context.Context, call string) error {
	trace(call)
	kind := fault(call)
	switch {
	case kind == "exit":
		fmt.Fprintln(lastWords, "lab: ended in", call, "as asked")
		os.Exit(7)
	case kind == "panic":
		go panic("lab: panic in " + call + " as asked")
		time.Sleep(time.Minute)
	case kind == "hang":
		select {
		case <-s.stopped:
			return status.Error(codes.Canceled, "stopped")
		case <-ctx.Done():
			return ctx.Err()
		}
	case strings.HasPrefix(kind, "sleep="):
		if wait, err := time.ParseDuration(strings.TrimPrefix(kind, "sleep=")); err == nil {
			time.Sleep(wait)
		}
	case kind == "error":
		return status.Error(codes.Internal, "as asked")
	}
	return nil
}

// locked refuses whoever came without the token that objects are locked with.
func (s *server) locked() []*tfprotov6.Diagnostic {
	lock := os.Getenv("LAB_LOCK")
	if lock == "" || lock == s.token {
		return nil
	}
	return []*tfprotov6.Diagnostic{problem("Not allowed", "the provider has another token than the lock")}
}

// fault finds what was asked for a call.
func fault(call string) string {
	for _, one := range strings.Split(os.Getenv("LAB_FAULT"), ",") {
		if name, kind, found := strings.Cut(one, ":"); found && name == call {
			return kind
		}
	}
	return ""
}

// spoiled puts something wrong into an answer: bytes that are no value, or far too many.
func spoiled(call string, value *tfprotov6.DynamicValue, said []*tfprotov6.Diagnostic) (*tfprotov6.DynamicValue, []*tfprotov6.Diagnostic) {
	switch fault(call) {
	case "garbage":
		return &tfprotov6.DynamicValue{MsgPack: []byte{0xc1, 0xff, 0x00}}, said
	case "huge":
		said = append(said, &tfprotov6.Diagnostic{
			Severity: tfprotov6.DiagnosticSeverityWarning,
			Summary:  "huge",
			Detail:   strings.Repeat("x", 32<<20),
		})
	}
	return value, said
}

func trace(line string) {
	path := os.Getenv("LAB_TRACE")
	if path == "" {
		return
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer file.Close()
	fmt.Fprintln(file, line)
}
