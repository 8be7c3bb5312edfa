import { expect, test } from "vitest";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { checkProvider } from "../../src/gateway/check-provider.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import { createUpstream } from "../../src/upstream/upstream.ts";
import { catalogOf, priced, vendor } from "../catalog/catalog-of.ts";
import { forFile } from "../support/for-file.ts";
import { startVendor } from "../support/vendor-server.ts";

const server = forFile(await startVendor());
const upstream = forFile(createUpstream(systemClock, { dialects: DIALECTS }));

const answer = (content: string) => ({
  id: "c1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "length" }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
});

function check(clock: Clock, env: Record<string, string> = { LAB_API_KEY: "lab-12345" }) {
  const models = { dear: priced("5", "30"), small: priced("0.1", "0.2"), middle: priced("1", "2") };
  const lab = vendor(models, { maker: "lab", origin: `${server.url}/v1` });
  const catalog = catalogOf({ adapters: { lab } }, { env });
  return checkProvider("lab", { catalog, upstream, clock, namesSet: Object.keys(env) });
}

test("a provider that took more than five seconds is slow, though it answered", async () => {
  server.answers({ body: answer("ok") });
  const times = [0, 6_000];
  const clock = { epochMs: () => 0, elapsedMs: () => times.shift() ?? 6_000 };
  expect(await check(clock)).toMatchObject([{ verdict: "slow", answered: true, ms: 6_000, asked: "small" }]);
});

test("a model that thought for all the tokens it had has answered", async () => {
  server.answers({ body: answer("") });
  expect(await check(systemClock)).toMatchObject([{ verdict: "fine", key: "LAB_API_KEY" }]);
});

test("no route rests after a check that failed, so calls go on as before", async () => {
  server.answers({ status: 401, body: { error: { message: "no" } } });
  expect(await check(systemClock)).toMatchObject([{ verdict: "key bad" }]);
  expect(upstream.health.resting()).toEqual([]);
});

test("one that is not on is not asked", async () => {
  server.answers({ body: answer("ok") });
  expect(await check(systemClock, {})).toBeNull();
  expect(server.asked).toHaveLength(0);
});
