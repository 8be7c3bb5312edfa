// A client with a wrong base URL gets an error in its own wire's form that names the path it meant, for every path of every wire.
import { describe, expect, it } from "vitest";
import { MODEL_WIRES } from "../../../src/models/formats/model-wires.ts";
import type { WirePaths } from "../../../src/models/formats/wire.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

async function ask(method: string, path: string): Promise<{ status: number; json: Record<string, unknown> }> {
  const body = method === "POST" ? { body: "{}" } : {};
  const answer = await fetch(`${gateway.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
    ...body,
  });
  return { status: answer.status, json: (await answer.json()) as Record<string, unknown> };
}

/** The distinguishing shape of a wire's errors, and their message. */
const SHAPES: Readonly<Record<string, (json: Record<string, unknown>) => { message: string } | undefined>> = {
  "chat-completions": ({ error, type }) => (type === undefined ? (error as { message: string }) : undefined),
  responses: ({ error, type }) => (type === undefined ? (error as { message: string }) : undefined),
  messages: ({ error, type }) => (type === "error" ? (error as { message: string }) : undefined),
  "generate-content": ({ error }) => {
    const told = error as { status: string; message: string };
    return told.status === "NOT_FOUND" ? told : undefined;
  },
};

const named = (path: string) => path.replace(/\{[^}]*\}/g, "some/model").replace("/some/model/", "/some/");
const HEADS = ["", "/api/llm", "/v1/v1", "/api/llm/v1/v1", "/api/v1", "/elsewhere/v1", "/v1beta/v1beta", "/v1/v1beta"];

describe.each(MODEL_WIRES.map((wire) => [wire.name, wire] as const))("the %s wire", (name, wire) => {
  const paths = [...wire.calls, ...(wire.counts ?? []), ...(wire.embeddings ?? [])].map(({ path }: WirePaths) =>
    named(path),
  );
  const ends = [...new Set(paths.map((path) => path.replace(/^\/api\/llm\/v1(beta)?/, "")))];
  const served = new Set(paths.flatMap((path) => [path, path.replace("/api/llm", "")]));

  it.each(ends)("%s below any wrong base", async (end) => {
    for (const head of HEADS.filter((one) => !served.has(one + end))) {
      for (const path of [head + end, `${head}${end}/`]) {
        const { status, json } = await ask("POST", path);
        expect([path, status]).toEqual([path, 404]);
        const told = SHAPES[name]?.(json);
        expect(told?.message).toMatch(/ There is \/api\/llm\/v1(beta)?\//);
        expect(told?.message.endsWith(`${end}.`)).toBe(true);
      }
    }
  });
});

describe("lists of models", () => {
  it.each([
    ["/models", "/api/llm/v1/models", "chat-completions"],
    ["/v1/v1/models", "/api/llm/v1/models", "chat-completions"],
    ["/api/llm/models/core/cheap", "/api/llm/v1/models/core/cheap", "chat-completions"],
    ["/v1beta/v1beta/models", "/api/llm/v1beta/models", "generate-content"],
    ["/v1/v1beta/models/core/cheap", "/api/llm/v1beta/models/core/cheap", "generate-content"],
  ])("%s is told of %s", async (path, right, wire) => {
    const { status, json } = await ask("GET", path);
    expect(status).toBe(404);
    expect(SHAPES[wire]?.(json)?.message).toBe(`There is nothing at ${path}. There is ${right}.`);
  });
});

describe("models of other kinds, in OpenAI's form", () => {
  it.each(["/embeddings", "/rerank", "/completions", "/images/generations", "/audio/speech", "/moderations"])(
    "%s",
    async (end) => {
      for (const head of ["", "/api/llm", "/v1/v1", "/api/llm/v1/v1"]) {
        const { status, json } = await ask("POST", head + end);
        expect([status, SHAPES["chat-completions"]?.(json)?.message]).toEqual([
          404,
          `There is nothing at ${head}${end}. There is /api/llm/v1${end}.`,
        ]);
      }
    },
  );
});

it("what is no model's path keeps the envelope", async () => {
  expect((await ask("POST", "/api/run/core/discover/more")).json).toMatchObject({ ok: false, error: "not_found" });
  expect((await ask("GET", "/elsewhere")).json).toMatchObject({ ok: false, error: "not_found" });
});
