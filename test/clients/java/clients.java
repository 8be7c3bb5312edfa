// What OpenAI's and Anthropic's Java clients do with a base URL and a key alone. Writes one line of JSON for each answer.

import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.models.messages.MessageCreateParams;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.errors.NotFoundException;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.responses.ResponseCreateParams;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;

class Clients {
  private static final String SAID = "[[say: one two three]]";
  private static final ObjectMapper JSON = new ObjectMapper();

  private static void tell(String model, String what, Map<String, Object> facts) throws Exception {
    Map<String, Object> line = new LinkedHashMap<>();
    line.put("model", model);
    line.put("what", what);
    line.putAll(facts);
    System.out.println(JSON.writeValueAsString(line));
  }

  private static void chat(OpenAIClient client, String model) throws Exception {
    var params = ChatCompletionCreateParams.builder().model(model).addUserMessage(SAID).build();
    var whole = client.chat().completions().create(params);
    tell(model, "chat", Map.of(
        "text", whole.choices().get(0).message().content().orElseThrow(),
        "tokens", whole.usage().orElseThrow().completionTokens()));
    try (var stream = client.chat().completions().createStreaming(params)) {
      String text = stream.stream()
          .flatMap(chunk -> chunk.choices().stream())
          .flatMap(choice -> choice.delta().content().stream())
          .collect(Collectors.joining());
      tell(model, "chat stream", Map.of("text", text));
    }
  }

  private static void respond(OpenAIClient client, String model) throws Exception {
    var params = ResponseCreateParams.builder().model(model).input(SAID).build();
    var whole = client.responses().create(params);
    String text = whole.output().stream()
        .flatMap(item -> item.message().stream())
        .flatMap(message -> message.content().stream())
        .flatMap(content -> content.outputText().stream())
        .map(part -> part.text())
        .collect(Collectors.joining());
    tell(model, "responses", Map.of("text", text, "tokens", whole.usage().orElseThrow().outputTokens()));
    try (var stream = client.responses().createStreaming(params)) {
      String deltas = stream.stream()
          .flatMap(event -> event.outputTextDelta().stream())
          .map(event -> event.delta())
          .collect(Collectors.joining());
      tell(model, "responses stream", Map.of("text", deltas));
    }
  }

  private static void message(AnthropicClient client, String model) throws Exception {
    var params = MessageCreateParams.builder().model(model).maxTokens(200).addUserMessage(SAID).build();
    var whole = client.messages().create(params);
    tell(model, "messages", Map.of(
        "text", whole.content().get(0).text().orElseThrow().text(),
        "tokens", whole.usage().outputTokens()));
    try (var stream = client.messages().createStreaming(params)) {
      String text = stream.stream()
          .flatMap(event -> event.contentBlockDelta().stream())
          .flatMap(event -> event.delta().text().stream())
          .map(delta -> delta.text())
          .collect(Collectors.joining());
      tell(model, "messages stream", Map.of("text", text));
    }
  }

  private static void unknown(OpenAIClient client) throws Exception {
    var params = ChatCompletionCreateParams.builder().model("nobody/knows-it").addUserMessage(SAID).build();
    try {
      client.chat().completions().create(params);
    } catch (NotFoundException error) {
      tell("nobody/knows-it", "unknown model", Map.of("code", error.code().orElse(""), "status", error.statusCode()));
    }
  }

  public static void main(String[] args) throws Exception {
    String origin = args[0];
    String key = args[1];
    var ofOpenAI = OpenAIOkHttpClient.builder().apiKey(key).baseUrl(origin + "/api/llm/v1").maxRetries(0).build();
    var ofAnthropic = AnthropicOkHttpClient.builder().apiKey(key).baseUrl(origin + "/api/llm").maxRetries(0).build();
    for (int at = 2; at < args.length; at++) {
      chat(ofOpenAI, args[at]);
      respond(ofOpenAI, args[at]);
      message(ofAnthropic, args[at]);
    }
    unknown(ofOpenAI);
    System.exit(0);
  }
}
