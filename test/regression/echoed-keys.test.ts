// A vendor that echoes our request in its error: no caller sees our key, whatever the form of the error.
import type { ServerResponse } from "node:http";
import { describe, expect, it } from "vitest";
import { startAcmeGateway } from "../actions/run/acme-gateway.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { startVendor, type VendorRequest } from "../support/vendor-server.ts";

/** Long, and with characters that JSON, URLs and base64 encode differently. */
const KEY = 'sk-echo-"6f1c/9+d2=e8a4b70c5d';

const vendor = forFile(await startVendor());
const own = (id: string) => ({ [`${id}_API_KEY`]: KEY, [`${id}_BASE_URL`]: `${vendor.url}/v1` });
const gateway = forFile(await startTestGateway({ ...own("OPENAI"), ...own("ANTHROPIC"), ...own("GEMINI") }));
const account = await gateway.account({ kind: "personal", creditCents: 100_000 });

/** Every way in which a vendor may write our key. */
function echo({ headers }: VendorRequest): string {
  const sent = JSON.stringify({
    authorization: headers.authorization,
    "x-api-key": headers["x-api-key"],
    "x-goog-api-key": headers["x-goog-api-key"],
  });
  const basic = Buffer.from(KEY).toString("base64");
  return `You sent ${sent}, which is ${KEY}, ?key=${encodeURIComponent(KEY)}, Basic ${basic}`;
}

/** Whole, in part, and as encoded in JSON or in a URL. */
function leaks(text: string): string[] {
  const basic = Buffer.from(KEY).toString("base64");
  return [KEY.slice(-12), KEY.slice(0, 16), "9%2Bd2%3De8a4", basic.slice(4, 24)].filter((part) => text.includes(part));
}

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function stream(response: ServerResponse, events: readonly unknown[]): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
  response.end();
}

async function post(path: string, body: Record<string, unknown>): Promise<string> {
  const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
  const response = await fetch(`${gateway.url}/api/llm/v1/${path}`, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  return response.text();
}

const chat = (model: string, streamed: boolean) =>
  post("chat/completions", { model, stream: streamed, messages: [{ role: "user", content: "hello" }] });

const MODELS = ["openai/gpt-5.4-nano", "anthropic/claude-haiku-4.5", "google/gemini-3.5-flash-lite"];

describe("the key that a vendor repeats is not told", () => {
  for (const model of MODELS) {
    for (const streamed of [false, true]) {
      const how = `${model}${streamed ? ", streamed" : ""}`;

      it(`in a refusal of the request (${how})`, async () => {
        vendor.answers((response, request) => {
          json(response, 400, { error: { message: echo(request), type: "invalid_request_error", code: 400 } });
        });
        const told = await chat(model, streamed);
        expect(told).toContain("You sent");
        expect(told).toContain("[key]");
        expect(leaks(told)).toEqual([]);
      });

      it(`in an error of no known shape (${how})`, async () => {
        vendor.answers((response, request) => json(response, 422, { error: { told: echo(request) } }));
        const told = await chat(model, streamed);
        expect(told).toContain("You sent");
        expect(leaks(told)).toEqual([]);
      });

      it(`in a page of text (${how})`, async () => {
        vendor.answers((response, request) => response.writeHead(400).end(`<html>${echo(request)}</html>`));
        expect(leaks(await chat(model, streamed))).toEqual([]);
      });

      it(`in an error inside a good answer (${how})`, async () => {
        vendor.answers((response, request) => {
          const error = { message: echo(request), type: "invalid_request_error", code: 400 };
          if (streamed) stream(response, [{ type: "error", error }]);
          else json(response, 200, { type: "error", error });
        });
        expect(leaks(await chat(model, streamed))).toEqual([]);
      });

      it(`where the end of a long message is cut off (${how})`, async () => {
        for (const at of [490, 500, 1_990, 2_000]) {
          vendor.answers((response) => json(response, 400, { error: { message: `${"x".repeat(at - 20)}${KEY}` } }));
          const told = await chat(model, streamed);
          expect(told).toContain("xxx");
          expect(leaks(told)).toEqual([]);
        }
      });
    }
  }

  it("in an error that ends a stream after its first words", async () => {
    vendor.answers((response, request) => {
      const error = { message: echo(request), type: "invalid_request_error", code: 400 };
      const delta = { role: "assistant", content: "A first word" };
      stream(response, [{ id: "x", object: "chat.completion.chunk", choices: [{ index: 0, delta }] }, { error }]);
    });
    const told = await chat("openai/gpt-5.4-nano", true);
    expect(told).toContain("A first word");
    expect(told).toContain('"error"');
    expect(leaks(told)).toEqual([]);
  });

  it("to the operator, in what routes failed with", async () => {
    vendor.answers((response, request) => json(response, 500, { error: { message: echo(request) } }));
    await chat("openai/gpt-5.4-nano", false);
    const { json: told } = await gateway.admin("GET", "/admin/v1/routes");
    const text = JSON.stringify(told);
    expect(text).toContain("You sent");
    expect(text).toContain("[key]");
    expect(leaks(text)).toEqual([]);
  });

  it("in a refusal of embeddings", async () => {
    vendor.answers((response, request) => json(response, 400, { error: { message: echo(request) } }));
    const told = await post("embeddings", { model: "openai/text-embedding-3-small", input: "hello" });
    expect(told).toContain("You sent");
    expect(leaks(told)).toEqual([]);
  });

  it("in a refusal of an action, whose body is shown as it came but for the key", async () => {
    const acme = await startAcmeGateway({ ACME_API_KEY: KEY });
    try {
      acme.vendor.answers((response, request) => {
        const said = echo(request);
        // A backslash before a letter of the key may belong to something else.
        const body = { message: said, sent: { [said]: [said, `\n${KEY}`, `\\${KEY}`] }, untouched: "\\[key] \u00e9" };
        json(response, 400, body);
      });
      const { status, text, json: told } = await acme.run(await acme.live(), "acme/buy", { sku: "x" });
      expect([status, leaks(text)]).toEqual([400, []]);
      expect(told.data).toMatchObject({ vendor: { untouched: "\\[key] \u00e9" } });
    } finally {
      await acme.stop();
    }
  });

  it("in the log", () => {
    expect(leaks(JSON.stringify(gateway.records()))).toEqual([]);
  });
});
