// Bifrost's core behind the least front that a gateway could have: its key check, its request and answer types, its queue and its
// provider are Bifrost's; governance, logs and metrics, which its own HTTP server adds, are not there. Whole Bifrost costs more than this.
package main

import (
	"bufio"
	"context"
	"log"
	"os"

	bifrost "github.com/maximhq/bifrost/core"
	"github.com/maximhq/bifrost/core/schemas"
	"github.com/valyala/fasthttp"
)

// The defaults that Bifrost's documentation recommends up to 5,000 requests a second, with room for all streams of the bench.
const (
	concurrency = 2500
	bufferSize  = 5000
	poolSize    = 5000
)

type account struct{ baseURL string }

func (a account) GetConfiguredProviders() ([]schemas.ModelProvider, error) {
	return []schemas.ModelProvider{schemas.OpenAI}, nil
}

func (a account) GetKeysForProvider(context.Context, schemas.ModelProvider) ([]schemas.Key, error) {
	return []schemas.Key{{ID: "bench", Name: "bench", Value: *schemas.NewEnvVar("sk-bench"), Weight: 1}}, nil
}

func (a account) GetConfigForProvider(schemas.ModelProvider) (*schemas.ProviderConfig, error) {
	return &schemas.ProviderConfig{
		// Without a retry a call fails where it meets a connection that the upstream has just closed.
		NetworkConfig:            schemas.NetworkConfig{BaseURL: a.baseURL, DefaultRequestTimeoutInSeconds: 600, MaxRetries: 3},
		ConcurrencyAndBufferSize: schemas.ConcurrencyAndBufferSize{Concurrency: concurrency, BufferSize: bufferSize},
	}, nil
}

type question struct {
	Model    string                `json:"model"`
	Messages []schemas.ChatMessage `json:"messages"`
	Stream   bool                  `json:"stream"`
}

func refuse(request *fasthttp.RequestCtx, status int, reason *schemas.BifrostError) {
	body, _ := schemas.Marshal(reason)
	request.SetStatusCode(status)
	request.SetContentType("application/json")
	request.SetBody(body)
}

func main() {
	address, baseURL, key := os.Args[1], os.Args[2], []byte("Bearer "+os.Args[3])
	client, err := bifrost.Init(context.Background(), schemas.BifrostConfig{
		Account:         account{baseURL},
		InitialPoolSize: poolSize,
		Logger:          bifrost.NewDefaultLogger(schemas.LogLevelError),
	})
	if err != nil {
		log.Fatal(err)
	}
	serve := func(request *fasthttp.RequestCtx) {
		if string(request.Request.Header.Peek("authorization")) != string(key) {
			request.SetStatusCode(fasthttp.StatusUnauthorized)
			return
		}
		asked := question{}
		params := &schemas.ChatParameters{}
		if schemas.Unmarshal(request.PostBody(), &asked) != nil || schemas.Unmarshal(request.PostBody(), params) != nil {
			request.SetStatusCode(fasthttp.StatusBadRequest)
			return
		}
		call := &schemas.BifrostChatRequest{Provider: schemas.OpenAI, Model: asked.Model, Input: asked.Messages, Params: params}
		ctx, cancel := schemas.NewBifrostContextWithCancel(context.Background())
		if !asked.Stream {
			defer cancel()
			answer, failed := client.ChatCompletionRequest(ctx, call)
			if failed != nil {
				refuse(request, fasthttp.StatusBadGateway, failed)
				return
			}
			body, _ := schemas.Marshal(answer)
			request.SetContentType("application/json")
			request.SetBody(body)
			return
		}
		events, failed := client.ChatCompletionStreamRequest(ctx, call)
		if failed != nil {
			cancel()
			refuse(request, fasthttp.StatusBadGateway, failed)
			return
		}
		request.SetContentType("text/event-stream")
		request.SetBodyStreamWriter(func(w *bufio.Writer) {
			defer cancel()
			for event := range events {
				body, _ := schemas.Marshal(event)
				w.WriteString("data: ")
				w.Write(body)
				w.WriteString("\n\n")
				if w.Flush() != nil {
					return
				}
			}
			w.WriteString("data: [DONE]\n\n")
			w.Flush()
		})
	}
	server := &fasthttp.Server{Handler: serve, MaxRequestBodySize: 100 << 20}
	log.Fatal(server.ListenAndServe(address))
}
