// Vendors that need more than a key in a header: fetched tokens, signed requests, binary frames. A server in front of the sandbox checks
// each request as the vendor would, with its own implementation.

import { createHash, createHmac, createVerify, generateKeyPairSync } from "node:crypto";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { STAND_INS } from "../../../src/models/formats/stand-ins.ts";
import { type Sandbox, startSandbox } from "../../../src/sandbox/server.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const SECRET = "aws-secret";
const TOKEN = "session-token";
const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });

interface Arrival {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

let sandbox: Sandbox;
let door: Server;
let gateway: TestGateway;
let client: OpenAI;
let folder: string;
const arrivals: Arrival[] = [];
/** The requests at the token servers, and their answers. */
const asked: URLSearchParams[] = [];
let tokens = 0;
let tokenStatus = 200;
/** Unavailable vendors, by the first part of their path. */
const down = new Set<string>();

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string) => createHmac("sha256", key).update(text).digest();

/** Verifies AWS Signature Version 4 over the received request, as AWS does. */
function isSigned(secret: string, { path, headers, body }: Arrival): boolean {
  const [, day, region, service, names, signature] =
    /^AWS4-HMAC-SHA256 Credential=AKID\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
      String(headers.authorization),
    ) ?? [];
  const date = String(headers["x-amz-date"]);
  if (!date.startsWith(String(day)) || !names?.split(";").includes("host")) return false;
  const [pathname = "", query = ""] = path.split("?");
  const canonical = [
    "POST",
    pathname.split("/").map(encodeURIComponent).join("/"),
    query,
    ...names.split(";").map((name) => `${name}:${headers[name]}`),
    "",
    names,
    sha256(body),
  ].join("\n");
  const scope = `${day}/${region}/${service}/aws4_request`;
  const key = [region, service, "aws4_request"].reduce<Buffer>(
    (made, part) => hmac(made, String(part)),
    hmac(`AWS4${secret}`, String(day)),
  );
  return hmac(key, `AWS4-HMAC-SHA256\n${date}\n${scope}\n${sha256(canonical)}`).toString("hex") === signature;
}

/** Verifies a service account's assertion as the token server would. */
function isAsserted(assertion: string, audience: string): boolean {
  const [head = "", claims = "", signature = ""] = assertion.split(".");
  const read = (part: string) => JSON.parse(Buffer.from(part, "base64url").toString()) as Record<string, unknown>;
  const { iss, aud, exp, iat, scope } = read(claims);
  const isGood = read(head).alg === "RS256" && iss === "svc@project.example" && aud === audience;
  const isTimely = Number(exp) - Number(iat) === 3_600 && String(scope).endsWith("/auth/cloud-platform");
  const isTrue = createVerify("RSA-SHA256").update(`${head}.${claims}`).verify(publicKey, signature, "base64url");
  return isGood && isTimely && isTrue;
}

function isLetIn(arrival: Arrival): boolean {
  const { path, headers } = arrival;
  if (path.startsWith("/azure-openai-dated/")) return headers.authorization === `Bearer token-${tokens}`;
  if (path.startsWith("/azure-openai/")) return headers.authorization === `Bearer token-${tokens}`;
  if (path.startsWith("/vertex")) return headers.authorization === `Bearer token-${tokens}`;
  return headers["x-amz-security-token"] === TOKEN && isSigned(SECRET, arrival);
}

function json(outgoing: ServerResponse, status: number, body: object): void {
  outgoing.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function arrive(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming as AsyncIterable<Buffer>) chunks.push(chunk);
  const arrival = { path: incoming.url ?? "", headers: incoming.headers, body: Buffer.concat(chunks).toString() };
  const { path, headers, body } = arrival;
  if (path.endsWith("/token")) {
    const form = new URLSearchParams(body);
    asked.push(form);
    if (tokenStatus !== 200) return json(outgoing, tokenStatus, { error: "invalid_client", error_description: "no" });
    const assertion = form.get("assertion");
    const isGood =
      assertion === null
        ? path === "/login/tenant-1/oauth2/v2.0/token" && form.get("client_secret") === "entra-secret"
        : isAsserted(assertion, `http://${headers.host}/token`);
    if (!isGood) return json(outgoing, 401, { error: "invalid_grant" });
    tokens++;
    return json(outgoing, 200, { access_token: `token-${tokens}`, expires_in: 3_600, token_type: "Bearer" });
  }
  arrivals.push(arrival);
  if (down.has(path.split("/")[1] ?? "")) return json(outgoing, 503, { message: "not now" });
  if (!isLetIn(arrival)) return json(outgoing, 403, { message: "The request signature or token is not valid." });
  const onward = request(`${sandbox.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer any" },
  });
  onward.on("response", (answer) => {
    outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  onward.end(body);
}

beforeAll(async () => {
  sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0 });
  door = createServer((incoming, outgoing) => void arrive(incoming, outgoing));
  await new Promise<void>((resolve) => door.listen({ host: "127.0.0.1", port: 0 }, resolve));
  const url = `http://127.0.0.1:${(door.address() as AddressInfo).port}`;
  folder = mkdtempSync(join(tmpdir(), "clouds-"));
  const keyFile = join(folder, "key.json");
  const account = { client_email: "svc@project.example", private_key_id: "k1", token_uri: `${url}/token` };
  const pem = privateKey.export({ type: "pkcs8", format: "pem" });
  writeFileSync(keyFile, JSON.stringify({ ...account, private_key: pem }));
  gateway = await startTestGateway({
    SANDBOX: "0",
    AZURE_TENANT_ID: "tenant-1",
    AZURE_CLIENT_ID: "client-1",
    AZURE_CLIENT_SECRET: "entra-secret",
    AZURE_OPENAI_LOGIN_BASE_URL: `${url}/login`,
    AZURE_OPENAI_BASE_URL: `${url}/azure-openai/openai/v1`,
    AZURE_OPENAI_DEPLOYMENTS: "gpt-5.4=prod-54",
    AZURE_OPENAI_DATED_LOGIN_BASE_URL: `${url}/login`,
    AZURE_OPENAI_DATED_BASE_URL: `${url}/azure-openai-dated/openai`,
    AZURE_OPENAI_DATED_DEPLOYMENTS: "gpt-4.1=old-41",
    AZURE_OPENAI_API_VERSION: "2024-10-21",
    VERTEX_PROJECT: "project-1",
    GOOGLE_APPLICATION_CREDENTIALS: keyFile,
    VERTEX_BASE_URL: `${url}/vertex/v1/projects/project-1/locations/global/publishers/google`,
    VERTEX_ANTHROPIC_BASE_URL: `${url}/vertex-anthropic/v1/projects/project-1/locations/global/publishers/anthropic`,
    BEDROCK_REGION: "us-east-1",
    AWS_ACCESS_KEY_ID: "AKID",
    AWS_SECRET_ACCESS_KEY: SECRET,
    AWS_SESSION_TOKEN: TOKEN,
    BEDROCK_BASE_URL: `${url}/bedrock`,
    BEDROCK_ANTHROPIC_BASE_URL: `${url}/bedrock-anthropic`,
  });
  client = (await gateway.account({ kind: "personal", creditCents: 100_000 })).client;
});

afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await gateway.stop();
  door.closeAllConnections();
  await new Promise((resolve) => door.close(resolve));
  await sandbox.close();
  removeFolder(folder);
});

beforeEach(() => {
  arrivals.length = 0;
  down.clear();
  tokenStatus = 200;
});

const HELLO: OpenAI.ChatCompletionMessageParam[] = [{ role: "user", content: "hello [[pace: 100000]]" }];
const only = (provider: string) => ({ provider: { only: [provider] } });
const priced = (usage: unknown) => (usage as { cost: number }).cost;

it.each([
  ["azure-openai", "openai/gpt-5.4", "/openai/v1/chat/completions", { model: "prod-54" }],
  [
    "azure-openai-dated",
    "openai/gpt-4.1",
    "/openai/deployments/old-41/chat/completions?api-version=2024-10-21",
    { model: undefined },
  ],
  ["vertex", "google/gemini-3.5-flash", /\/publishers\/google\/models\/gemini-3.5-flash:(streamG|g)enerateContent/, {}],
  [
    "vertex-anthropic",
    "anthropic/claude-opus-4.8",
    /\/publishers\/anthropic\/models\/claude-opus-4-8:(streamR|r)awPredict$/,
    { model: undefined, anthropic_version: "vertex-2023-10-16" },
  ],
  [
    "bedrock-anthropic",
    "anthropic/claude-opus-4.8",
    /\/model\/global.anthropic.claude-opus-4-8\/invoke(-with-response-stream)?$/,
    { model: undefined, stream: undefined, anthropic_version: "bedrock-2023-05-31" },
  ],
  ["bedrock", "amazon/nova-pro-v1", /\/model\/amazon.nova-pro-v1%3A0\/converse(-stream)?$/, { model: undefined }],
])("%s is asked in its own way, whole and streamed", async (provider, model, path, body) => {
  const whole = await client.chat.completions.create({ model, messages: HELLO, ...only(provider) });
  const stream = client.chat.completions.stream({
    model,
    messages: HELLO,
    stream_options: { include_usage: true },
    ...only(provider),
  });
  const streamed = await stream.finalChatCompletion();
  expect(whole.choices[0]?.message.content?.split(" ")).toHaveLength(60);
  expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content);
  expect(streamed.usage?.completion_tokens).toBe(whole.usage?.completion_tokens);
  expect(priced(streamed.usage)).toBe(priced(whole.usage));
  expect(priced(whole.usage)).toBeGreaterThan(0);
  expect(arrivals).toHaveLength(2);
  for (const arrival of arrivals) {
    const below = arrival.path.slice(provider.length + 1);
    if (typeof path === "string") expect(below).toBe(path);
    else expect(below.replace(/\?alt=sse$/, "")).toMatch(path);
    const sent = JSON.parse(arrival.body) as Record<string, unknown>;
    for (const [field, value] of Object.entries(body)) expect(sent[field]).toBe(value);
  }
});

it.each([
  ["vertex-anthropic", { anthropic_version: "vertex-2023-10-16" }],
  ["bedrock-anthropic", { anthropic_version: "bedrock-2023-05-31" }],
])("%s gets a caller's own bytes within what was held: its bound on output is ours", async (provider, fields) => {
  const account = await gateway.account({ kind: "personal", creditCents: 100_000 });
  const ask = async (stream: boolean) => {
    const answer = await postAs(account.key, `${gateway.url}/api/llm/v1/messages`, {
      model: "anthropic/claude-opus-4.8",
      max_tokens: 900_000,
      messages: [{ role: "user", content: "hello [[pace: 100000]]" }],
      stream,
      ...only(provider),
    });
    return [answer.status, await answer.text()] as const;
  };
  for (const stream of [false, true]) {
    const [status, text] = await ask(stream);
    expect(status, text).toBe(200);
    const sent = JSON.parse(arrivals.at(-1)?.body ?? "{}") as Record<string, unknown>;
    expect(sent).toMatchObject({ max_tokens: 128_000, ...fields });
    for (const field of ["model", "provider"]) expect(sent).not.toHaveProperty(field);
  }
});

it("calls of tools go to the converse wire and back, with their results, whole and streamed", async () => {
  const tools: OpenAI.ChatCompletionTool[] = ["weather", "clock"].map((name) => ({
    type: "function",
    function: {
      name,
      description: "Says it.",
      parameters: { type: "object", properties: { city: { type: "string" } } },
    },
  }));
  const model = "amazon/nova-lite-v1";
  const question: OpenAI.ChatCompletionMessageParam[] = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "both of Oslo [[parallel]]" },
  ];
  const whole = await client.chat.completions.create({ model, messages: question, tools, tool_choice: "required" });
  const stream = client.chat.completions.stream({ model, messages: question, tools, tool_choice: "required" });
  const streamed = await stream.finalChatCompletion();
  const said = whole.choices[0]?.message;
  expect(said?.tool_calls).toHaveLength(2);
  const named = (streamed.choices[0]?.message.tool_calls ?? []).map((call) =>
    "function" in call ? call.function : call,
  );
  expect(named).toMatchObject([{ name: "weather" }, { name: "clock" }]);
  expect(streamed.choices[0]?.finish_reason).toBe("tool_calls");
  const results = (said?.tool_calls ?? []).map(({ id }) => ({
    role: "tool" as const,
    tool_call_id: id,
    content: "12",
  }));
  const messages = [...question, ...(said === undefined ? [] : [said]), ...results];
  const second = await client.chat.completions.create({ model, messages, tools });
  expect(second.choices[0]?.message.content).toBeTruthy();
  const sent = JSON.parse(arrivals.at(-1)?.body ?? "{}") as { messages: { role: string; content: object[] }[] };
  expect(sent.messages.map(({ role, content }) => [role, content.length])).toEqual([
    ["user", 1],
    ["assistant", 2],
    ["user", 2],
  ]);
});

it("what the converse wire cannot say makes the vendor unfit", async () => {
  const call = client.chat.completions.create({ model: "amazon/nova-lite-v1", messages: HELLO, n: 2 });
  await expect(call).rejects.toMatchObject({ status: 400, message: expect.stringContaining("n above 1") });
  expect(arrivals).toEqual([]);
});

it("one that is down is followed by the other cloud that has the model", async () => {
  down.add("vertex-anthropic");
  const model = "anthropic/claude-opus-5";
  const trace = { headers: { "x-tollgate-trace": "1" } };
  const order = { provider: { order: ["vertex-anthropic", "bedrock-anthropic"] } };
  const answer = await client.chat.completions.create({ model, messages: HELLO, ...order }, trace);
  const { attempts } = (answer as unknown as { tollgate: { attempts: { provider: string }[] } }).tollgate;
  expect(attempts.at(-1)?.provider).toBe("bedrock-anthropic");
  expect(attempts[0]?.provider).toBe("vertex-anthropic");
  expect(priced(answer.usage)).toBeGreaterThan(0);
});

it("a token is fetched once for calls at the same time, and one that cannot be had is our fault", async () => {
  const before = tokens;
  const fresh = await startTestGateway({
    AZURE_TENANT_ID: "tenant-1",
    AZURE_CLIENT_ID: "client-1",
    AZURE_CLIENT_SECRET: "entra-secret",
    AZURE_OPENAI_LOGIN_BASE_URL: `http://127.0.0.1:${(door.address() as AddressInfo).port}/login`,
    AZURE_OPENAI_BASE_URL: `http://127.0.0.1:${(door.address() as AddressInfo).port}/azure-openai/openai/v1`,
    AZURE_OPENAI_DEPLOYMENTS: "gpt-5.4=prod-54",
  });
  try {
    const account = await fresh.account({ kind: "personal", creditCents: 1_000 });
    const ask = () => account.client.chat.completions.create({ model: "openai/gpt-5.4", messages: HELLO });
    tokenStatus = 401;
    await expect(ask()).rejects.toMatchObject({ status: 503, code: "upstream_not_configured" });
    tokenStatus = 200;
    await Promise.all([ask(), ask(), ask()]);
    expect(tokens - before).toBe(1);
    expect(asked.at(-1)?.get("scope")).toBe("https://cognitiveservices.azure.com/.default");
    expect(fresh.lines().join("\n")).not.toContain("entra-secret");
    // The sandbox needs no signatures or tokens, but uses the vendors' own wires.
    const play = await fresh.account({ kind: "sandbox" });
    for (const [model, provider] of [
      ["amazon/nova-pro-v1", "bedrock"],
      ["anthropic/claude-opus-5", "bedrock-anthropic"],
      ["openai/gpt-4.1", "azure-openai-dated"],
      ["google/gemini-3.5-flash", "vertex"],
    ] as const) {
      const stream = play.client.chat.completions.stream({ model, messages: HELLO, ...only(provider) });
      expect((await stream.finalChatCompletion()).choices[0]?.message.content?.split(" ")).toHaveLength(60);
    }
    expect(tokens - before).toBe(1);
    expect(await fresh.doctor()).toEqual([]);
  } finally {
    await fresh.stop();
  }
});
