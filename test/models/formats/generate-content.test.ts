// The generate-content wire over every dialect: what its caller sees, whole, as events and as a list, and the ledger's postings.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";

type Json = Record<string, unknown>;
interface Part extends Json {
  readonly text?: string;
  readonly functionCall?: { readonly id: string; readonly name: string; readonly args: Json };
  readonly thoughtSignature?: string;
}
interface Piece {
  readonly candidates?: readonly {
    readonly content: { readonly parts: readonly Part[]; readonly role: string };
    readonly finishReason?: string;
  }[];
  readonly usageMetadata?: Record<string, number>;
  readonly error?: { readonly code: number; readonly status: string; readonly message: string };
}

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

function ask(path: string, body: unknown, headers: Record<string, string> = { "x-goog-api-key": account.key }) {
  return fetch(`${gateway.url}/v1beta/models/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
}

/** The pieces of an answer in any form. */
async function pieces(answer: Response): Promise<Piece[]> {
  const text = await answer.text();
  if (answer.headers.get("content-type")?.startsWith("text/event-stream")) {
    const events = text.split("\r\n\r\n").filter((event) => event.startsWith("data: "));
    return events.map((event) => JSON.parse(event.slice(6)) as Piece);
  }
  const json = JSON.parse(text) as Piece | Piece[];
  return Array.isArray(json) ? json : [json];
}

function partsOf(all: readonly Piece[]): Part[] {
  return all.flatMap(({ candidates = [] }) => candidates.flatMap(({ content }) => content.parts));
}

function textOf(all: readonly Piece[]): string {
  return partsOf(all)
    .filter(({ thought }) => thought !== true)
    .map(({ text = "" }) => text)
    .join("");
}

const user = (text: string) => ({ role: "user", parts: [{ text }] });
const MODELS = ["sandbox", "sandbox-responses", "sandbox-messages", "sandbox-gemini", "sandbox-converse"];
const FORMS = ["generateContent", "streamGenerateContent?alt=sse", "streamGenerateContent"];
const WEATHER = {
  functionDeclarations: [
    {
      name: "weather",
      description: "The weather of a city",
      parameters: { type: "OBJECT", properties: { city: { type: "STRING", nullable: true } }, required: ["city"] },
    },
  ],
};

describe.each(MODELS)("%s", (provider) => {
  describe.each(FORMS)("%s", (verb) => {
    it("answers with text, an end, and usage with what it cost", async () => {
      const answer = await ask(`${provider}/ok:${verb}`, {
        systemInstruction: { parts: [{ text: "Be kind" }] },
        contents: [user("[[say: one two three]]")],
        generationConfig: { maxOutputTokens: 100, temperature: 0.5, topP: 0.9 },
      });
      const all = await pieces(answer);
      expect(textOf(all)).toBe("one two three");
      expect(all.at(-1)?.candidates?.[0]?.finishReason).toBe("STOP");
      expect(all.at(-1)?.usageMetadata).toMatchObject({ candidatesTokenCount: 3, thoughtsTokenCount: 0 });
      expect(all.at(-1)?.usageMetadata?.cost).toBeGreaterThan(0);
    });

    it("calls a function, and goes on with its result", async () => {
      const asked = { contents: [user("What is the weather?")], tools: [WEATHER] };
      const all = await pieces(await ask(`${provider}/ok:${verb}`, asked));
      const call = partsOf(all).find(({ functionCall }) => functionCall !== undefined);
      expect(call?.functionCall).toMatchObject({ name: "weather", args: { city: expect.any(String) } });
      const { id, name } = call?.functionCall ?? { id: "", name: "" };
      const contents = [
        ...asked.contents,
        { role: "model", parts: partsOf(all) },
        { role: "user", parts: [{ functionResponse: { id, name, response: { output: "fine" } } }] },
      ];
      const next = await ask(`${provider}/ok:${verb}`, { ...asked, contents });
      expect(textOf(await pieces(next))).toMatch(/\w/);
    });
  });

  it("takes a result without an id for the call of that name", async () => {
    const call = { role: "model", parts: [{ functionCall: { name: "weather", args: { city: "Rome" } } }] };
    const result = { role: "user", parts: [{ functionResponse: { name: "weather", response: { degrees: 3 } } }] };
    const body = { contents: [user("Weather?"), call, result], tools: [WEATHER] };
    expect((await ask(`${provider}/ok:generateContent`, body)).status).toBe(200);
  });

  it("takes an image beside text, in either spelling of its fields", async () => {
    const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    for (const part of [
      { inlineData: { mimeType: "image/png", data: png } },
      { inline_data: { mime_type: "image/png", data: png } },
    ]) {
      const answer = await ask(`${provider}/ok:generateContent`, {
        contents: [{ parts: [part, { text: "[[say: a dot]]" }] }],
        generation_config: { max_output_tokens: 20 },
      });
      expect([answer.status, textOf(await pieces(answer))]).toEqual([200, "a dot"]);
      expect(answer.headers.get("x-tollgate-dropped")).toBeNull();
    }
  });
});

describe("thoughts", () => {
  const asked = (includeThoughts: boolean) => ({
    contents: [user("[[think]] Why?")],
    generationConfig: { maxOutputTokens: 4_000, thinkingConfig: { includeThoughts, thinkingLevel: "low" } },
  });

  it.each(FORMS)("are shown to those who ask for them alone: %s", async (verb) => {
    const shown = partsOf(await pieces(await ask(`sandbox-messages/ok:${verb}`, asked(true))));
    expect(shown.some(({ thought }) => thought === true)).toBe(true);
    const hidden = partsOf(await pieces(await ask(`sandbox-messages/ok:${verb}`, asked(false))));
    expect(hidden.some(({ thought }) => thought === true)).toBe(false);
  });

  it("come back under a signature that is base64, and are taken", async () => {
    const parts = partsOf(await pieces(await ask("sandbox-messages/ok:generateContent", asked(true))));
    const signature = parts.find(({ thoughtSignature }) => thoughtSignature !== undefined)?.thoughtSignature ?? "";
    expect(signature).toMatch(/^[A-Za-z0-9+/]{20,}={0,2}$/);
    const contents = [user("[[think]] Why?"), { role: "model", parts }, user("And now?")];
    const next = await ask("sandbox-messages/ok:generateContent", { ...asked(true), contents });
    expect(next.status).toBe(200);
  });
});

describe("a schema", () => {
  it("in the wire's own form is JSON Schema for other vendors, and the answer fits it", async () => {
    const responseSchema = { type: "OBJECT", properties: { name: { type: "STRING" } }, required: ["name"] };
    const generationConfig = { responseMimeType: "application/json", responseSchema };
    const answer = await ask("sandbox/ok:generateContent", { contents: [user("Who?")], generationConfig });
    expect(JSON.parse(textOf(await pieces(answer)))).toEqual({ name: expect.any(String) });
  });
});

describe("keys", () => {
  const body = { contents: [user("[[say: hi]]")] };

  it("come in a header of the wire's, as a bearer's, or in the query", async () => {
    const bearer = await ask("sandbox/ok:generateContent", body, { authorization: `Bearer ${account.key}` });
    expect(bearer.status).toBe(200);
    const query = await ask(`sandbox/ok:generateContent?key=${account.key}`, body, {});
    expect(query.status).toBe(200);
    expect((await pieces(await ask("sandbox/ok:generateContent", body, {})))[0]?.error).toMatchObject({ code: 401 });
  });

  it("are in no log line", async () => {
    expect(gateway.lines().filter((line) => line.includes(account.key))).toEqual([]);
  });
});

describe("what is wrong is told in the wire's words, and costs nothing", () => {
  const errorOf = async (path: string, body: unknown) => (await pieces(await ask(path, body)))[0]?.error;

  it.each([
    ["contents", {}],
    ["contents.0.parts.0.text", { contents: [{ parts: [{ text: 5 }] }] }],
    ["generationConfig.temperature", { contents: [user("Hi")], generationConfig: { temperature: 9 } }],
    ["tools.0.googleMaps", { contents: [user("Hi")], tools: [{ googleMaps: {} }] }],
    ["cachedContent", { contents: [user("Hi")], cachedContent: "cachedContents/1" }],
    [
      "generationConfig.responseModalities",
      { contents: [user("Hi")], generationConfig: { responseModalities: ["AUDIO"] } },
    ],
  ])("%s", async (field, body) => {
    const error = await errorOf("sandbox/ok:generateContent", body);
    expect(error).toMatchObject({ code: 400, status: "INVALID_ARGUMENT", details: [{ metadata: { param: field } }] });
  });

  it("a model that is not there", async () => {
    expect(await errorOf("nobody/nothing:generateContent", { contents: [user("Hi")] })).toMatchObject({
      code: 404,
      status: "NOT_FOUND",
      details: [{ reason: "model_not_found" }],
    });
  });

  it("a verb that is not served", async () => {
    expect(await errorOf("sandbox/ok:predict", {})).toMatchObject({ code: 404, status: "NOT_FOUND" });
  });

  it("an account without money", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const answer = await ask("sandbox/ok:generateContent", { contents: [user("Hi")] }, { "x-goog-api-key": poor.key });
    expect((await pieces(answer))[0]?.error).toMatchObject({ code: 402, status: "FAILED_PRECONDITION" });
  });

  it.each(["streamGenerateContent?alt=sse", "streamGenerateContent"])("a stream that breaks: %s", async (verb) => {
    const all = await pieces(await ask(`sandbox/error-after-2:${verb}`, { contents: [user("Hi")] }));
    expect(all.at(-1)?.error).toMatchObject({ code: 502, status: "UNAVAILABLE" });
  });
});

it("several candidates end one by one, and usage comes after them", async () => {
  const body = { contents: [user("[[say: one]]")], generationConfig: { candidateCount: 2 } };
  const all = await pieces(await ask("sandbox/ok:streamGenerateContent?alt=sse", body));
  const ends = all.flatMap(({ candidates = [] }) => candidates).filter(({ finishReason }) => finishReason === "STOP");
  expect(ends).toHaveLength(2);
  expect(all.at(-1)?.usageMetadata?.totalTokenCount).toBeGreaterThan(0);
});

describe("beside answers", () => {
  it("counts tokens for free, of a whole request and of contents", async () => {
    const contents = [user("one two three")];
    const counted = async (body: unknown) => (await (await ask("sandbox/ok:countTokens", body)).json()) as Json;
    const [bare, whole] = [await counted({ contents }), await counted({ generateContentRequest: { contents } })];
    expect(bare.totalTokens).toBeGreaterThan(2);
    expect(whole).toEqual(bare);
  });

  it("lists models page by page, and names one", async () => {
    const list = async (query: string) =>
      (await (await fetch(`${gateway.url}/v1beta/models?${query}`)).json()) as {
        models: { name: string }[];
        nextPageToken?: string;
      };
    const first = await list("pageSize=3");
    expect(first.models).toHaveLength(3);
    const second = await list(`pageSize=3&pageToken=${first.nextPageToken}`);
    expect(second.models[0]?.name).not.toBe(first.models[0]?.name);
    const one = await fetch(`${gateway.url}/v1beta/${first.models[0]?.name}`);
    expect(await one.json()).toMatchObject({ name: first.models[0]?.name });
    expect((await fetch(`${gateway.url}/v1beta/models?pageSize=many`)).status).toBe(400);
  });

  it("makes vectors of one text and of many, and charges them", async () => {
    const sandbox = await gateway.account({ kind: "sandbox" });
    const headers = { "x-goog-api-key": sandbox.key };
    const content = { parts: [{ text: "some words" }] };
    const one = await ask("openai/text-embedding-3-small:embedContent", { content, outputDimensionality: 8 }, headers);
    expect(await one.json()).toMatchObject({ embedding: { values: expect.any(Array) } });
    const many = { requests: [{ content }, { content }] };
    const both = await ask("openai/text-embedding-3-small:batchEmbedContents", many, headers);
    const { embeddings } = (await both.json()) as { embeddings: { values: number[] }[] };
    expect(embeddings.map(({ values }) => typeof values[0])).toEqual(["number", "number"]);
  });
});
