// The oracle asks upstream's own code the questions that dibs is asked.
//
//	oracle [--timing]   allocation questions, one JSON object a line (conformance/README.md)
//	oracle cel          selector questions
//	oracle time         one world, measured (bench/peer.py)
//
// It decides nothing itself: it decodes, defaults, calls the published module and writes down
// what came back, so that a difference is never one of this program's making.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"

	"k8s.io/dynamic-resource-allocation/structured"
)

// A question may hold a whole world, but not more than this.
const maxLineBytes = 64 << 20

func main() {
	timing := flag.Bool("timing", false, "add elapsed_ms to each answer")
	flag.Parse()
	if flag.Arg(0) == "time" {
		// Here the module picks the variant that serves the features, as kube-scheduler has it.
		if err := timeAll(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "oracle:", err)
			os.Exit(2)
		}
		return
	}
	// Only this variant knows every field; the others ignore some of a question's (stable, say,
	// takes a capacity request for no request), which would make the answer one of chance.
	structured.EnableAllocators("experimental")
	answer := func(line []byte) any { return answerAllocation(line, *timing) }
	if flag.Arg(0) == "cel" {
		answer = answerSelector
	}
	if err := run(os.Stdin, os.Stdout, answer); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(3)
	}
}

// run answers line by line; a line that is no question is answered too.
func run(in io.Reader, out io.Writer, answer func([]byte) any) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<20), maxLineBytes)
	written := bufio.NewWriter(out)
	defer written.Flush()
	encoder := json.NewEncoder(written)
	encoder.SetEscapeHTML(false)
	for lines.Scan() {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		if err := encoder.Encode(answer(lines.Bytes())); err != nil {
			return err
		}
		if err := written.Flush(); err != nil {
			return err
		}
	}
	return lines.Err()
}

// decode is strict: a key that nobody reads would make two programs answer different questions.
func decode(line []byte, question any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(question); err != nil {
		return err
	}
	if decoder.More() {
		return fmt.Errorf("more than one object on the line")
	}
	return nil
}
