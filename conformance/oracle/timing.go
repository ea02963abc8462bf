package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

const (
	// A sample of microseconds is taken until there are many, or for this long.
	sampledFor  = 300 * time.Millisecond
	mostSamples = 1000
)

// world is what `oracle time` is asked about: one object on standard input.
type world struct {
	Features  *features                    `json:"features"`
	Nodes     []*v1.Node                   `json:"nodes"`
	Slices    []*resourceapi.ResourceSlice `json:"slices"`
	Classes   []*resourceapi.DeviceClass   `json:"classes"`
	Claims    []*resourceapi.ResourceClaim `json:"claims"`
	Allocated []*resourceapi.ResourceClaim `json:"allocated"`
	Selector  *selectorQuestion            `json:"selector"`
	Tasks     []task                       `json:"tasks"`
}

// task is one thing to measure.
type task struct {
	// "filter": the claims, all of one Pod, put to node after node until `feasible` of them fit.
	// "fill": each claim in turn, on the first node that fits, until one fits nowhere.
	// "compile", "match": the selector.
	Kind     string  `json:"kind"`
	Feasible int     `json:"feasible"`
	Runs     int     `json:"runs"`
	LimitS   float64 `json:"limit_s"`
}

// measured has one sample a run; `finished` is false when the limit ended the first one.
// `count` is how many nodes were feasible, or how many claims were placed.
type measured struct {
	Outcome  string    `json:"outcome"`
	Message  string    `json:"message,omitempty"`
	Finished bool      `json:"finished"`
	Count    int       `json:"count"`
	Seconds  []float64 `json:"seconds"`
}

// timeAll measures each task of the world on standard input, on one thread, and writes a list.
func timeAll(in io.Reader, out io.Writer) error {
	runtime.GOMAXPROCS(1)
	var asked world
	decoder := json.NewDecoder(in)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&asked); err != nil {
		return err
	}
	for _, claim := range asked.Claims {
		setDefaults(claim)
	}
	if asked.Features == nil {
		asked.Features = &features{AdminAccess: true, PrioritizedList: true, PartitionableDevices: true,
			DeviceTaints: true, DeviceBindingAndStatus: true, ConsumableCapacity: true}
	}
	results := []measured{}
	for _, each := range asked.Tasks {
		run, err := asked.task(each)
		if err != nil {
			return err
		}
		results = append(results, sampled(each, run))
	}
	return json.NewEncoder(out).Encode(results)
}

// tried is what one run of a task came to.
type tried struct {
	count int
	err   error
	// Only `fill` ends early without having come to nothing.
	cut bool
}

func (w *world) task(asked task) (func(context.Context) tried, error) {
	cache := cel.NewCache(compiledSelectors, cel.Features{
		EnableConsumableCapacity: w.Features.ConsumableCapacity,
		EnableListTypeAttributes: w.Features.ListTypeAttributes,
	})
	switch asked.Kind {
	case "filter":
		state := taken(w.Allocated, w.Features.ConsumableCapacity)
		return func(ctx context.Context) tried { return w.filter(ctx, asked, state, cache) }, nil
	case "fill":
		return func(ctx context.Context) tried { return w.fill(ctx, cache) }, nil
	case "compile":
		return func(context.Context) tried {
			if compiled := w.compiled(); compiled.Error != nil {
				return tried{err: compiled.Error}
			}
			return tried{count: 1}
		}, nil
	case "match":
		compiled := w.compiled()
		device := cel.Device{Driver: w.Selector.Device.Driver,
			AllowMultipleAllocations: w.Selector.Device.AllowMultipleAllocations,
			Attributes:               w.Selector.Device.Attributes,
			Capacity:                 w.Selector.Device.Capacity}
		return func(ctx context.Context) tried {
			matches, _, err := compiled.DeviceMatches(ctx, device)
			if !matches {
				return tried{err: err}
			}
			return tried{count: 1, err: err}
		}, nil
	}
	return nil, fmt.Errorf("%q is no kind of task", asked.Kind)
}

// filter does what kube-scheduler's plugin does for one Pod: PreFilter makes an allocator, Filter
// asks it node by node. What is allocated is at hand; kube-scheduler copies it for each Pod.
func (w *world) filter(ctx context.Context, asked task, state structured.AllocatedState, cache *cel.Cache) tried {
	allocator, err := structured.NewAllocator(ctx, w.Features.upstream(), state, classes(w.Classes), w.Slices, cache)
	if err != nil {
		return tried{err: err}
	}
	feasible := 0
	for _, node := range w.Nodes {
		results, err := allocator.Allocate(ctx, node, w.Claims)
		if err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode) {
			return tried{feasible, err, false}
		}
		if results != nil {
			feasible++
		}
		if feasible == asked.Feasible {
			break
		}
	}
	return tried{count: feasible}
}

// fill starts each search for a node where the last one ended, as kube-scheduler does.
func (w *world) fill(ctx context.Context, cache *cel.Cache) tried {
	state := taken(w.Allocated, w.Features.ConsumableCapacity)
	placed, start := 0, 0
	for _, claim := range w.Claims {
		allocator, err := structured.NewAllocator(ctx, w.Features.upstream(), state, classes(w.Classes), w.Slices, cache)
		if err != nil {
			return tried{placed, err, false}
		}
		found := false
		for offset := 0; offset < len(w.Nodes) && !found; offset++ {
			node := w.Nodes[(start+offset)%len(w.Nodes)]
			results, err := allocator.Allocate(ctx, node, []*resourceapi.ResourceClaim{claim})
			if errors.Is(err, context.DeadlineExceeded) {
				return tried{placed, nil, true}
			}
			if err != nil && !errors.Is(err, structured.ErrFailedAllocationOnNode) {
				return tried{placed, err, false}
			}
			if results != nil {
				for _, result := range results[0].Devices.Results {
					enter(state, result, w.Features.ConsumableCapacity)
				}
				start = (start + offset) % len(w.Nodes)
				found = true
			}
		}
		if !found {
			break
		}
		placed++
	}
	return tried{count: placed}
}

func (w *world) compiled() cel.CompilationResult {
	return cel.GetCompiler(cel.Features{
		EnableConsumableCapacity: w.Features.ConsumableCapacity,
		EnableListTypeAttributes: w.Features.ListTypeAttributes,
	}).CompileCELExpression(w.Selector.Expr, cel.Options{DisableCostEstimation: true})
}

// sampled runs a task once to warm up, compiling selectors, and then as often as it is asked for,
// or for as long as the limit is. What is slow counts at the first run.
func sampled(asked task, run func(context.Context) tried) measured {
	limit := time.Duration(asked.LimitS * float64(time.Second))
	once := func() (time.Duration, tried) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		started := time.Now()
		came := run(ctx)
		return time.Since(started), came
	}
	runtime.GC()
	took, came := once()
	result := measured{Outcome: outcomeOf(came), Count: came.count, Finished: !came.cut}
	if came.err != nil {
		result.Message = came.err.Error()
		result.Finished = !errors.Is(came.err, context.DeadlineExceeded)
	}
	if !result.Finished || took > limit/time.Duration(asked.Runs+1) {
		result.Seconds = []float64{took.Seconds()}
		return result
	}
	total := time.Duration(0)
	for len(result.Seconds) < mostSamples && (len(result.Seconds) < asked.Runs || total < sampledFor) {
		took, _ = once()
		total += took
		result.Seconds = append(result.Seconds, took.Seconds())
	}
	return result
}

func outcomeOf(came tried) string {
	switch {
	case came.cut, errors.Is(came.err, context.DeadlineExceeded):
		return "timeout"
	case came.err != nil:
		return "error"
	case came.count == 0:
		return "refused"
	}
	return "allocated"
}
