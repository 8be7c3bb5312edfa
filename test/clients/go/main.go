// What OpenAI's and Anthropic's Go clients do with a base URL and a key alone. Writes one line of JSON for each answer.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	openaioption "github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

const said = "[[say: one two three]]"

func tell(what string, facts map[string]any) {
	facts["what"] = what
	line, err := json.Marshal(facts)
	must(err)
	fmt.Println(string(line))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func chat(ctx context.Context, client openai.Client, model string) {
	params := openai.ChatCompletionNewParams{
		Model:    model,
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(said)},
	}
	whole, err := client.Chat.Completions.New(ctx, params)
	must(err)
	tell("chat", map[string]any{"text": whole.Choices[0].Message.Content, "tokens": whole.Usage.CompletionTokens})
	stream := client.Chat.Completions.NewStreaming(ctx, params)
	var text strings.Builder
	for stream.Next() {
		for _, choice := range stream.Current().Choices {
			text.WriteString(choice.Delta.Content)
		}
	}
	must(stream.Err())
	tell("chat stream", map[string]any{"text": text.String()})
}

func respond(ctx context.Context, client openai.Client, model string) {
	params := responses.ResponseNewParams{
		Model: model,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String(said)},
	}
	whole, err := client.Responses.New(ctx, params)
	must(err)
	tell("responses", map[string]any{"text": whole.OutputText(), "tokens": whole.Usage.OutputTokens})
	stream := client.Responses.NewStreaming(ctx, params)
	var text strings.Builder
	last := ""
	for stream.Next() {
		event := stream.Current()
		last = event.Type
		if event.Type == "response.output_text.delta" {
			text.WriteString(event.Delta)
		}
	}
	must(stream.Err())
	tell("responses stream", map[string]any{"text": text.String(), "last": last})
}

func message(ctx context.Context, client anthropic.Client, model string) {
	params := anthropic.MessageNewParams{
		Model:     anthropic.Model(model),
		MaxTokens: 200,
		Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(said))},
	}
	whole, err := client.Messages.New(ctx, params)
	must(err)
	tell("messages", map[string]any{"text": whole.Content[0].Text, "tokens": whole.Usage.OutputTokens})
	stream := client.Messages.NewStreaming(ctx, params)
	gathered := anthropic.Message{}
	for stream.Next() {
		must(gathered.Accumulate(stream.Current()))
	}
	must(stream.Err())
	tell("messages stream", map[string]any{"text": gathered.Content[0].Text, "tokens": gathered.Usage.OutputTokens})
}

func unknown(ctx context.Context, client openai.Client) {
	_, err := client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{
		Model:    "nobody/knows-it",
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(said)},
	})
	var refused *openai.Error
	if !errors.As(err, &refused) {
		must(fmt.Errorf("no error of the client's own class: %v", err))
	}
	tell("unknown model", map[string]any{"code": refused.Code, "status": refused.StatusCode})
}

func main() {
	origin, key, model := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	ofOpenAI := openai.NewClient(
		openaioption.WithAPIKey(key), openaioption.WithBaseURL(origin+"/api/llm/v1"), openaioption.WithMaxRetries(0))
	chat(ctx, ofOpenAI, model)
	respond(ctx, ofOpenAI, model)
	message(ctx, anthropic.NewClient(
		anthropicoption.WithAPIKey(key), anthropicoption.WithBaseURL(origin+"/api/llm"), anthropicoption.WithMaxRetries(0)), model)
	unknown(ctx, ofOpenAI)
}
