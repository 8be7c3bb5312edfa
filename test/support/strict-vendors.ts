// Vendors that reject what the real ones reject, in their own words, before the sandbox answers for them. Written only from error texts
// that users have reported, not from our own code.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { z } from "zod";
import { type Check, type Refusal, STRICT_CLOUDS } from "./strict-clouds.ts";
import { claudeThinking, openaiResponses, openaiSampling } from "./strict-models.ts";

const invalid = (message: string, status = 400): Refusal => {
  return { status, body: { error: { message, type: "invalid_request_error", param: null, code: null } } };
};

const text = z.strictObject({ type: z.literal("text"), text: z.string() });
const image = z.strictObject({
  type: z.literal("image_url"),
  image_url: z.union([z.string(), z.strictObject({ url: z.string(), detail: z.string().optional() })]),
});
const content = z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image]))]);
const file = z.strictObject({
  type: z.literal("file"),
  file: z.strictObject({ filename: z.string().optional(), file_data: z.string().startsWith("data:") }),
});
const withFiles = z.union([z.string(), z.array(z.discriminatedUnion("type", [text, image, file]))]);
const call = (id: z.ZodType = z.string()) =>
  z.strictObject({
    id,
    type: z.literal("function"),
    function: z.strictObject({ name: z.string(), arguments: z.string() }),
  });

/** The messages that a vendor accepts: its roles, and the extra fields of each. */
function messages(
  roles: readonly [string, ...string[]],
  more: z.ZodRawShape = {},
  id: z.ZodType = z.string(),
  parts: z.ZodType = content,
) {
  const calls = z.array(call(id)).min(1).optional();
  return z.array(
    z.discriminatedUnion("role", [
      z.strictObject({ role: z.enum(roles), content: parts, ...more }),
      z.strictObject({ role: z.literal("assistant"), content: content.nullish(), tool_calls: calls, ...more }),
      z.strictObject({ role: z.literal("tool"), content, tool_call_id: id, ...more }),
    ]),
  );
}

const USUAL = {
  model: z.string(),
  max_tokens: z.number().optional(),
  temperature: z.number().optional(),
  top_p: z.number().optional(),
  n: z.number().optional(),
  stop: z.unknown().optional(),
  stream: z.boolean().optional(),
  tools: z.unknown().optional(),
  tool_choice: z.unknown().optional(),
  parallel_tool_calls: z.boolean().optional(),
  response_format: z.unknown().optional(),
  presence_penalty: z.number().optional(),
  frequency_penalty: z.number().optional(),
};
const OPENAI = {
  ...USUAL,
  max_completion_tokens: z.number().optional(),
  stream_options: z.unknown().optional(),
  seed: z.number().optional(),
  user: z.string().optional(),
  logit_bias: z.unknown().optional(),
  logprobs: z.boolean().optional(),
  top_logprobs: z.number().optional(),
  reasoning_effort: z.string().optional(),
  verbosity: z.string().optional(),
  prompt_cache_key: z.string().optional(),
  safety_identifier: z.string().optional(),
  service_tier: z.string().optional(),
};

/** Rejects what does not fit, with the vendor's words for the first error. */
function strict(shape: z.ZodRawShape, say: (at: string, word: string) => Refusal): Check {
  const schema = z.strictObject(shape);
  return (body) => {
    const [issue] = schema.safeParse(body).error?.issues ?? [];
    if (issue === undefined) return null;
    const keys = issue.code === "unrecognized_keys" ? issue.keys : [];
    return say([...issue.path, ...keys].join("."), issue.code);
  };
}

const MISTRAL_ID = z.string().regex(/^[a-zA-Z0-9]{9}$/);

/** Its only model here that accepts a thinking option. */
const MISTRAL_THINKS = /^mistral-small-2603$/;

const mistralFields = (more: z.ZodRawShape) =>
  strict(
    { ...USUAL, ...more, random_seed: z.number().optional(), messages: messages(["system", "user"], {}, MISTRAL_ID) },
    (at, word) => {
      const loc = ["body", ...at.split(".")];
      if (word === "invalid_format" || at.endsWith("id")) {
        return invalid("Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.");
      }
      const detail = [{ type: "extra_forbidden", loc, msg: "Extra inputs are not permitted" }];
      return { status: 422, body: { object: "error", message: { detail }, type: "invalid_request_error" } };
    },
  );

const mistralThinks = mistralFields({ reasoning_effort: z.enum(["none", "high"]).optional() });
const mistralOthers = mistralFields({});
const mistral: Check = (body, url) =>
  (MISTRAL_THINKS.test(String(body.model)) ? mistralThinks : mistralOthers)(body, url);

const deepseek: Check = (body) => {
  const said = body.messages as { role: string; tool_calls?: unknown; reasoning_content?: unknown }[];
  const unknown = said.find(({ role }) => !["system", "user", "assistant", "tool"].includes(role));
  if (unknown)
    return invalid(
      `Failed to deserialize the JSON body into the target type: messages: unknown variant \`${unknown.role}\``,
    );
  if ((body.response_format as { type?: string } | undefined)?.type === "json_schema") {
    return invalid("This response_format type is unavailable now");
  }
  const effort = body.reasoning_effort;
  if (effort !== undefined && !["low", "high", "max"].includes(String(effort)))
    return invalid(`Failed to deserialize the JSON body: reasoning_effort: unknown variant \`${effort}\``);
  if (said.some((one) => one.tool_calls !== undefined && typeof one.reasoning_content !== "string")) {
    return invalid("The `reasoning_content` in the thinking mode must be passed back to the API.");
  }
  return null;
};

/** The fields of its own SDK; it allows one answer per request. */
const GROQS = { ...USUAL, n: z.literal(1).optional(), max_completion_tokens: z.number().optional() };
const groq = strict(
  {
    ...GROQS,
    stream_options: z.unknown().optional(),
    seed: z.number().optional(),
    user: z.string().optional(),
    reasoning_effort: z.enum(["none", "default", "low", "medium", "high"]).optional(),
    service_tier: z.string().optional(),
    reasoning_format: z.string().optional(),
    include_reasoning: z.boolean().optional(),
    messages: messages(["system", "user"], { name: z.string().optional(), reasoning: z.string().optional() }),
  },
  (at) => invalid(`property '${at}' is unsupported`),
);

const cerebras = strict(
  {
    ...GROQS,
    n: z.number().optional(),
    stream_options: z.unknown().optional(),
    seed: z.number().optional(),
    user: z.string().optional(),
    reasoning_effort: z.enum(["none", "low", "medium", "high"]).optional(),
    reasoning_format: z.string().optional(),
    logit_bias: z.unknown().optional(),
    logprobs: z.boolean().optional(),
    top_logprobs: z.number().optional(),
    prompt_cache_key: z.string().optional(),
    messages: messages(["system", "user"], { name: z.string().optional() }),
  },
  (at) => {
    return {
      status: 400,
      body: {
        message: `${at}: property '${at}' is unsupported`,
        type: "invalid_request_error",
        code: "wrong_api_format",
      },
    };
  },
);

const openaiFields = strict(
  {
    ...OPENAI,
    messages: messages(
      ["system", "developer", "user"],
      { name: z.string().optional(), refusal: z.string().nullish() },
      z.string(),
      withFiles,
    ),
  },
  (at) => invalid(`Unknown parameter: '${at}'.`),
);

/** Ids, names and schemas of tools, in the words that users have reported. */
const openaiTools: Check = (body) => {
  const said = JSON.stringify(body.messages);
  const id = said.match(/"(?:tool_call_)?id":"([^"]{65,})"/)?.[1];
  if (id !== undefined) return invalid(`Invalid 'messages': string too long. Expected at most 64, got ${id.length}.`);
  for (const { function: tool } of (body.tools ?? []) as {
    function: { name: string; parameters?: Record<string, unknown> };
  }[]) {
    const { name, parameters } = tool;
    if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return invalid(`Invalid 'tools[0].function.name': '${name}'.`);
    if (parameters === undefined) continue;
    const wrong = ["anyOf", "oneOf", "allOf", "enum", "not"].find((word) => parameters[word] !== undefined);
    if (wrong !== undefined || parameters.type !== "object")
      return invalid(
        `Invalid schema for function '${name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`,
      );
    if (parameters.properties === undefined)
      return invalid(`Invalid schema for function '${name}': In context=(), object schema missing properties.`);
  }
  return null;
};

const openai: Check = (body, url) => openaiFields(body, url) ?? openaiTools(body, url) ?? openaiSampling(body, url);

/** The fields of its own SDK, in bodies, messages and parts. */
const fireworks = strict(
  {
    ...OPENAI,
    verbosity: z.undefined().optional(),
    safety_identifier: z.undefined().optional(),
    metadata: z.unknown().optional(),
    top_k: z.number().optional(),
    min_p: z.number().optional(),
    repetition_penalty: z.number().optional(),
    reasoning_effort: z.enum(["none", "low", "medium", "high"]).optional(),
    messages: messages(["system", "user"], { reasoning_content: z.string().optional() }),
  },
  (at) => invalid(`Extra inputs are not permitted, field: '${at}'`),
);

const xai: Check = (body) => {
  const penalty = ["presence_penalty", "frequency_penalty"].find((field) => body[field] !== undefined);
  return penalty === undefined ? null : invalid(`Argument not supported on this model: ${penalty}`);
};

const together: Check = (body) => {
  const effort = body.reasoning_effort;
  if (effort !== undefined && !["low", "medium", "high"].includes(String(effort)))
    return invalid(`Input validation error: unknown reasoning_effort ${effort}`);
  const said = body.messages as { role: string }[];
  const odd = said.find(({ role }) => !["system", "user", "assistant", "tool"].includes(role));
  return odd ? invalid(`Input validation error: unknown role ${odd.role}`) : null;
};

export const STRICT: Readonly<Record<string, Check>> = {
  openai,
  mistral,
  deepseek,
  groq,
  cerebras,
  together,
  fireworks,
  xai,
  ...STRICT_CLOUDS,
};

/** For vendors that use several wires, or none of OpenAI's: by the end of the path. */
const STRICT_ELSEWHERE: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  responses: { openai: openaiResponses, "azure-openai": openaiResponses },
  messages: { anthropic: claudeThinking },
};

function checkOf(vendor: string, path: string): Check | undefined {
  const wire = Object.keys(STRICT_ELSEWHERE).find((name) => path.endsWith(`/${name}`));
  return wire === undefined ? STRICT[vendor] : STRICT_ELSEWHERE[wire]?.[vendor];
}

export interface StrictVendors {
  readonly url: string;
  /** Vendors that answer 503. */
  readonly down: Set<string>;
  /** Replaces the sandbox's next answer: a stream, or the JSON of a whole one. */
  answersNext(body: string): void;
  /** The accepted bodies, in order. */
  readonly taken: Record<string, unknown>[];
  /** The rejections, by vendor. */
  readonly refusals: { readonly vendor: string; readonly told: string }[];
  close(): Promise<void>;
}

/** Serves `/<vendor>/...`: rejects what the vendor would reject, and passes everything else to the sandbox. */
export async function startStrictVendors(sandboxUrl: string): Promise<StrictVendors> {
  const down = new Set<string>();
  const refusals: { vendor: string; told: string }[] = [];
  const taken: Record<string, unknown>[] = [];
  let next: string | null = null;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = Buffer.concat(chunks).toString();
    const path = request.url ?? "";
    const vendor = path.split("/")[1] ?? "";
    const reply = (status: number, said: unknown) =>
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said));
    if (down.has(vendor)) return reply(503, { error: { message: "down", type: "server_error" } });
    if (vendor === "token") return reply(200, { access_token: "token", expires_in: 3_600, token_type: "Bearer" });
    const refusal = checkOf(vendor, path)?.(JSON.parse(body), new URL(path, "http://x")) ?? null;
    if (refusal !== null) {
      refusals.push({ vendor, told: JSON.stringify(refusal.body) });
      return reply(refusal.status, refusal.body);
    }
    taken.push(JSON.parse(body));
    if (next !== null) {
      const type = next.startsWith("data:") ? "text/event-stream" : "application/json";
      response.writeHead(200, { "content-type": type }).end(next);
      next = null;
      return;
    }
    const {
      host: _host,
      connection: _connection,
      "content-length": _length,
      "transfer-encoding": _coding,
      ...kept
    } = request.headers;
    const headers = Object.entries(kept).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
    const answer = await fetch(sandboxUrl + path, { method: "POST", body, headers: headers as [string, string][] });
    response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
    response.end(Buffer.from(await answer.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    down,
    taken,
    refusals,
    answersNext(body) {
      next = body;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
