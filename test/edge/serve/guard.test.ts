// The operator's guard on a real gateway: what it receives, what its verdicts do, and what its failures do, fail-closed and fail-open.
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { shownText } from "../../../src/gateway/shown-text.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { getAs, postAs } from "../../support/keyed-fetch.ts";
import { startVendor, type VendorAnswer } from "../../support/vendor-server.ts";

type Json = Record<string, unknown>;

const guard = forFile(await startVendor());

async function ask(
  { url }: TestGateway,
  { key }: TestAccount,
  verdict: VendorAnswer,
  path = "/api/llm/v1/chat/completions",
  body: Json = { model: "core/cheap", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] },
  { onAnswer, ...headers }: { readonly onAnswer?: VendorAnswer; readonly "idempotency-key"?: string } = {},
) {
  guard.answers(verdict, onAnswer ?? verdict);
  const response = await postAs(key, `${url}${path}`, body, headers);
  return { status: response.status, json: (await response.json()) as Json, headers: response.headers };
}

const code = ({ json }: { json: Json }) => (json.error as Json | undefined)?.code;
const pass = { body: { action: "pass" } };
const DEEP = `{"action":"edit","body":{"a":${"[".repeat(30_000)}${"]".repeat(30_000)}}}`;

describe("a guard", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    const guarded = { GUARD_URL: `${guard.url}/guard`, GUARD_SECONDS: "0.5" };
    gateway = await startTestGateway({ ...guarded, BATCH_POLL_SECONDS: "0.02" });
    account = await gateway.account();
  });
  afterAll(async () => {
    expect(await gateway.doctor()).toEqual([]);
    await gateway.stop();
  });
  const charges = async () => {
    const { json } = await gateway.admin("GET", `/admin/v1/transactions?account=${account.accountId}`);
    return (json.transactions as Json[]).filter(({ kind }) => kind === "charge").length;
  };

  it("is shown a request as it came, with whose it is, and lets it pass", async () => {
    const seen = await ask(gateway, account, pass);
    expect(seen.status).toBe(200);
    expect(guard.asked.map(({ url, body }) => [url, body])).toEqual([
      [
        "/guard",
        {
          stage: "request",
          request_id: seen.headers.get("x-request-id"),
          path: "/api/llm/v1/chat/completions",
          account_id: account.accountId,
          key_id: expect.stringMatching(/^key_/),
          body: { model: "core/cheap", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] },
        },
      ],
    ]);
  });

  it("refuses with its reason before anything is held, models and actions alike", async () => {
    const before = await charges();
    const no = { body: { action: "refuse", reason: "It names a person." } };
    const refused = await ask(gateway, account, no);
    expect([refused.status, code(refused)]).toEqual([403, "guard_refused"]);
    expect(JSON.stringify(refused.json)).toContain("It names a person.");
    expect((await ask(gateway, account, no, "/api/run/brave/news", { q: "tea" })).json.error).toBe("guard_refused");
    expect(await charges()).toBe(before);
  });

  it("refuses lines of a batch before a provider gets them", async () => {
    guard.answers(pass, { body: { action: "refuse", reason: "It names a person." } });
    const path = `${gateway.url}/v1/messages/batches`;
    const params = { model: "anthropic/claude-haiku-4.5", max_tokens: 9, messages: [{ role: "user", content: "Hi" }] };
    const requests = ["a", "b"].map((id) => ({ custom_id: id, params }));
    const made = await postAs(account.key, path, { requests, tollgate_mode: "native" });
    const { id } = (await made.json()) as { id: string };
    const batch = await eventually(async () => {
      const now = (await (await getAs(account.key, `${path}/${id}`)).json()) as Json;
      return now.processing_status === "ended" ? now : undefined;
    }, "the end of the batch");
    expect(batch.request_counts).toMatchObject({ succeeded: 1, errored: 1 });
    expect(await (await getAs(account.key, String(batch.results_url))).text()).toContain("It names a person.");
    expect(guard.asked.length).toBe(2);
  });

  it("gives back another body, which is checked as any other", async () => {
    const edited = { model: "core/mid", max_tokens: 20, messages: [{ role: "user", content: "Bonjour" }] };
    const seen = await ask(gateway, account, { body: { action: "edit", body: edited } });
    expect(seen.status).toBe(200);
    expect(await gateway.record(seen.headers.get("x-request-id"))).toMatchObject({ asked: "core/mid" });
    const broken = await ask(gateway, account, { body: { action: "edit", body: { ...edited, messages: 1 } } });
    expect(broken.status).toBe(400);
  });

  it("is shown the digits of a call's arguments", async () => {
    const input = '{"id":9007199254740993,"b":1.0}';
    const call = `{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"f","input":${input}}]}`;
    const result = '{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"ok"}]}';
    guard.answers(pass);
    await fetch(`${gateway.url}/api/llm/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
      body: `{"model":"core/cheap","max_tokens":20,"messages":[{"role":"user","content":"Hi"},${call},${result}]}`,
    });
    expect(guard.asked[0]?.text).toContain(input);
  });

  it("is not asked of what is refused or free in any case, and of an account at most as often at once as it may call", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    expect([(await ask(gateway, poor, pass)).status, guard.asked]).toEqual([402, []]);
    expect([(await ask(gateway, account, pass, "/api/run/brave/news")).status, guard.asked]).toEqual([400, []]);
    const narrow = await gateway.account({ inFlight: 2 });
    const all = await Promise.all(Array.from({ length: 5 }, () => ask(gateway, narrow, () => {})));
    const codes = all.map(code).sort();
    expect(codes.slice(-2)).toEqual(["guard_unavailable", "guard_unavailable"]);
    expect([guard.asked.length, codes.slice(0, 3)]).toEqual([2, Array(3).fill("concurrency_limit")]);
  });

  it.each<readonly [string, VendorAnswer]>([
    ["hangs", () => {}],
    ["answers an error", { status: 500, body: {} }],
    ["answers no JSON", { body: "yes" }],
    ["answers no verdict", { body: { action: "perhaps" } }],
    ["gives back what is nested beyond all measure", { body: DEEP }],
    [
      "gives back more values than any body may have",
      { body: `{"action":"edit","body":{"a":[${"1,".repeat(300_000)}1]}}` },
    ],
    [
      "unpacks without end",
      { headers: { "content-encoding": "gzip" }, body: gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x20)) },
    ],
    ["redirects", { status: 302, headers: { location: "http://127.0.0.1:1/" }, body: {} }],
    [
      "announces more than it sends",
      (response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "1000" });
        response.write('{"action":"pass"}');
        response.socket?.destroySoon();
      },
    ],
    [
      "says that it sends 10 GB",
      (response) => void response.writeHead(200, { "content-length": String(10 ** 10) }).write("{"),
    ],
  ])("that %s keeps the door shut", async (_, verdict) => {
    const before = await charges();
    const seen = await ask(gateway, account, verdict);
    expect([seen.status, code(seen)]).toEqual([503, "guard_unavailable"]);
    expect(await charges()).toBe(before);
  });
});

describe("a guard over answers", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway({
      GUARD_URL: `${guard.url}/guard`,
      GUARD_SECONDS: "0.5",
      GUARD_ANSWERS: "1",
      OPENAI_API_KEY: "sk-1",
      OPENAI_BASE_URL: `${guard.url}/v1`,
    });
    account = await gateway.account();
  });
  afterAll(async () => {
    expect(await gateway.doctor()).toEqual([]);
    await gateway.stop();
  });
  const chat = "/api/llm/v1/chat/completions";
  const hello = { model: "core/cheap", max_tokens: 20, messages: [{ role: "user", content: "Hello" }] };
  const no = { body: { action: "refuse", reason: "It names a person." } };
  const spent = async () => {
    const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
    return [json.spent_nano_usd, json.held_nano_usd];
  };
  const ofAnswer = (onAnswer: VendorAnswer) => ask(gateway, account, pass, chat, hello, { onAnswer });

  it("is shown a whole answer as its caller gets it, and not a stream", async () => {
    const seen = await ofAnswer(pass);
    const shown = guard.asked.map(({ body }) => body as { stage: string; body: Json });
    expect(shown.map(({ stage }) => stage)).toEqual(["request", "answer"]);
    expect(shown[1]?.body.choices).toEqual(seen.json.choices);
    guard.answers(pass);
    const response = await postAs(account.key, `${gateway.url}${chat}`, { ...hello, stream: true });
    expect([await response.text().then((text) => text.includes("[DONE]")), guard.asked.length]).toEqual([true, 1]);
  });

  it("refuses an answer, which then costs nothing, and is refused again under its key without asking anybody", async () => {
    const before = await spent();
    const refused = await ask(gateway, account, pass, chat, hello, { onAnswer: no, "idempotency-key": "one" });
    expect([refused.status, code(refused)]).toEqual([403, "guard_refused"]);
    expect(JSON.stringify(refused.json)).toContain("refused the answer. It names a person.");
    expect(await spent()).toEqual(before);
    const record = await gateway.record(refused.headers.get("x-request-id"));
    expect(record).toMatchObject({ outcome: "failed", code: "guard_refused" });
    const asked = (await gateway.books()).requests.length;
    const again = await ask(gateway, account, pass, chat, hello, { "idempotency-key": "one" });
    expect([again.status, code(again), (await gateway.books()).requests.length]).toEqual([403, "guard_refused", asked]);
  });

  it("has what the vendor took for a refused answer counted as the account's unpaid cost", async () => {
    const live = await gateway.account({ kind: "personal" });
    const message = { role: "assistant", content: "Fine." };
    const usage = { prompt_tokens: 1_000, completion_tokens: 100 };
    // One server is the guard and, between its two verdicts, the vendor.
    guard.answers(pass, { body: { choices: [{ index: 0, message, finish_reason: "stop" }], usage } }, no);
    const response = await postAs(live.key, `${gateway.url}${chat}`, { ...hello, model: "openai/gpt-5.4-mini" });
    expect([response.status, guard.asked.length]).toEqual([403, 3]);
    const { upstream_nano_usd: tookNano } = await gateway.record(response.headers.get("x-request-id"));
    const { json } = await gateway.admin("GET", `/admin/v1/accounts/${live.accountId}`);
    expect(tookNano).toBeGreaterThan(0);
    expect(json).toMatchObject({ spent_cents: 0, held_cents: 0, unpaid: { today_nano_usd: tookNano } });
  });

  it("gives back another answer, which is charged as the model's own", async () => {
    const choices = [{ index: 0, message: { role: "assistant", content: "[left out]" }, finish_reason: "stop" }];
    const edited = await ofAnswer({ body: { action: "edit", body: { object: "chat.completion", choices } } });
    expect([edited.status, edited.json.choices]).toEqual([200, choices]);
    expect((edited.json.usage as Json).cost).toBeGreaterThan(0);
    const action = await ask(
      gateway,
      account,
      pass,
      "/api/run/brave/news",
      { q: "tea" },
      { onAnswer: { body: { action: "edit", body: { results: [] } } } },
    );
    expect([action.status, action.json.ok, action.json.data]).toEqual([200, true, { results: [] }]);
  });

  it.each<readonly [string, VendorAnswer]>([
    ["hangs", () => {}],
    ["gives back what is nested beyond all measure", { body: DEEP }],
    ["redirects", { status: 302, headers: { location: "http://127.0.0.1:1/" }, body: {} }],
    [
      "says that it sends 10 GB",
      (response) => void response.writeHead(200, { "content-length": String(10 ** 10) }).write("{"),
    ],
  ])("that %s keeps the answer back, at no charge", async (_, onAnswer) => {
    const before = await spent();
    const seen = await ofAnswer(onAnswer);
    expect([seen.status, code(seen)]).toEqual([503, "guard_unavailable"]);
    expect(await spent()).toEqual(before);
  });

  it("that is away after a model's action has written does not let it write again under its key", async () => {
    const say = '[[call: zep__user-add {"user_id":"ada"}]]';
    const acts = {
      ...hello,
      messages: [{ role: "user", content: say }],
      tools: [{ type: "action", action: "zep/user-add" }],
    };
    const away = { onAnswer: { status: 500, body: {} }, "idempotency-key": "writes" };
    const first = await ask(gateway, account, pass, chat, acts, away);
    expect(code(first)).toBe("guard_unavailable");
    const written = async () =>
      (await gateway.books()).requests.filter(({ adapter }) => adapter === "zep").map(({ status }) => status);
    expect(await written()).toEqual([200]);
    const again = await ask(gateway, account, pass, chat, acts, { "idempotency-key": "writes" });
    expect([again.status, code(again), await written()]).toEqual([409, "outcome_unknown", [200]]);
  });
});

describe("a guard that is a model of the catalog", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  beforeAll(async () => {
    gateway = await startTestGateway({ GUARD_MODEL: "omni-moderation-latest" });
    account = await gateway.account();
  });
  afterAll(() => gateway.stop());
  const saying = (content: string) => {
    const body = { model: "core/cheap", max_tokens: 20, messages: [{ role: "user", content }] };
    return ask(gateway, account, pass, "/api/llm/v1/chat/completions", body);
  };

  it("lets pass what it finds nothing in, and refuses the rest by what it found, wherever it stands", async () => {
    expect((await saying("Hello")).status).toBe(200);
    const refused = await saying(`${"tea and ".repeat(20_000)} violence`);
    expect([refused.status, code(refused)]).toEqual([403, "guard_refused"]);
    expect(JSON.stringify(refused.json)).toContain("Found in it: violence.");
    const metrics = await gateway.metricsText();
    expect(metrics).toMatch(/tollgate_guard_judgements_total\{stage="request",outcome="refuse"\} 1/);
  });

  it("looks at no encoded file, and refuses what is too long for it", async () => {
    const encoded = createHash("shake256", { outputLength: 30_000 }).update("a picture").digest("base64");
    const url = `data:image/png;base64,${encoded.slice(0, 20_000)}violence${encoded.slice(20_000)}`;
    const image = { type: "image_url", image_url: { url } };
    // Samples of a quiet sound, which has as many slashes as prose has spaces.
    const samples = Int16Array.from({ length: 1_500 }, (_, at) => Math.round(40 * Math.sin(at * at)));
    expect(shownText([Buffer.from(samples.buffer).toString("base64")])).toBe("");
    const body = {
      model: "openai/gpt-5.4-mini",
      max_tokens: 20,
      messages: [{ role: "user", content: [{ type: "text", text: "Hello" }, image] }],
    };
    expect(code(await ask(gateway, account, pass, "/api/llm/v1/chat/completions", body))).not.toBe("guard_refused");
    expect(code(await saying("tea ".repeat(450_000)))).toBe("guard_refused");
  });

  it("is not passed by words without blanks, behind a file or without one, nor by names", async () => {
    const hyphens = "how-to-do-violence-to-somebody-else_and-".repeat(30);
    expect(code(await saying(hyphens))).toBe("guard_refused");
    const encoded = createHash("shake256", { outputLength: 30_000 }).update("a picture").digest("base64url");
    expect(code(await saying(encoded + hyphens))).toBe("guard_refused");
    expect(code(await saying("HowToDoViolenceToSomebodyElse".replace("V", "v").repeat(40)))).toBe("guard_refused");
    const parameters = { type: "object", properties: { how_to_do_violence: { type: "string" } } };
    const tools = [{ type: "function", function: { name: "f", parameters } }];
    const messages = [{ role: "user", content: "Hello" }];
    const body = { model: "core/cheap", max_tokens: 20, messages, tools };
    expect(code(await ask(gateway, account, pass, "/api/llm/v1/chat/completions", body))).toBe("guard_refused");
  });

  it("has to be one that moderates", async () => {
    await expect(startTestGateway({ GUARD_MODEL: "gpt-5.4-mini" })).rejects.toThrow(/^GUARD_MODEL: /);
  });
});

it("a guard that does not answer lets requests pass where the operator wants that, and the log says so", async () => {
  const gateway = await startTestGateway({ GUARD_URL: "http://127.0.0.1:9/", GUARD_OPEN: "1" });
  const account = await gateway.account();
  expect((await ask(gateway, account, pass)).status).toBe(200);
  expect(gateway.lines().some((line) => line.includes("the guard did not answer"))).toBe(true);
  await gateway.stop();
});
