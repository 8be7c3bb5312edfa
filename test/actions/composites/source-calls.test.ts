// What a composite reports about its calls: those it made, and those it skipped and why.
import { expect, it } from "vitest";
import { SourceCalls } from "../../../src/actions/composites/source-calls.ts";
import type { InnerAnswer, LocalCall } from "../../../src/catalog/local-action.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { ZERO } from "../../../src/core/money.ts";
import { manualClock } from "../../support/manual-clock.ts";

function callsWith(answer: (msMax: number | undefined) => InnerAnswer, msMax = 60_000) {
  const clock = manualClock(0);
  const race: LocalCall["race"] = async (wanted) => answer(wanted[0]?.msMax);
  const refused = () => Promise.reject(new Error("not asked for"));
  const call: LocalCall = {
    id: "tx_1",
    payer: { id: "acct:ada", sandbox: false },
    signal: new AbortController().signal,
    spend: { limitNano: ZERO, spentNano: ZERO, freeNano: ZERO },
    quoteNano: ZERO,
    allows: { services: null, models: null },
    sandboxFault: null,
    call: refused,
    race,
    own: refused,
    chat: refused,
    speak: refused,
  };
  const isConfigured = (action: string) => action !== "acme/absent";
  return { clock, calls: new SourceCalls(call, { clock, isConfigured }, msMax) };
}
const failed = (error: GatewayError): InnerAnswer => ({ ok: false, id: "tx_1.1", error, ms: 3 });

it("beyond what the calls may cost us none is made, which is nobody's failure", async () => {
  const { calls } = callsWith(() => failed(new GatewayError("over_budget", { detail: { needed_usd: "0.01" } })));
  expect(await calls.ask("web", "acme/search", {})).toBeNull();
  const named = { facet: "web", provider: "acme", action: "search" };
  expect(calls.records).toEqual([{ ...named, ok: false, charged_cents: 0, latency_ms: 0, skipped: "upstream_bound" }]);
});

it("one that nobody serves is not made", async () => {
  const { calls } = callsWith(() => failed(new GatewayError("upstream_error")));
  expect(await calls.ask("web", "acme/absent", {})).toBeNull();
  expect(calls.records).toMatchObject([{ action: "absent", skipped: "not_configured" }]);
});

it("each has 20 seconds, the last what is left of a minute, and after it none is begun", async () => {
  const times: (number | undefined)[] = [];
  const { calls, clock } = callsWith((ms) => {
    times.push(ms);
    return failed(new GatewayError("upstream_error"));
  });
  await calls.ask("web", "acme/search", {});
  clock.advance(50_000);
  await calls.ask("web", "acme/search", {});
  clock.advance(9_900);
  await calls.ask("web", "acme/search", {});
  expect(times).toEqual([20_000, 10_000]);
  expect(calls.records.map(({ error, skipped }) => error ?? skipped)).toEqual([
    "upstream_error",
    "upstream_error",
    "out_of_time",
  ]);
});
