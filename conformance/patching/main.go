// Patching answers how the published libraries of Kubernetes patch an object:
// JSON lines in, JSON lines out. See README.md.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
)

// question asks for one patch ("strategic", "json", "merge"), or for a story of writes to one
// object ("story"), each by its manager.
type question struct {
	Op     string          `json:"op"`
	Object json.RawMessage `json:"object"`
	Patch  json.RawMessage `json:"patch"`
	Steps  []step          `json:"steps"`
}

type step struct {
	Verb        string          `json:"verb"` // apply, update
	Manager     string          `json:"manager"`
	Force       bool            `json:"force"`
	Subresource string          `json:"subresource"`
	Object      json.RawMessage `json:"object"`
}

type answer struct {
	Object json.RawMessage `json:"object,omitempty"`
	Error  string          `json:"error,omitempty"`
	Status *metav1.Status  `json:"status,omitempty"`
	Steps  []answer        `json:"steps,omitempty"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := bufio.NewWriter(os.Stdout)
	for lines.Scan() {
		var asked question
		reply := answer{}
		// Blanks would make a difference inside of opaque parameters, which Go's types keep as bytes.
		var line bytes.Buffer
		if err := json.Compact(&line, lines.Bytes()); err != nil {
			reply.Error = err.Error()
		} else if err := json.Unmarshal(line.Bytes(), &asked); err != nil {
			reply.Error = err.Error()
		} else {
			reply = ask(asked)
		}
		text, err := json.Marshal(reply)
		if err != nil {
			panic(err)
		}
		fmt.Fprintln(out, string(text))
		out.Flush()
	}
}

func ask(asked question) answer {
	switch asked.Op {
	case "strategic":
		object, err := typed(asked.Object)
		if err != nil {
			return answer{Error: err.Error()}
		}
		patched, err := strategicpatch.StrategicMergePatch(asked.Object, asked.Patch, object)
		return answered(patched, err)
	case "merge":
		return answered(jsonpatch.MergePatch(asked.Object, asked.Patch))
	case "json":
		patch, err := jsonpatch.DecodePatch(asked.Patch)
		if err != nil {
			return answer{Error: err.Error()}
		}
		return answered(patch.Apply(asked.Object))
	case "story":
		return story(asked.Steps)
	}
	return answer{Error: "unknown op"}
}

func answered(object []byte, err error) answer {
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Object: object}
}

// typed returns an empty Go struct of the object's kind.
func typed(text []byte) (runtime.Object, error) {
	var head metav1.TypeMeta
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, err
	}
	return scheme.Scheme.New(head.GroupVersionKind())
}

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

// plainly converts between no versions, since one story has only one; it makes Go's types of trees.
type plainly struct{ runtime.ObjectConvertor }

func (plainly) ConvertToVersion(in runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	tree, isTree := in.(*unstructured.Unstructured)
	if !isTree {
		return in, nil
	}
	kind := tree.GroupVersionKind()
	object, err := scheme.Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructured(tree.Object, object)
	object.GetObjectKind().SetGroupVersionKind(kind)
	return object, err
}

// named makes objects that know their kind, as those of an API server do.
type named struct{ runtime.ObjectCreater }

func (n named) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object, err := n.ObjectCreater.New(kind)
	if err == nil {
		object.GetObjectKind().SetGroupVersionKind(kind)
	}
	return object, err
}

// story answers what the object and its managed fields are after each write. A write that fails
// leaves the object as it was.
func story(steps []step) answer {
	var live runtime.Object
	total := answer{}
	for index, each := range steps {
		next, err := write(live, each, index == 0)
		if err != nil {
			failed := answer{Error: err.Error()}
			var status apierrors.APIStatus
			if errors.As(err, &status) {
				said := status.Status()
				failed.Status = &said
			}
			total.Steps = append(total.Steps, failed)
			continue
		}
		live = next
		text, err := json.Marshal(live)
		if err != nil {
			return answer{Error: err.Error()}
		}
		total.Steps = append(total.Steps, answer{Object: text})
	}
	return total
}

func write(live runtime.Object, asked step, isFirst bool) (runtime.Object, error) {
	var head metav1.TypeMeta
	if err := json.Unmarshal(asked.Object, &head); err != nil {
		return nil, err
	}
	kind := head.GroupVersionKind()
	if live == nil {
		empty, err := scheme.Scheme.New(kind)
		if err != nil {
			return nil, err
		}
		empty.GetObjectKind().SetGroupVersionKind(kind)
		live = empty
	}
	fields, err := manager(kind, asked.Subresource)
	if err != nil {
		return nil, err
	}
	var result runtime.Object
	if asked.Verb == "apply" {
		patch := &unstructured.Unstructured{}
		if err := json.Unmarshal(asked.Object, &patch.Object); err != nil {
			return nil, err
		}
		result, err = fields.Apply(live.DeepCopyObject(), patch, asked.Manager, asked.Force)
		if err != nil {
			return nil, err
		}
	} else {
		object, err := typed(asked.Object)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(asked.Object, object); err != nil {
			return nil, err
		}
		result, err = fields.Update(live.DeepCopyObject(), object, asked.Manager)
		if err != nil {
			return nil, err
		}
	}
	result.GetObjectKind().SetGroupVersionKind(kind)
	// What exists has a UID: the managers look at it.
	if named, ok := result.(metav1.Object); ok {
		named.SetUID("b5b4b5a0-0000-4000-8000-000000000000")
	}
	return result, nil
}

func manager(kind schema.GroupVersionKind, subresource string) (*managedfields.FieldManager, error) {
	return managedfields.NewDefaultFieldManager(
		applyconfigurations.NewTypeConverter(scheme.Scheme), plainly{scheme.Scheme}, noDefaults{},
		named{scheme.Scheme}, kind, kind.GroupVersion(), subresource, nil,
	)
}
