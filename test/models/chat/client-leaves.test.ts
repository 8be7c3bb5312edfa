// A client that leaves at every stage of a call: the upstream stops at once, and the delivered part is paid.

import { describe, expect, it } from "vitest";
import { post, type RawClient, rawClient, request, until } from "../../edge/http/edge.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { getAs } from "../../support/keyed-fetch.ts";
import { CHAT } from "./bad-requests.ts";

/** The sandbox's prices: 1 and 2 USD per million tokens, in nano-USD per token. */
const INPUT_NANO = 1_000;
const OUTPUT_NANO = 2_000;
/** The time between a client's leaving and the upstream's noticing: far less than the rest of the answer would take. */
const AT_ONCE_MS = 4_000;
/** The tokenizer splits the brackets of the sandbox's directives, the sandbox does not. */
const INPUT_APART = 10;

const VENDORS = ["sandbox", "sandbox-messages", "sandbox-gemini", "sandbox-responses", "sandbox-converse"];

const gateway = forFile(await startTestGateway());
const port = Number(new URL(gateway.url).port);

interface AskedChat {
  readonly model: string;
  readonly text?: string;
  readonly fields?: Record<string, unknown>;
  readonly stream?: boolean;
}

async function ask(
  account: TestAccount,
  { model, text = "hello", fields = {}, stream = true }: AskedChat,
): Promise<RawClient> {
  const client = await rawClient(port);
  const body = { model, messages: [{ role: "user", content: text }], stream, ...fields };
  client.send(post(CHAT, JSON.stringify(body), [`authorization: Bearer ${account.key}`]));
  return client;
}

/** The words received so far. */
function wordsOf(client: RawClient): number {
  return [...client.text().matchAll(/"content":"[^"]+"/g)].length;
}

/** Disconnects, and returns the time. */
function leave(client: RawClient): number {
  client.socket.destroy();
  return Date.now();
}

async function recordOf(account: TestAccount): Promise<Record<string, unknown>> {
  const isHis = ({ account_id, operation }: Record<string, unknown>) =>
    account_id === account.accountId && operation === "chat";
  return eventually(() => gateway.records().find(isHis), "the record of a call that was left");
}

async function rowsOf(requestId: unknown): Promise<Record<string, unknown>[]> {
  return (await gateway.books()).requests.filter((row) => row.requestId === requestId);
}

/** The sandbox's log row of a call, once the call has ended. */
async function rowOf(requestId: unknown): Promise<Record<string, unknown>> {
  return eventually(
    async () => (await rowsOf(requestId)).find(({ ended }) => ended !== "open"),
    `the sandbox's end of ${String(requestId)}`,
  );
}

/** Waits until the sandbox has the only running request of a model. */
async function started(model: string): Promise<void> {
  await eventually(
    async () => (await gateway.books()).requests.find((row) => row.model === model && row.ended === "open"),
    `the start of ${model}`,
  );
}

async function postingsOf(account: TestAccount): Promise<Record<string, unknown>[]> {
  const response = await getAs(account.key, `${gateway.url}/api/v1/transactions`);
  const { transactions } = (await response.json()) as { transactions: Record<string, unknown>[] };
  return transactions.filter(({ kind }) => kind === "charge");
}

function outputOf(posting: Record<string, unknown> | undefined): number {
  return Number((posting?.usage as { output_tokens: number } | undefined)?.output_tokens ?? 0);
}

async function heldCents(account: TestAccount): Promise<unknown> {
  return (await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`)).json.held_cents;
}

/** A call abandoned before content, at a vendor that had accepted it: stopped, and its prompt is paid. */
async function expectPromptPaid(account: TestAccount, leftAtMs: number): Promise<void> {
  const record = await recordOf(account);
  expect(record.outcome).toBe("left_before_content");
  const row = await rowOf(record.request_id);
  expect(row).toMatchObject({ ended: "aborted", tokensOut: 0 });
  expect(Number(row.endedAtMs) - leftAtMs).toBeLessThan(AT_ONCE_MS);
  const [posting, ...more] = await postingsOf(account);
  expect([more, posting?.charged_nano_usd]).toEqual([[], record.charged_nano_usd]);
  // One wire counts a first token before there is one.
  expect(outputOf(posting)).toBeLessThanOrEqual(1);
  expect(Number(posting?.charged_nano_usd)).toBeGreaterThan(0);
  expect(await heldCents(account)).toBe(0);
}

/** A stream abandoned while no piece was on its way: stopped upstream, and the delivered part is charged by our count. */
async function expectPaid(account: TestAccount, client: RawClient, leftAtMs: number): Promise<Record<string, unknown>> {
  const seen = wordsOf(client);
  const record = await recordOf(account);
  expect(record).toMatchObject({ outcome: "left_after_content", status: 200 });
  const row = await rowOf(record.request_id);
  expect(row.ended).toBe("aborted");
  expect(Number(row.endedAtMs) - leftAtMs).toBeLessThan(AT_ONCE_MS);
  expect(row.tokensOut).toBe(seen);
  const [posting, ...more] = await postingsOf(account);
  expect(more).toEqual([]);
  const usage = posting?.usage as { input_tokens: number; output_tokens: number };
  expect(usage.output_tokens).toBe(seen);
  expect(Math.abs(usage.input_tokens - Number(row.tokensIn))).toBeLessThanOrEqual(INPUT_APART);
  const sum = usage.input_tokens * INPUT_NANO + usage.output_tokens * OUTPUT_NANO;
  expect([posting?.charged_nano_usd, record.charged_nano_usd]).toEqual([sum, sum]);
  expect(posting).toMatchObject({ request_id: record.request_id });
  expect(await heldCents(account)).toBe(0);
  return record;
}

describe("before the body is whole", () => {
  it.each([
    ["a length", (body: string) => [`content-length: ${body.length}`]],
    ["chunks", () => ["transfer-encoding: chunked"]],
  ])("announced by %s: nothing was asked", async (_, headers) => {
    const account = await gateway.account();
    const before = (await gateway.books()).requests.length;
    const client = await rawClient(port);
    const body = JSON.stringify({ model: "sandbox/ok", messages: [{ role: "user", content: "x".repeat(100_000) }] });
    const named = [`authorization: Bearer ${account.key}`, "content-type: application/json", ...headers(body)];
    client.send(request(`POST ${CHAT}`, named, `1000\r\n${body.slice(0, 4_096)}`));
    await new Promise((resolve) => client.socket.write("", resolve));
    leave(client);
    const next = await ask(account, { model: "sandbox/ok" });
    await next.sees(/data: \[DONE\]/);
    expect((await gateway.books()).requests.length).toBe(before + 1);
    expect(await heldCents(account)).toBe(0);
  });
});

describe.each(VENDORS)("a client of %s leaves", (vendor) => {
  it.each([
    ["while the vendor has not answered", "slow-headers-9", true],
    ["before the first token", "first-after-9", true],
    ["while nothing comes at all", "silent", true],
    ["a whole answer that is being made", "ok-at-5", false],
    ["a whole answer before its headers", "slow-headers-8", false],
  ])("%s", async (_, fault, stream) => {
    const account = await gateway.account();
    const client = await ask(account, { model: `${vendor}/${fault}`, stream });
    await started(fault);
    await expectPromptPaid(account, leave(client));
    expect(client.text()).toBe("");
  });

  it("while we wait to ask the same vendor again: it is not asked again", async () => {
    const account = await gateway.account();
    const model = `${vendor}/429-after-2`;
    const client = await ask(account, { model });
    const refused = await eventually(
      async () =>
        (await gateway.books()).requests.findLast(
          (row) => row.model === "429-after-2" && row.adapter === vendor && row.ended === "refused",
        ),
      "the refusal",
    );
    leave(client);
    const record = await recordOf(account);
    expect(record).toMatchObject({
      request_id: refused.requestId,
      outcome: "left_before_content",
      charged_nano_usd: 0,
    });
    expect(await rowsOf(refused.requestId)).toHaveLength(1);
    expect(await heldCents(account)).toBe(0);
  });

  it.each([1, 12])("after %i tokens", async (count) => {
    const account = await gateway.account();
    const client = await ask(account, { model: `${vendor}/stall-after-${count}`, text: "hello [[words: 400]]" });
    await until(() => wordsOf(client) >= count);
    const record = await expectPaid(account, client, leave(client));
    // The other wires report their usage as they stream; where it is our own count, nothing is estimated.
    if (vendor === "sandbox") expect(record.estimated).toBe(true);
  });

  it("in the middle of what flows: the upstream stops, and no more than it made is charged, nor less than was seen", async () => {
    const account = await gateway.account();
    const client = await ask(account, { model: `${vendor}/ok-at-40`, text: "hello [[words: 4000]]" });
    await until(() => wordsOf(client) >= 5);
    const seen = wordsOf(client);
    leave(client);
    const record = await recordOf(account);
    expect(record.outcome).toBe("left_after_content");
    const row = await rowOf(record.request_id);
    expect(row.ended).toBe("aborted");
    expect(Number(row.tokensOut)).toBeLessThan(400);
    const output = outputOf((await postingsOf(account))[0]);
    expect(output).toBeGreaterThanOrEqual(seen);
    expect(output).toBeLessThanOrEqual(Number(row.tokensOut));
    expect(await heldCents(account)).toBe(0);
  });

  // In two wires the last event is also the one that says that the answer is over, or reports the usage.
  it.skipIf(vendor === "sandbox-responses" || vendor === "sandbox-converse")(
    "after all words, before the vendor's goodbye",
    async () => {
      const account = await gateway.account();
      const client = await ask(account, { model: `${vendor}/no-done-open-9`, text: "hello [[words: 15]]" });
      await until(() => wordsOf(client) >= 15);
      const leftAtMs = leave(client);
      const record = await recordOf(account);
      expect(record.outcome).toBe("left_after_content");
      const row = await rowOf(record.request_id);
      expect([row.ended, row.tokensOut]).toEqual(["aborted", 15]);
      expect(Number(row.endedAtMs) - leftAtMs).toBeLessThan(AT_ONCE_MS);
      const [posting] = await postingsOf(account);
      expect(outputOf(posting)).toBe(15);
    },
  );

  it("in the middle of a tool's arguments", async () => {
    const account = await gateway.account();
    const properties = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`field_${at}`, { type: "string" }]));
    const parameters = { type: "object", properties, required: Object.keys(properties) };
    const tools = [{ type: "function", function: { name: "fill", parameters } }];
    const client = await ask(account, { model: `${vendor}/ok-at-20`, fields: { tools } });
    // Two wires stream arguments bit by bit, the third sends them in one piece.
    await until(() => /"arguments":"[^"]/.test(client.text()) || client.text().includes("tool_calls"));
    leave(client);
    const record = await recordOf(account);
    expect(["success", "left_after_content"]).toContain(record.outcome);
    const [posting] = await postingsOf(account);
    expect(Number(posting?.charged_nano_usd)).toBeGreaterThan(0);
    expect((await rowOf(record.request_id)).ended).not.toBe("open");
    expect(await heldCents(account)).toBe(0);
  });

  it("when the last word has come: it is paid in full, whether the end was out or not", async () => {
    const account = await gateway.account();
    const client = await ask(account, { model: `${vendor}/ok-at-100`, text: "hello [[words: 20]]" });
    await until(() => wordsOf(client) >= 20);
    leave(client);
    const record = await recordOf(account);
    expect(["success", "left_after_content"]).toContain(record.outcome);
    const [posting, ...more] = await postingsOf(account);
    expect(more).toEqual([]);
    expect(outputOf(posting)).toBe(20);
    expect(await heldCents(account)).toBe(0);
  });
});

it("a fallback that is under way is stopped as well, and only its prompt is paid", async () => {
  const account = await gateway.account();
  const client = await ask(account, { model: "sandbox/503", fields: { models: ["sandbox-gemini/first-after-7"] } });
  await started("first-after-7");
  const leftAtMs = leave(client);
  const record = await recordOf(account);
  expect(record.outcome).toBe("left_before_content");
  const [posting, ...more] = await postingsOf(account);
  expect([more, outputOf(posting), posting?.model]).toEqual([[], 0, "sandbox-gemini/first-after-7"]);
  const rows = await eventually(async () => {
    const found = await rowsOf(record.request_id);
    return found.every(({ ended }) => ended !== "open") ? found : undefined;
  }, "the end of both");
  expect(rows.map(({ ended }) => ended)).toEqual(["refused", "aborted"]);
  expect(Number(rows[1]?.endedAtMs) - leftAtMs).toBeLessThan(AT_ONCE_MS);
});

it("sixty that leave whenever they like: every call ends, nothing is held, and nobody pays for more than was made", async () => {
  const account = await gateway.account();
  const models = VENDORS.flatMap((vendor) => [`${vendor}/ok-at-100`, `${vendor}/first-after-0.2`, `${vendor}/ok`]);
  const clients = await Promise.all(
    Array.from({ length: 60 }, async (_, at) => {
      const model = models[at % models.length] ?? "";
      const client = await ask(account, { model, text: `${at} [[words: 60]]`, stream: at % 4 !== 0 });
      // Every fifth waits for its answer, and every fifth for its beginning; the others leave at any time.
      if (at % 5 === 0) await client.sees(/\[DONE\]|"usage"/);
      else if (at % 5 === 1) await client.sees(/"content"/);
      else await new Promise((resolve) => setTimeout(resolve, (at * 37) % 500));
      client.socket.destroy();
      return client;
    }),
  );
  expect(clients).toHaveLength(60);
  await eventually(async () => ((await heldCents(account)) === 0 ? true : undefined), "nothing held");
  const isHis = (row: Record<string, unknown>) => row.account_id === account.accountId && row.operation === "chat";
  const charges = await postingsOf(account);
  for (const record of gateway.records().filter(isHis)) {
    // A client that leaves before the upstream call starts has no row there.
    const rows = await eventually(async () => {
      const found = await rowsOf(record.request_id);
      return found.every(({ ended }) => ended !== "open") ? found : undefined;
    }, "the sandbox's end");
    const mine = charges.filter(({ request_id }) => request_id === record.request_id);
    // Before content, the prompt is paid if a vendor had received it by then, and nothing otherwise.
    if (record.outcome === "left_before_content") expect(mine.length).toBeLessThanOrEqual(1);
    else expect(mine.length).toBe(1);
    const made = rows.reduce((sum, { tokensOut }) => sum + Number(tokensOut), 0);
    // One wire counts a first token before there is one.
    expect(outputOf(mine[0])).toBeLessThanOrEqual(Math.max(1, made));
  }
  const kinds = new Set(
    gateway
      .records()
      .filter(isHis)
      .map(({ outcome }) => outcome),
  );
  expect([...kinds].sort()).toEqual(["left_after_content", "left_before_content", "success"]);
});
