// Package app has the types of an application.
package app

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Mode says how it runs.
type Mode string

const (
	Fast Mode = "fast"
)

type (
	// Labels are what it is found by.
	Labels map[string]string

	base struct {
		// Who owns it.
		Owner string `json:"owner"`
		Hidden int `json:"-"`
	}
)

// App is an application.
type App struct {
	metav1.TypeMeta `json:",inline"`
	base
	*Limits `json:"limits,omitempty"`

	// The image that runs.
	// +kubebuilder:validation:MinLength=3
	Image string `json:"image" yaml:"picture"`
	// How many of it.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Maximum=100
	Replicas int32 `json:"replicas"`
	// +kubebuilder:validation:Enum=Always;Never
	Pull     string            `json:"pull,omitempty"`
	Mode     Mode              `json:"mode,omitempty"`
	Labels   Labels            `json:"labels,omitempty"`
	Ports    []Port            `json:"ports,omitempty"` // Where it listens.
	Since    time.Time         `json:"since,omitempty"`
	Wait     *time.Duration    `json:"wait,omitempty"`
	Secret   []byte            `json:"secret,omitempty"`
	Pair     [2]float64        `json:"pair,omitempty"`
	Any      interface{}       `json:"any,omitempty"`
	Sizes    []uint8           `json:"-"`
	Bytes    []int8            `json:"bytes,omitempty"`
	A, B     bool
	Inner    struct {
		Depth uint16 `json:"depth"`
	} `json:"inner"`
	Other    other.Thing       `json:"other,omitempty"`
	Written  string            `kcl:"name=written,type=int | [str]" json:",omitempty"`
	Call     func(a int) (int, error)
	Pipe     chan<- int
	private  string
	Parent   *App              `json:"parent,omitempty"`
}

// Limits of an application.
type Limits struct {
	CPU float64 `json:"cpu,omitempty"`
}

// Port is a port.
type Port struct {
	Number uint16 `json:"number"`
	Name   string `json:"name,omitempty"`
}

func (a *App) String() string {
	type inside struct{ X int }
	return "type Fake struct { }"
}

type List[T any] struct {
	Items []T `json:"items"`
}

type unused struct{ X int }
