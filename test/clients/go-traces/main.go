// Takes traces at /v1/traces and reads them as OpenTelemetry's collector does, by its own package for that: each batch is printed as a line,
// as the collector would hand it on. Its receiver around that would take two minutes to build.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// The most that the collector takes of one request, unless it is told otherwise.
const bytesMax = 20 << 20

func read(reply http.ResponseWriter, request *http.Request) {
	if request.Header.Get("Content-Type") != "application/json" {
		http.Error(reply, "no JSON", http.StatusUnsupportedMediaType)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(reply, request.Body, bytesMax))
	var traces ptrace.Traces
	if err == nil {
		traces, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(body)
	}
	var line []byte
	if err == nil {
		line, err = (&ptrace.JSONMarshaler{}).MarshalTraces(traces)
	}
	if err != nil {
		http.Error(reply, err.Error(), http.StatusBadRequest)
		return
	}
	fmt.Println(string(line))
	reply.Header().Set("Content-Type", "application/json")
	fmt.Fprint(reply, "{}")
}

func main() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("{}")
	http.HandleFunc("POST /v1/traces", read)
	log.Fatal(http.Serve(listener, nil))
}
