// The callers' tags: stored on the posting, and used to group reports.
import { expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { startRecordingVendor } from "./recording-vendor.ts";

const vendor = forFile(await startRecordingVendor());
const gateway = forFile(
  await startTestGateway({ OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: `${vendor.url}/openai/v1` }),
);
const account = await gateway.account({ kind: "personal", creditCents: 1_000 });

interface Transaction {
  readonly transaction_id: string;
  readonly tags?: readonly string[];
  readonly charged_nano_usd: number;
}

const authorization = () => ({ authorization: `Bearer ${account.key}` });

async function get<T>(path: string): Promise<T> {
  return (await (await fetch(`${gateway.url}/api/v1/${path}`, { headers: authorization() })).json()) as T;
}

async function ask(fields: Record<string, unknown>, headers: Record<string, string> = {}, path = "chat/completions") {
  const response = await fetch(`${gateway.url}/api/llm/v1/${path}`, {
    method: "POST",
    headers: { ...authorization(), "content-type": "application/json", ...headers },
    body: JSON.stringify({ model: "openai/gpt-5.4-nano", messages: [{ role: "user", content: "hello" }], ...fields }),
  });
  const body = (await response.json()) as { error?: { param: string | null } };
  return { status: response.status, param: body.error?.param ?? null };
}

/** The tags of the last charge. */
async function tagsOf(fields: Record<string, unknown>, headers: Record<string, string> = {}) {
  expect(await ask(fields, headers)).toMatchObject({ status: 200 });
  return (await get<{ transactions: Transaction[] }>("transactions?limit=1")).transactions[0]?.tags;
}

test("`user`, `metadata` and the header name a call; the first of a name counts", async () => {
  expect(await tagsOf({})).toBeUndefined();
  expect(await tagsOf({ user: "u-1", metadata: { team: "red", job: 7, user: "u-2" } })).toEqual([
    ...["user=u-1", "team=red", "job=7"],
  ]);
  expect(await tagsOf({ metadata: { team: "red" } }, { "x-tollgate-tags": "team=blue, stage=dev" })).toEqual([
    ...["team=blue", "stage=dev"],
  ]);
});

test("so does the `metadata` of the messages format", async () => {
  const asked = await ask({ max_tokens: 16, metadata: { user_id: "u-3" } }, {}, "messages");
  expect(asked).toMatchObject({ status: 200 });
  const { transactions } = await get<{ transactions: Transaction[] }>("transactions?limit=1");
  expect(transactions[0]?.tags).toEqual(["user_id=u-3"]);
});

test("what is no short pair is left out of a body, and refuses nothing; ten are kept", async () => {
  const metadata = { ok: "1", long: "x".repeat(101), deep: {}, "a=b": "c", empty: "", line: "a\nb" };
  expect(await tagsOf({ metadata })).toEqual(["ok=1"]);
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`n${at}`, "v"]));
  expect(await tagsOf({ metadata: many })).toHaveLength(10);
});

test.each([
  "red",
  "=red",
  "team=",
  `team=${"x".repeat(101)}`,
  Array.from({ length: 11 }, (_, at) => `n${at}=v`).join(),
])("a header that cannot be read is refused: %s", async (header) => {
  expect(await ask({}, { "x-tollgate-tags": header })).toEqual({ status: 400, param: "x-tollgate-tags" });
});

test("usage by tag is what the transactions with it add up to", async () => {
  const { transactions } = await get<{ transactions: Transaction[] }>("transactions?limit=1000");
  const { usage } = await get<{ usage: { tag: string | null; charged_nano_usd: number }[] }>("usage?by=tag&limit=1000");
  const charges = transactions.filter(({ transaction_id }) => transaction_id.startsWith("tx_"));
  for (const { tag, charged_nano_usd } of usage) {
    const own = charges.filter(({ tags = [] }) => (tag === null ? tags.length === 0 : tags.includes(tag)));
    expect(charged_nano_usd, String(tag)).toBe(own.reduce((sum, one) => sum + one.charged_nano_usd, 0));
  }
  expect(usage.map(({ tag }) => tag)).toContain("team=red");
  expect(usage.some(({ charged_nano_usd }) => charged_nano_usd > 0)).toBe(true);
});
