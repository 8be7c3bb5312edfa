// `tollgate certify` over deliberately broken vendors. test/matrix/certify.test.ts covers every stand-in.

import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { vendorsOf } from "../../src/sandbox/action-vendors.ts";
import { type Sandbox, startSandbox } from "../../src/sandbox/server.ts";
import { startTestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const KEY = "sk-secret-of-the-operator";

interface Call {
  readonly provider: string;
  readonly asked: string;
  readonly kind: string;
  readonly verdict: string;
  readonly findings: readonly { readonly what: string; readonly detail: string }[];
  readonly limit_headers: readonly string[];
  readonly note: string;
}

interface Certificate {
  readonly ok: boolean;
  readonly stand_ins: boolean;
  readonly stopped: string | null;
  readonly spent_nano_usd: number;
  readonly calls: readonly Call[];
}

let dir: string;
let standIns: Sandbox;
const proxies: Server[] = [];

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "certify-"));
  const vendors = vendorsOf(await shippedCatalog({ sandboxOrigin: "http://127.0.0.1:1" }));
  standIns = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0, adapters: () => vendors });
});
afterAll(async () => {
  for (const proxy of proxies) proxy.closeAllConnections();
  await Promise.all(proxies.map((proxy) => new Promise((resolve) => proxy.close(resolve))));
  await standIns.close();
  removeFolder(dir);
});

async function certify(words: readonly string[], environment: Record<string, string> = {}) {
  const out: string[] = [];
  const err: string[] = [];
  const surroundings = { environment: { DATA_DIR: dir, ...environment }, out: (line: string) => out.push(line) };
  const code = await run(["certify", ...words], { ...surroundings, err: (line) => err.push(line) });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

/** A vendor that answers like its stand-in, altered by `bend`; returns its address, to be used in place of the stand-in's. */
async function vendorBent(id: string, bend: (text: string, path: string) => string): Promise<string> {
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { host, connection, "content-length": length, "transfer-encoding": coding, ...headers } = request.headers;
    const answer = await fetch(`${standIns.url}/${id}${request.url}`, {
      method: request.method ?? "POST",
      headers: headers as Record<string, string>,
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    const text = bend(await answer.text(), request.url ?? "");
    response.writeHead(answer.status, {
      "content-type": answer.headers.get("content-type") ?? "",
      "x-ratelimit-remaining-requests": "99",
    });
    response.end(text);
  });
  proxies.push(proxy);
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
}

/** The certificate of a vendor whose key is set. */
async function certificateOf(id: string, bend: (text: string, path: string) => string, ...words: string[]) {
  const url = await vendorBent(id, bend);
  const name = id.toUpperCase();
  const environment = { [`${name}_API_KEY`]: KEY, [`${name}_BASE_URL`]: url };
  const { out, err, code } = await certify([id, "--json", ...words], environment);
  return { code, out, err, certificate: JSON.parse(out) as Certificate };
}

const same = (text: string) => text;
const found = ({ calls }: Certificate, kind: string) =>
  calls.filter((call) => call.kind === kind).flatMap(({ findings }) => findings);

describe("tollgate certify", () => {
  test("finds nothing at a vendor that answers as it should, tells its limits, and keeps key and content out of the report", async () => {
    const { code, out, err, certificate } = await certificateOf("groq", same);
    expect(certificate.calls.flatMap(({ findings }) => findings)).toEqual([]);
    expect([code, certificate.stand_ins]).toEqual([0, false]);
    expect(certificate.calls[0]?.limit_headers).toEqual(["x-ratelimit-remaining-requests"]);
    expect(certificate.spent_nano_usd).toBeGreaterThan(0);
    expect(out + err).not.toContain(KEY);
    expect(out).not.toContain("Answer with the word");
    expect(err).toMatch(/groq \S+ whole: fine \[0\.\d+ USD so far\]/);
  });

  test("is kept by the gateway that runs, for its console, by vendor", async () => {
    const url = await vendorBent("groq", (text) => text.replaceAll('"tool_calls":', '"calls":'));
    const vendor = { GROQ_API_KEY: KEY, GROQ_BASE_URL: url };
    const gateway = await startTestGateway(vendor);
    try {
      const there = { ADMIN_PORT: new URL(gateway.adminUrl).port, ADMIN_TOKEN: gateway.adminToken };
      const shown = async () => (await gateway.admin("GET", "/admin/v1/certificates")).json.certificates;
      const groq = { provider: "groq", on: true };
      expect(await shown()).toContainEqual(expect.objectContaining({ ...groq, certificate: null }));
      const { out } = await certify(["groq"], { ...vendor, ...there });
      expect(out).toContain("/console/doctor");
      const differs = expect.arrayContaining([expect.objectContaining({ kind: "tools", status: 200 })]);
      expect(await shown()).toContainEqual(
        expect.objectContaining({ ...groq, certificate: expect.objectContaining({ differs }) }),
      );
      const { status, json } = await gateway.admin("POST", "/admin/v1/certificates/nobody", {
        ...{ at: "2026-11-22T10:00:00Z", version: "1", fine: 0, not_asked: 0, differs: [] },
      });
      expect([status, json.error]).toEqual([404, "not_found"]);
    } finally {
      await gateway.stop();
    }
  });

  test("names the usage that a vendor drops", async () => {
    const { code, certificate } = await certificateOf("groq", (text) => text.replaceAll('"usage":', '"used":'));
    expect(code).toBe(1);
    expect(found(certificate, "whole")).toContainEqual({ what: "usage", detail: "the answer tells no usage" });
    expect(found(certificate, "whole")).toContainEqual({ what: "field", detail: "/usage (object) is missing" });
    expect(found(certificate, "streamed")).toContainEqual({ what: "usage", detail: "the answer tells no usage" });
  });

  test("names the field that a vendor has renamed", async () => {
    const { certificate } = await certificateOf("groq", (text) => text.replaceAll('"tool_calls":', '"calls":'));
    expect(found(certificate, "tools")).toContainEqual({ what: "content", detail: "the tool was not called" });
    expect(found(certificate, "tools")).toContainEqual({
      what: "field",
      detail: "/choices/*/message/tool_calls (list) is missing",
    });
  });

  test("names an error of another shape", async () => {
    const { certificate } = await certificateOf("groq", (text) => text.replace('{"error":', '{"fault":'));
    expect(found(certificate, "refusal")).toContainEqual({ what: "field", detail: "/error (object) is missing" });
  });

  test("names a vendor that takes more than its price", async () => {
    const dear = (text: string) => text.replaceAll('"total_tokens":', '"cost":0.25,"total_tokens":');
    const { certificate } = await certificateOf("openrouter", dear);
    expect(found(certificate, "whole")).toContainEqual({
      what: "price",
      detail: expect.stringMatching(/^the vendor took 250000000 nano-USD, by our price it is \d+$/),
    });
  });

  test("stops short of --max-cents, by what the vendor says it took", async () => {
    const dear = (text: string) => text.replaceAll('"total_tokens":', '"cost":0.25,"total_tokens":');
    const { code, certificate } = await certificateOf("openrouter", dear, "--max-cents", "20");
    const asked = certificate.calls.filter(({ verdict }) => verdict !== "not asked");
    expect([code, certificate.stopped, asked.length]).toEqual([1, "max_cents", 1]);
  });

  test("names a field of an action's answer that is gone or has another type", async () => {
    const { certificate } = await certificateOf("exa", (text) => text.replaceAll('"requestId":', '"request_id":'));
    expect(found(certificate, "action")).toContainEqual({ what: "field", detail: "/requestId (string) is missing" });
  });

  test("writes the shapes of answers without what they say", async () => {
    const shapes = join(dir, "shapes");
    const { code } = await certify(["groq", "--record", shapes]);
    const name = readdirSync(shapes).find((file) => file.endsWith(".whole.json")) ?? "";
    const { shape } = JSON.parse(readFileSync(join(shapes, name), "utf8"));
    expect(code).toBe(0);
    expect(shape["/usage/prompt_tokens"]).toEqual(["number"]);
    expect(shape["/choices/*/message/content"]).toEqual(["string"]);
  });

  test("says so where a named vendor does not exist, or has no key while another has one", async () => {
    const unknown = await certify(["no-such-vendor"]);
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('There is no vendor "no-such-vendor"')]);
    const off = await certify(["groq"], { OPENAI_API_KEY: KEY });
    expect([off.code, off.err]).toEqual([1, expect.stringContaining("groq is not on: its key is not set")]);
  });
});

describe("tollgate doctor", () => {
  test("tells what is not confirmed of the vendors that are on, and of no other", async () => {
    const gateway = await startTestGateway({ SCRAPINGANT_API_KEY: KEY });
    const out: string[] = [];
    const environment = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
    const code = await run(["doctor"], { environment, out: (line) => out.push(line), err: (line) => out.push(line) });
    await gateway.stop();
    const [sum, ...told] = out.join("\n").split("\n");
    expect(sum).toContain("all in order.");
    expect(told).toContain(
      "Not confirmed yet of scrapingant: what its credits cost us. `tollgate certify scrapingant` asks.",
    );
    // Plus those that are enabled without a key.
    const vendors = told.map((line) => /^Not confirmed yet of ([^:/]+)/.exec(line)?.[1]);
    expect(vendors).toEqual(["coingecko", "primary-sources", "scrapingant"]);
    expect(code).toBe(0);
  });
});
