package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// holdLifeline ends this process when its parent does. The parent keeps the
// write end of our standard input open and never writes: end of file means
// that it is gone, however it went (kill -9 included). Of the processes of a
// control plane one (etcd, the owner of the data) gets a folder to remove then.
func holdLifeline() {
	folder, held := os.LookupEnv("KUBEBOX_LIFELINE")
	if !held {
		return
	}
	os.Unsetenv("KUBEBOX_LIFELINE")
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		if strings.HasPrefix(filepath.Base(folder), "kusion-testenv-") {
			time.Sleep(300 * time.Millisecond) // the others are on their way out
			_ = os.RemoveAll(folder)
		}
		os.Exit(0)
	}()
}
