// Package kcl runs, changes, formats and checks KCL from Go, without cgo: it talks to a `kcl server --stdio` of its own.
//
// A Client may be used by any number of goroutines. Close it when it is not needed any more.
package kcl

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// Error is what a method refuses: code that does not compile, a file that is not there.
type Error struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

// ErrClosed is returned by calls of a client whose server has ended.
var ErrClosed = errors.New("kcl: the server has ended")

// Client is a running server.
type Client struct {
	command *exec.Cmd
	writing sync.Mutex
	input   io.WriteCloser

	mu      sync.Mutex
	next    uint64
	waiting map[uint64]chan answer
	ended   chan struct{}
}

type answer struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

type question struct {
	Version string `json:"jsonrpc"`
	ID      uint64 `json:"id"`
	Method  string `json:"method"`
	Params  any    `json:"params"`
}

// New starts a server: the program of $KCL_SERVER, else `kcl-server` on the search path.
func New() (*Client, error) {
	program := os.Getenv("KCL_SERVER")
	if program == "" {
		program = "kcl-server"
	}
	return Start(exec.Command(program, "--stdio"))
}

// Start starts a server by a command that answers JSON-RPC on its standard streams.
func Start(command *exec.Cmd) (*Client, error) {
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("kcl: the server cannot be started: %w", err)
	}
	c := &Client{command: command, input: input, waiting: map[uint64]chan answer{}, ended: make(chan struct{})}
	go c.read(output)
	return c, nil
}

// Close ends the server.
func (c *Client) Close() error {
	c.writing.Lock()
	err := c.input.Close()
	c.writing.Unlock()
	<-c.ended
	if wait := c.command.Wait(); wait != nil {
		return wait
	}
	return err
}

func (c *Client) read(output io.Reader) {
	defer close(c.ended)
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(line, &a) != nil {
			continue
		}
		c.mu.Lock()
		waiting := c.waiting[a.ID]
		delete(c.waiting, a.ID)
		c.mu.Unlock()
		if waiting != nil {
			waiting <- a
		}
	}
}

// Call asks a method of the API, for instance KclService.ListVariables; docs/rpc.md has them all.
func (c *Client) Call(ctx context.Context, method string, args, result any) error {
	waiting := make(chan answer, 1)
	c.mu.Lock()
	c.next++
	id := c.next
	c.waiting[id] = waiting
	c.mu.Unlock()
	line, err := json.Marshal(question{"2.0", id, method, args})
	if err == nil {
		c.writing.Lock()
		_, err = c.input.Write(append(line, '\n'))
		c.writing.Unlock()
	}
	if err != nil {
		c.forget(id)
		return err
	}
	select {
	case a := <-waiting:
		if a.Error != nil {
			return a.Error
		}
		return json.Unmarshal(a.Result, result)
	case <-ctx.Done():
		c.forget(id)
		return ctx.Err()
	case <-c.ended:
		return ErrClosed
	}
}

func (c *Client) forget(id uint64) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
}
