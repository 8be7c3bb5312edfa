// Google's clients over every dialect, with only the base URL changed: two major versions in Node, and one in Python if it is installed.
import { type FunctionDeclaration, GoogleGenAI, Type } from "@google/genai";
import { GoogleGenAI as Before } from "@google/genai-2";
import { describe, expect, it } from "vitest";
import { folderForFile, forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { installedPython, toldByPython } from "./python-site.ts";

const MODELS = ["sandbox/ok", "sandbox-responses/ok", "sandbox-gemini/ok", "sandbox-messages/ok"];
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const WEATHER: FunctionDeclaration = {
  name: "weather",
  description: "The weather of a city",
  parameters: { type: Type.OBJECT, properties: { city: { type: Type.STRING } }, required: ["city"] },
};

const folder = folderForFile("tollgate-genai-");
const NEWEST = installedPython(folder, "google-genai==3.4.0");
const PYTHON_BEFORE = installedPython(folder, "google-genai==2.34.0");

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

type Client = Pick<GoogleGenAI, "models" | "chats">;
const CLIENTS: readonly [string, (options: ConstructorParameters<typeof GoogleGenAI>[0]) => Client][] = [
  ["3", (options) => new GoogleGenAI(options)],
  ["2", (options) => new Before(options) as unknown as Client],
];

describe.each(CLIENTS)("@google/genai %s", (_, make) => {
  // Both addresses that a reader of the README may try.
  const client = (below = "/api/llm") =>
    make({ apiKey: account.key, httpOptions: { baseUrl: `${gateway.url}${below}` } });

  describe.each(MODELS)("over %s", (model) => {
    it("asks, whole and streamed", async () => {
      const asked = { model, contents: "[[say: one two three]]" };
      const whole = await client().models.generateContent(asked);
      expect([whole.text, whole.usageMetadata?.candidatesTokenCount]).toEqual(["one two three", 3]);
      let text = "";
      for await (const chunk of await client("").models.generateContentStream(asked)) text += chunk.text ?? "";
      expect(text).toBe("one two three");
    });

    it("calls functions and goes on in a chat", async () => {
      const chat = client().chats.create({ model, config: { tools: [{ functionDeclarations: [WEATHER] }] } });
      const first = await chat.sendMessage({ message: '[[call: weather {"city": "Rome"}]]' });
      const [call] = first.functionCalls ?? [];
      expect(call).toMatchObject({ name: "weather", args: { city: "Rome" } });
      const { id, name } = call ?? {};
      const response = { output: "sunny" };
      const said = await chat.sendMessage({
        message: [{ functionResponse: { ...(id && { id }), ...(name && { name }), response } }],
      });
      expect(said.text).toMatch(/\w/);
    });

    it("has schemas and images", async () => {
      const responseSchema = { type: Type.OBJECT, properties: { name: { type: Type.STRING } }, required: ["name"] };
      const config = { responseMimeType: "application/json", responseSchema };
      const answer = await client().models.generateContent({ model, contents: "Who?", config });
      expect(JSON.parse(answer.text ?? "")).toEqual({ name: expect.any(String) });
      const parts = [{ inlineData: { mimeType: "image/png", data: PNG } }, { text: "[[say: a dot]]" }];
      const seen = await client().models.generateContent({ model, contents: [{ role: "user", parts }] });
      expect(seen.text).toBe("a dot");
    });
  });

  it("counts, lists, and reads errors", async () => {
    const { totalTokens } = await client().models.countTokens({ model: "sandbox/ok", contents: "one two three" });
    expect(totalTokens).toBeGreaterThan(2);
    const names: string[] = [];
    for await (const { name } of await client().models.list({ config: { pageSize: 20 } })) names.push(name ?? "");
    expect(names).toContain("models/core/cheap");
    const nothing = client().models.generateContent({ model: "maker/nothing", contents: "Hi" });
    await expect(nothing).rejects.toMatchObject({ status: 404 });
  });

  it("makes vectors", async () => {
    const sandbox = await gateway.account({ kind: "sandbox" });
    const own = make({ apiKey: sandbox.key, httpOptions: { baseUrl: `${gateway.url}/api/llm` } });
    const { embeddings } = await own.models.embedContent({
      model: "openai/text-embedding-3-small",
      contents: ["a", "b"],
    });
    expect(embeddings?.map(({ values }) => typeof values?.[0])).toEqual(["number", "number"]);
  });
});

describe.each([
  ["3", NEWEST],
  ["2", PYTHON_BEFORE],
])("google-genai %s of Python", (_, site) => {
  it.skipIf(site === null).each(MODELS)("works as well, over %s", async (model) => {
    expect(await toldByPython("python-genai.py", site, [gateway.url, account.key, model])).toEqual([
      { what: "whole", text: "one two three", tokens: 3 },
      { what: "stream", text: "one two three", tokens: 3 },
      { what: "function", said: true, asked: ["Rome"] },
      { what: "schema", fields: ["name"] },
      { what: "count", some: true },
      { what: "unknown", code: 404 },
    ]);
  });
});
