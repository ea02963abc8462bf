package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Enough for every expression of a question, so that a timing has no recompilation in it.
const compiledSelectors = 1024

type question struct {
	ID        string                       `json:"id"`
	Features  *features                    `json:"features"`
	Node      nodeQuestion                 `json:"node"`
	Slices    []*resourceapi.ResourceSlice `json:"slices"`
	Classes   []*resourceapi.DeviceClass   `json:"classes"`
	Claims    []*resourceapi.ResourceClaim `json:"claims"`
	Allocated []*resourceapi.ResourceClaim `json:"allocated"`
	TimeoutS  *float64                     `json:"timeout_s"`
}

type nodeQuestion struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        metav1.ObjectMeta `json:"metadata"`
	Spec            v1.NodeSpec       `json:"spec"`
	Status          v1.NodeStatus     `json:"status"`
}

// features of a question; a missing object turns all on, a missing key turns that one off.
type features struct {
	AdminAccess             bool `json:"adminAccess"`
	PrioritizedList         bool `json:"prioritizedList"`
	PartitionableDevices    bool `json:"partitionableDevices"`
	DeviceTaints            bool `json:"deviceTaints"`
	DeviceBindingAndStatus  bool `json:"deviceBindingAndStatus"`
	ConsumableCapacity      bool `json:"consumableCapacity"`
	ListTypeAttributes      bool `json:"listTypeAttributes"`
	CompatibilityGroups     bool `json:"compatibilityGroups"`
	DerivedAttributes       bool `json:"derivedAttributes"`
	OptionalNodeOperations  bool `json:"optionalNodeOperations"`
	FractionalCapacityRange bool `json:"fractionalCapacityRange"`
	// KEP-5941 isn't in 0.37: named so that all can be asked the same, without effect here.
	SharedConsumableCapacity bool `json:"sharedConsumableCapacity"`
}

func (f features) upstream() structured.Features {
	return structured.Features{
		AdminAccess:             f.AdminAccess,
		PrioritizedList:         f.PrioritizedList,
		PartitionableDevices:    f.PartitionableDevices,
		DeviceTaints:            f.DeviceTaints,
		DeviceBindingAndStatus:  f.DeviceBindingAndStatus,
		ConsumableCapacity:      f.ConsumableCapacity,
		ListTypeAttributes:      f.ListTypeAttributes,
		CompatibilityGroups:     f.CompatibilityGroups,
		DerivedAttributes:       f.DerivedAttributes,
		OptionalNodeOperations:  f.OptionalNodeOperations,
		FractionalCapacityRange: f.FractionalCapacityRange,
	}
}

type answer struct {
	ID          string                         `json:"id"`
	Outcome     string                         `json:"outcome"`
	Allocations []resourceapi.AllocationResult `json:"allocations,omitempty"`
	Message     string                         `json:"message,omitempty"`
	ElapsedMS   *float64                       `json:"elapsed_ms,omitempty"`
}

type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("class %s not found", name)
}

func answerAllocation(line []byte, timing bool) (answered any) {
	var asked question
	// What the API would refuse may break the allocator; that is an answer too, not the end.
	defer func() {
		if panicked := recover(); panicked != nil {
			answered = answer{ID: asked.ID, Outcome: "panic", Message: fmt.Sprint(panicked)}
		}
	}()
	if err := decode(line, &asked); err != nil {
		return answer{ID: asked.ID, Outcome: "mistake", Message: err.Error()}
	}
	for _, claim := range asked.Claims {
		setDefaults(claim)
	}
	started := time.Now()
	given := allocate(asked)
	if timing {
		elapsed := float64(time.Since(started)) / float64(time.Millisecond)
		given.ElapsedMS = &elapsed
	}
	return given
}

func allocate(asked question) answer {
	timeout := 10 * time.Second
	if asked.TimeoutS != nil {
		timeout = time.Duration(*asked.TimeoutS * float64(time.Second))
	}
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()

	if asked.Features == nil {
		asked.Features = &features{true, true, true, true, true, true, true, true, true, true, true, true}
	}
	f := *asked.Features
	cache := cel.NewCache(compiledSelectors, cel.Features{
		EnableConsumableCapacity: f.ConsumableCapacity,
		EnableListTypeAttributes: f.ListTypeAttributes,
	})
	node := &v1.Node{ObjectMeta: asked.Node.Metadata, Status: asked.Node.Status}
	allocator, err := structured.NewAllocator(
		ctx, f.upstream(), taken(asked.Allocated, f.ConsumableCapacity), classes(asked.Classes), asked.Slices, cache)
	if err != nil {
		return answer{ID: asked.ID, Outcome: "error", Message: err.Error()}
	}
	results, err := allocator.Allocate(ctx, node, asked.Claims)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return answer{ID: asked.ID, Outcome: "timeout", Message: err.Error()}
	case errors.Is(err, structured.ErrFailedAllocationOnNode):
		return answer{ID: asked.ID, Outcome: "refused", Message: err.Error()}
	case err != nil:
		return answer{ID: asked.ID, Outcome: "error", Message: err.Error()}
	case results == nil && len(asked.Claims) > 0:
		return answer{ID: asked.ID, Outcome: "refused"}
	}
	renameShares(results)
	return answer{ID: asked.ID, Outcome: "allocated", Allocations: results}
}

// taken derives the allocated state as the scheduler does: admin access takes nothing, a share
// takes part of a device if shares are known at all, anything else the whole device.
func taken(claims []*resourceapi.ResourceClaim, knowsShares bool) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			enter(state, result, knowsShares)
		}
	}
	return state
}

func enter(state structured.AllocatedState, result resourceapi.DeviceRequestAllocationResult, knowsShares bool) {
	if result.AdminAccess != nil && *result.AdminAccess {
		return
	}
	device := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
	if result.ShareID == nil || !knowsShares {
		state.AllocatedDevices.Insert(device)
		return
	}
	state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(device, result.ShareID))
	if result.ConsumedCapacity != nil {
		state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(device, result.ConsumedCapacity))
	}
}

// setDefaults does what the API server does on create.
func setDefaults(claim *resourceapi.ResourceClaim) {
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if exact := request.Exactly; exact != nil {
			exact.AllocationMode, exact.Count = modeAndCount(exact.AllocationMode, exact.Count)
			setOperators(exact.Tolerations)
		}
		for j := range request.FirstAvailable {
			sub := &request.FirstAvailable[j]
			sub.AllocationMode, sub.Count = modeAndCount(sub.AllocationMode, sub.Count)
			setOperators(sub.Tolerations)
		}
	}
}

func modeAndCount(mode resourceapi.DeviceAllocationMode, count int64) (resourceapi.DeviceAllocationMode, int64) {
	if mode == "" {
		mode = resourceapi.DeviceAllocationModeExactCount
	}
	if mode == resourceapi.DeviceAllocationModeExactCount && count == 0 {
		count = 1
	}
	return mode, count
}

func setOperators(tolerations []resourceapi.DeviceToleration) {
	for i := range tolerations {
		if tolerations[i].Operator == "" {
			tolerations[i].Operator = resourceapi.DeviceTolerationOpEqual
		}
	}
}

// renameShares makes fresh ids comparable: share-1, share-2 … in order of appearance.
func renameShares(results []resourceapi.AllocationResult) {
	names := map[types.UID]types.UID{}
	for i := range results {
		for j := range results[i].Devices.Results {
			id := results[i].Devices.Results[j].ShareID
			if id == nil {
				continue
			}
			if _, known := names[*id]; !known {
				names[*id] = types.UID(fmt.Sprintf("share-%d", len(names)+1))
			}
			renamed := names[*id]
			results[i].Devices.Results[j].ShareID = &renamed
		}
	}
}
