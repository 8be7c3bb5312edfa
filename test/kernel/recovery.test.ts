// Providers in trouble over time: the gateway returns to a recovered one, and does not wait long for a missing end of a stream.
import { describe, expect, it } from "vitest";
import { callChat, type SeenCall } from "../support/chat-call.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

function call(models: readonly string[], content: string, session?: string): Promise<SeenCall> {
  const request = { models, messages: [{ role: "user", content }], stream: true };
  const headers = session === undefined ? {} : { "x-session-id": session };
  return callChat(request, { url: gateway.url, key: account.key, headers });
}

/** The number of attempts that the sandbox has counted for a model. */
async function asked(model: string): Promise<number> {
  return (await gateway.books()).requests.filter((row) => `${row.adapter}/${row.model}` === model).length;
}

describe.concurrent("a provider in trouble", () => {
  it("is rested while it fails, asked again by one call, and back as soon as it answers", async () => {
    const startedMs = performance.now();
    const served: { model: string | null; atMs: number }[] = [];
    while (served.at(-1)?.model !== "sandbox/flap-3" && performance.now() - startedMs < 40_000) {
      // Separate conversations: one that moved elsewhere stays there.
      const seen = await call(["sandbox/flap-3", "sandbox-messages/ok"], "flap", String(served.length));
      expect([seen.acknowledged, seen.chunks]).toEqual([true, 60]);
      served.push({ model: seen.headers.get("x-tollgate-model"), atMs: performance.now() - startedMs });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    // After three failures in a row it rests; after the rest it is healthy again, and stays first.
    expect(served.filter(({ model }) => model === "sandbox-messages/ok").length).toBeGreaterThan(5);
    expect(served.at(-1)?.atMs).toBeLessThan(30_000);
    expect(await asked("sandbox/flap-3")).toBe(4);
    const after = await Promise.all(
      ["a", "b", "c"].map((name) => call(["sandbox/flap-3", "sandbox-messages/ok"], "flap", name)),
    );
    expect(after.map(({ headers }) => headers.get("x-tollgate-attempts"))).toEqual(["1", "1", "1"]);
  });

  it("is asked even while it rests where nobody else can answer", async () => {
    for (let times = 0; times < 5; times++) {
      const seen = await call(["sandbox/503-at-7"], `once ${times}`);
      expect([seen.status, seen.error?.code]).toEqual([502, "upstream_error"]);
    }
    expect(await asked("sandbox/503-at-7")).toBe(5);
  });

  it.each(["sandbox", "sandbox-messages", "sandbox-gemini", "sandbox-responses", "sandbox-converse"])(
    "that never says goodbye is not waited for as long as one that is still answering (%s)",
    async (vendor) => {
      const startedMs = performance.now();
      const seen = await call([`${vendor}/no-done-open-60`], "hello");
      expect([seen.acknowledged, seen.chunks]).toEqual([true, 60]);
      expect(performance.now() - startedMs).toBeLessThan(15_000);
    },
  );
});
