// Golden bytes of OpenAI's wire: what callers get from every dialect's answers, and what every dialect receives.
import { describe, expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { startVendor } from "../../support/vendor-server.ts";
import { ANSWERS, ASKED, type DialectName } from "./golden-cases.ts";

const DIALECTS: readonly DialectName[] = ["chat-completions", "responses", "messages", "generate-content"];
const HEADERS = ["content-type", "cache-control", "x-tollgate-model", "x-tollgate-attempts", "x-should-retry"];
/** An answer that every dialect accepts. */
const GOOD: Readonly<Record<DialectName, unknown>> = {
  "chat-completions": { choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }] },
  responses: { status: "completed", output: [{ type: "message", content: [{ type: "output_text", text: "ok" }] }] },
  messages: { content: [{ type: "text", text: "ok" }], stop_reason: "end_turn" },
  "generate-content": { candidates: [{ content: { parts: [{ text: "ok" }] }, finishReason: "STOP" }] },
};

const vendor = forFile(await startVendor());
const gateway = forFile(
  await startTestGateway({
    OVERLAY_DIR: new URL("../../fixtures/wires-overlay", import.meta.url).pathname,
    ...Object.fromEntries(
      DIALECTS.map((dialect) => [`VIA_${dialect.toUpperCase().replace("-", "_")}_BASE_URL`, `${vendor.url}/v1`]),
    ),
  }),
);
const account = await gateway.account({ kind: "personal", creditCents: 100_000 });

/** Replaces what differs between runs. */
function steady(text: string): string {
  return text
    .replace(/chatcmpl-[\w-]+/g, "chatcmpl-ID")
    .replace(/"created":\d{6,}/g, '"created":NOW')
    .replace(/"ms":\d+/g, '"ms":MS')
    .replace(/call_[0-9A-Za-z]{20,}_/g, "call_ID_");
}

async function call(dialect: DialectName, body: Readonly<Record<string, unknown>>): Promise<string> {
  const response = await postAs(account.key, `${gateway.url}/api/llm/v1/chat/completions`, {
    model: `via-${dialect}/m`,
    ...body,
  });
  const headers = HEADERS.map((name) => `${name}: ${response.headers.get(name)}`);
  return steady([response.status, ...headers, "", await response.text()].join("\n"));
}

describe.each(DIALECTS)("the %s dialect", (dialect) => {
  test("answers callers in these bytes", async () => {
    let seen = "";
    for (const { name, streamed, vendor: said } of ANSWERS.filter((one) => one.dialect === dialect)) {
      const type = streamed ? "text/event-stream" : "application/json";
      vendor.answers({ headers: { "content-type": type }, body: said });
      const usage = streamed ? { stream: true, stream_options: { include_usage: true } } : {};
      const answer = await call(dialect, { messages: [{ role: "user", content: "Hi" }], ...usage });
      seen += `======== ${name}, ${streamed ? "streamed" : "whole"}\n${answer}\n`;
    }
    await expect(seen).toMatchFileSnapshot(`../fixtures/golden/${dialect}-answers.txt`);
  });

  test("is asked in these bytes", async () => {
    let seen = "";
    for (const [name, body] of Object.entries(ASKED)) {
      vendor.answers({ body: GOOD[dialect] });
      const answer = await call(dialect, body);
      const [asked] = vendor.asked;
      const upstream = asked === undefined ? answer : `${asked.url}\n${JSON.stringify(asked.body)}`;
      seen += `======== ${name}\n${upstream}\n`;
    }
    await expect(seen).toMatchFileSnapshot(`../fixtures/golden/${dialect}-asked.txt`);
  });
});
