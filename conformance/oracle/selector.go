package main

import (
	"context"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
)

type selectorQuestion struct {
	ID       string           `json:"id"`
	Expr     string           `json:"expr"`
	Mode     string           `json:"mode"`
	Features selectorFeatures `json:"features"`
	Device   selectorDevice   `json:"device"`
}

type selectorFeatures struct {
	ConsumableCapacity bool `json:"consumableCapacity"`
	ListTypeAttributes bool `json:"listTypeAttributes"`
}

type selectorDevice struct {
	Driver                   string                                                    `json:"driver"`
	AllowMultipleAllocations *bool                                                     `json:"allowMultipleAllocations"`
	Attributes               map[resourceapi.QualifiedName]resourceapi.DeviceAttribute `json:"attributes"`
	Capacity                 map[resourceapi.QualifiedName]resourceapi.DeviceCapacity  `json:"capacity"`
}

type selectorAnswer struct {
	ID           string  `json:"id"`
	CompileError *string `json:"compile_error"`
	Match        *bool   `json:"match"`
	RuntimeError *string `json:"runtime_error"`
	MaxCost      *uint64 `json:"max_cost"`
	ActualCost   *uint64 `json:"actual_cost"`
}

func answerSelector(line []byte) (given any) {
	// A feature that is missing is on, as in allocation questions.
	asked := selectorQuestion{Features: selectorFeatures{true, true}}
	if err := decode(line, &asked); err != nil {
		return answer{ID: asked.ID, Outcome: "mistake", Message: err.Error()}
	}
	envType, ok := map[string]environment.Type{
		"":       environment.StoredExpressions,
		"stored": environment.StoredExpressions,
		"new":    environment.NewExpressions,
	}[asked.Mode]
	if !ok {
		return answer{ID: asked.ID, Outcome: "mistake", Message: fmt.Sprintf("mode: %q is neither stored nor new", asked.Mode)}
	}
	// The compiler is known to panic on some input; that is an answer too, not the end.
	defer func() {
		if panicked := recover(); panicked != nil {
			text := fmt.Sprintf("panic: %v", panicked)
			given = selectorAnswer{ID: asked.ID, CompileError: &text}
		}
	}()
	compiled := cel.GetCompiler(cel.Features{
		EnableConsumableCapacity: asked.Features.ConsumableCapacity,
		EnableListTypeAttributes: asked.Features.ListTypeAttributes,
	}).CompileCELExpression(asked.Expr, cel.Options{EnvType: &envType})
	if compiled.Error != nil {
		text := compiled.Error.Detail
		return selectorAnswer{ID: asked.ID, CompileError: &text}
	}
	result := selectorAnswer{ID: asked.ID, MaxCost: &compiled.MaxCost}
	matches, details, err := compiled.DeviceMatches(context.Background(), cel.Device{
		Driver:                   asked.Device.Driver,
		AllowMultipleAllocations: asked.Device.AllowMultipleAllocations,
		Attributes:               asked.Device.Attributes,
		Capacity:                 asked.Device.Capacity,
	})
	if details != nil {
		result.ActualCost = details.ActualCost()
	}
	if err != nil {
		text := err.Error()
		result.RuntimeError = &text
		return result
	}
	result.Match = &matches
	return result
}
