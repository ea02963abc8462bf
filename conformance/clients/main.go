// Command client runs what drivers and controllers of Kubernetes are made of against a server: the
// typed client in protobuf, informers, leader election, apply, events, and DRA's slice publisher.
package main

import (
	"context"
	"fmt"
	"os"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/dynamic-resource-allocation/resourceslice"
)

func must(err error, what string) {
	if err != nil {
		fmt.Printf("FAILED %s: %v\n", what, err)
		os.Exit(1)
	}
	fmt.Println("ok", what)
}
func that(ok bool, what string) {
	if !ok {
		fmt.Println("FAILED", what)
		os.Exit(1)
	}
	fmt.Println("ok", what)
}
func eventually(what string, f func() bool) {
	err := wait.PollUntilContextTimeout(context.Background(), 20*time.Millisecond, 15*time.Second, true, func(context.Context) (bool, error) { return f(), nil })
	must(err, what)
}

func main() {
	ctx := context.Background()
	config := &rest.Config{Host: os.Args[1], QPS: 1000, Burst: 1000, UserAgent: "client-go-check/1"}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client := kubernetes.NewForConfigOrDie(config)

	// informers
	factory := informers.NewSharedInformerFactory(client, 0)
	claims := factory.Resource().V1().ResourceClaims()
	pods := factory.Core().V1().Pods()
	slices := factory.Resource().V1().ResourceSlices()
	namespaces := factory.Core().V1().Namespaces()
	claims.Informer()
	pods.Informer()
	slices.Informer()
	namespaces.Informer()
	stop := make(chan struct{})
	factory.Start(stop)
	for kind, ok := range factory.WaitForCacheSync(stop) {
		that(ok, fmt.Sprint("informer of ", kind))
	}
	list, err := namespaces.Lister().List(labels.Everything())
	must(err, "namespaces from the cache")
	that(len(list) >= 4, "namespaces are cached")

	// typed writes
	claim := &resourceapi.ResourceClaim{ObjectMeta: metav1.ObjectMeta{GenerateName: "go-"}, Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{{Name: "r", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: "x", AllocationMode: resourceapi.DeviceAllocationModeExactCount, Count: 1}}}}}}
	claim, err = client.ResourceV1().ResourceClaims("default").Create(ctx, claim, metav1.CreateOptions{})
	must(err, "create a claim in protobuf")
	eventually("the claim is cached", func() bool { _, err := claims.Lister().ResourceClaims("default").Get(claim.Name); return err == nil })
	claim.Finalizers = []string{resourceapi.Finalizer}
	claim, err = client.ResourceV1().ResourceClaims("default").Update(ctx, claim, metav1.UpdateOptions{})
	must(err, "update a claim")
	claim.Status.Allocation = &resourceapi.AllocationResult{Devices: resourceapi.DeviceAllocationResult{Results: []resourceapi.DeviceRequestAllocationResult{{Request: "r", Driver: "d.example.com", Pool: "p", Device: "g"}}}}
	claim.Status.ReservedFor = []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: "p", UID: types.UID("u")}}
	claim, err = client.ResourceV1().ResourceClaims("default").UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	must(err, "update its status")
	that(len(claim.Status.Allocation.Devices.Results) == 1 && len(claim.Finalizers) == 1, "the status is there")
	stale := claim.DeepCopy()
	patch := []byte(`{"metadata":{"uid":"` + string(claim.UID) + `"},"status":{"reservedFor":[{"uid":"u","$patch":"delete"}]}}`)
	claim, err = client.ResourceV1().ResourceClaims("default").Patch(ctx, claim.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	must(err, "strategic patch of reservedFor by uid")
	that(len(claim.Status.ReservedFor) == 0, "the reservation is gone")
	stale.Status.ReservedFor = nil
	_, err = client.ResourceV1().ResourceClaims("default").UpdateStatus(ctx, stale, metav1.UpdateOptions{})
	that(apierrors.IsConflict(err), "a stale update is a conflict")
	_, err = client.ResourceV1().ResourceClaims("default").Get(ctx, "none", metav1.GetOptions{})
	that(apierrors.IsNotFound(err), "what isn't there is not found")
	bad := claim.DeepCopy()
	bad.ResourceVersion = ""
	bad.Name = "Bad_"
	bad.UID = ""
	_, err = client.ResourceV1().ResourceClaims("default").Create(ctx, bad, metav1.CreateOptions{})
	that(apierrors.IsInvalid(err), "a bad name is invalid")
	claim.Status.Allocation = nil
	claim, err = client.ResourceV1().ResourceClaims("default").UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	must(err, "deallocate")
	must(client.ResourceV1().ResourceClaims("default").Delete(ctx, claim.Name, *metav1.NewPreconditionDeleteOptions(string(claim.UID))), "delete with a precondition")
	got, err := client.ResourceV1().ResourceClaims("default").Get(ctx, claim.Name, metav1.GetOptions{})
	must(err, "it waits for its finalizer")
	that(got.DeletionTimestamp != nil, "it is marked")
	got.Finalizers = nil
	_, err = client.ResourceV1().ResourceClaims("default").Update(ctx, got, metav1.UpdateOptions{})
	must(err, "take the finalizer away")
	eventually("it is gone from the cache", func() bool {
		_, err := claims.Lister().ResourceClaims("default").Get(claim.Name)
		return apierrors.IsNotFound(err)
	})

	// pods, binding, apply, events
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "go"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "x"}}}}
	pod, err = client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	must(err, "create a Pod in protobuf")
	that(pod.Status.Phase == corev1.PodPending, "it is pending")
	must(client.CoreV1().Pods("default").Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "go", UID: pod.UID}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}, metav1.CreateOptions{}), "bind it")
	applied := corev1apply.Pod("go", "default").WithStatus(corev1apply.PodStatus().WithResourceClaimStatuses())
	_, err = client.CoreV1().Pods("default").ApplyStatus(ctx, applied, metav1.ApplyOptions{FieldManager: "claims", Force: true})
	must(err, "apply its status")
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	broadcaster.StartRecordingToSink(stop)
	recorder := broadcaster.NewRecorder(scheme.Scheme, "client-check")
	recorder.Eventf(pod, nil, corev1.EventTypeNormal, "Checked", "Checking", "all is well %d", 1)
	eventually("an event is recorded", func() bool {
		list, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=Checked"})
		return err == nil && len(list.Items) == 1 && list.Items[0].Message == "all is well 1"
	})
	must(client.CoreV1().Pods("default").Delete(ctx, "go", *metav1.NewDeleteOptions(0)), "delete the Pod at once")
	eventually("the Pod is gone from the cache", func() bool { _, err := pods.Lister().Pods("default").Get("go"); return apierrors.IsNotFound(err) })

	// leader election
	lock := &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Name: "leader", Namespace: "kube-system"}, Client: client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: "me"}}
	leads := make(chan struct{})
	leading, cancel := context.WithCancel(ctx)
	go leaderelection.RunOrDie(leading, leaderelection.LeaderElectionConfig{Lock: lock, LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) { close(leads) }, OnStoppedLeading: func() {}}})
	select {
	case <-leads:
		fmt.Println("ok leads")
	case <-time.After(10 * time.Second):
		that(false, "leads")
	}
	time.Sleep(time.Second)
	cancel()
	eventually("the lease is released", func() bool {
		lease, err := client.CoordinationV1().Leases("kube-system").Get(ctx, "leader", metav1.GetOptions{})
		return err == nil && lease.Spec.HolderIdentity != nil && *lease.Spec.HolderIdentity == ""
	})

	// DRA's own publisher of slices
	node, err := client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "go-node"}}, metav1.CreateOptions{})
	must(err, "create a node")
	devices := func(n int) []resourceapi.Device {
		var found []resourceapi.Device
		for i := range n {
			found = append(found, resourceapi.Device{Name: fmt.Sprintf("gpu-%d", i)})
		}
		return found
	}
	resources := func(n int) *resourceslice.DriverResources {
		return &resourceslice.DriverResources{Pools: map[string]resourceslice.Pool{"go-node": {Slices: []resourceslice.Slice{{Devices: devices(n)}}}}}
	}
	publisher, err := resourceslice.StartController(ctx, resourceslice.Options{DriverName: "go.example.com", KubeClient: client, Owner: &resourceslice.Owner{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID}, Resources: resources(2)})
	must(err, "start DRA's publisher")
	published := func() []resourceapi.ResourceSlice {
		list, err := client.ResourceV1().ResourceSlices().List(ctx, metav1.ListOptions{FieldSelector: "spec.driver=go.example.com"})
		must2(err)
		sort.Slice(list.Items, func(i, j int) bool { return list.Items[i].Name < list.Items[j].Name })
		return list.Items
	}
	eventually("a slice is published", func() bool { found := published(); return len(found) == 1 && len(found[0].Spec.Devices) == 2 })
	publisher.Update(resources(3))
	eventually("and changed", func() bool { found := published(); return len(found) == 1 && len(found[0].Spec.Devices) == 3 })
	that(published()[0].Spec.NodeName != nil && *published()[0].Spec.NodeName == "go-node", "for its node")
	that(published()[0].Generation == 2, "its generation was counted")
	eventually("slices are cached", func() bool { list, _ := slices.Lister().List(labels.Everything()); return len(list) == 1 })
	publisher.Stop()
	must(client.ResourceV1().ResourceSlices().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{FieldSelector: "spec.driver=go.example.com"}), "delete the collection")
	that(len(published()) == 0, "nothing is published any more")

	// metadata and dynamic clients, paged lists
	for i := range 7 {
		_, err := client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m%d", i)}}, metav1.CreateOptions{})
		must2(err)
	}
	meta := metadata.NewForConfigOrDie(metadata.ConfigFor(config))
	partial, err := meta.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default").List(ctx, metav1.ListOptions{Limit: 3})
	must(err, "list metadata alone")
	that(len(partial.Items) == 3 && partial.Continue != "" && *partial.RemainingItemCount == 4, "by pages")
	dyn := dynamic.NewForConfigOrDie(dynamic.ConfigFor(config))
	all, err := dyn.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("default").List(ctx, metav1.ListOptions{})
	must(err, "list by the dynamic client")
	that(len(all.Items) == 7, "everything")
	groups, resourceLists, err := client.Discovery().ServerGroupsAndResources()
	must(err, "discovery")
	that(len(groups) >= 6 && len(resourceLists) >= 9, "names groups and resources")
	close(stop)
	fmt.Println("ALL OK")
}

func must2(err error) {
	if err != nil {
		must(err, "call")
	}
}
