// What the operator sees of failed calls that no account paid for.
import { expect, test } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { getAs, postAs } from "../support/keyed-fetch.ts";

// An unreachable vendor.
const gateway = forFile(
  await startTestGateway({ OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: "http://127.0.0.1:9/v1" }),
);

async function chat(key: string, model: string, headers: Record<string, string> = {}): Promise<number> {
  const response = await postAs(
    key,
    `${gateway.url}/api/llm/v1/chat/completions`,
    { model, messages: [{ role: "user", content: "hello" }] },
    headers,
  );
  await response.text();
  return response.status;
}

async function found(query: string) {
  const response = await getAs(gateway.adminToken, `${gateway.adminUrl}/admin/v1/transactions?${query}`);
  return ((await response.json()) as { transactions: Record<string, unknown>[] }).transactions;
}

test("failed calls are told with their attempts, refused ones with their reason, those of unknown keys not at all", async () => {
  const account = await gateway.account({ kind: "personal", creditCents: 100 });
  expect(await chat(account.key, "openai/gpt-5.4-nano", { "x-tollgate-tags": "team=red" })).toBe(502);
  expect(await chat(account.key, "maker/nobody")).toBe(404);
  expect(await chat("tg_sk_unknown", "openai/gpt-5.4-nano")).toBe(401);
  const failed = await found("status=failed");
  expect(failed).toMatchObject([{ kind: "failed", account_id: account.accountId, status: 502, tags: ["team=red"] }]);
  expect(failed[0]?.attempts).toMatchObject([
    { vendor: "openai", model: "openai/gpt-5.4-nano", refusal: expect.any(String) },
    {},
    {},
  ]);
  expect(await found("status=refused")).toMatchObject([{ kind: "refused", status: 404, code: "model_not_found" }]);
  expect(await found(`status=failed&account=${account.accountId}&tag=team=red`)).toHaveLength(1);
  expect(await found("status=failed&account=another")).toEqual([]);
  expect(await found(`account=${account.accountId}`)).toMatchObject([{ kind: "topup" }]);
});
