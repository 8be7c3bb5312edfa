// A responses vendor stub: answers through the format's own encoder, with the usage counts and errors of real vendors.

import { z } from "zod";
import { isRecord } from "../../../core/json.ts";
import type { AnswerCodec } from "../../../core/neutral.ts";
import { type Answer, tokenUsage } from "../../../sandbox/answer.ts";
import { CHAT_COMPLETIONS } from "../../../sandbox/conventions.ts";
import { type Dialect, type DialectEvent, type DialectReading, readingOf } from "../../../sandbox/dialect.ts";
import { type AnswerWords, encodedEvents, neutralAnswer } from "../../../sandbox/encoded-answer.ts";
import type { Conduct } from "../../../sandbox/faults.ts";
import { type Refusal, refusalWords } from "../../../sandbox/refusals.ts";
import { ResponsesCall } from "./answers.ts";
import { usageJson } from "./response-object.ts";
import { type ResponsesRequest, readResponsesRequest } from "./strict-request.ts";

const CREATED_S = 1_767_225_600;

/** The encoder writes every thought with a seal; where the request did not include seals, it becomes null. */
const NO_SEAL = /"encrypted_content":""/g;

function wordsOf({ seals }: ResponsesRequest): AnswerWords {
  const seal = (text: string) => (seals ? `sealed-${Buffer.from(text).toString("base64url")}` : "");
  return { callPrefix: "call_", seal, native: () => "" };
}

function codecOf({ ask, body, showsSummary }: ResponsesRequest, { id }: Answer): AnswerCodec {
  const { reasoning } = body;
  const told = isRecord(reasoning) && !showsSummary ? { ...body, reasoning: { ...reasoning, summary: null } } : body;
  const call = new ResponsesCall(told, {
    store: body.store !== false,
    maxOutputTokens: ask.outputTokensMax,
    onSocket: false,
    seals: true,
    nowS: () => CREATED_S,
  });
  return call.answers({ id: `resp_${id}`, createdS: CREATED_S, model: ask.model });
}

function whole(request: ResponsesRequest, answer: Answer, conduct: Conduct): Record<string, unknown> {
  const response = codecOf(request, answer).whole(neutralAnswer(answer, wordsOf(request)));
  const usage = conduct.usage === "never" ? null : usageJson(tokenUsage(answer.usage));
  return { ...JSON.parse(JSON.stringify(response).replace(NO_SEAL, '"encrypted_content":null')), usage };
}

function* events(request: ResponsesRequest, answer: Answer, conduct: Conduct): Generator<DialectEvent> {
  const usage = conduct.usage === "never" ? null : usageJson(tokenUsage(answer.usage));
  for (const event of encodedEvents(answer, wordsOf(request), codecOf(request, answer).encoder())) {
    const data = event.data.replace(NO_SEAL, '"encrypted_content":null');
    if (event.kind !== "closing") yield { ...event, data };
    else {
      const { response, ...rest } = JSON.parse(data);
      yield { ...event, data: JSON.stringify({ ...rest, response: { ...response, usage } }) };
    }
  }
  // The open variant of this format ends like chat completions.
  yield { name: null, data: "[DONE]", tokens: 0, kind: "done" };
}

function errorEvent(refusal: Refusal): DialectEvent {
  const { message, type, code } = refusalWords(refusal, "chatCompletions");
  const data = { type: "error", sequence_number: 0, code: code ?? type, message, param: refusal.param ?? null };
  return { name: "error", data: JSON.stringify(data), tokens: 0, kind: "closing" };
}

export const responses: Dialect = {
  ...CHAT_COMPLETIONS,
  path: /\/responses$/,
  read(json): DialectReading | Refusal {
    const request = readResponsesRequest(json);
    if ("kind" in request) return request;
    return readingOf(request.ask, request, { whole, events });
  },
  errorEvent,
};

// A stub of the plain responses wire: messages with one text, the vendor's own search, and chat completions' format field.

const own = z.looseObject({
  input: z.array(
    z.strictObject({
      type: z.literal("message"),
      role: z.enum(["user", "assistant", "system", "developer"]),
      content: z.string(),
    }),
  ),
  tools: z.array(z.looseObject({ type: z.literal("web_search") })),
  tool_choice: z.enum(["none", "auto", "required"]).optional(),
  max_steps: z.int().min(1).optional(),
  response_format: z
    .strictObject({ type: z.literal("json_schema"), json_schema: z.looseObject({ schema: z.looseObject({}) }) })
    .optional(),
});

/** Parses the rest like a request to OpenAI. */
export const plainResponses: Dialect = {
  ...responses,
  path: /\/agent$/,
  read(json, target) {
    const read = own.safeParse(json);
    const [issue] = read.error?.issues ?? [];
    if (issue !== undefined) return { kind: "invalid", message: `${issue.path.join(".")}: ${issue.message}` };
    const { tools: _, tool_choice: __, max_steps: ___, response_format: format, ...rest } = read.data ?? {};
    const schema = format === undefined ? {} : { text: { format: { type: "json_schema", ...format.json_schema } } };
    return responses.read({ ...rest, ...schema }, target);
  },
};
