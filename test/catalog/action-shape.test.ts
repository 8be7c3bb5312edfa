// Which fields of an action an adapter may combine, and which contradict each other.
import { expect, it } from "vitest";
import type { ActionSpec } from "../../src/catalog/action.ts";
import { noAuth, z } from "../../src/catalog/adapter.ts";
import { checkAdapter } from "../../src/catalog/validate.ts";

const facts: ActionSpec = {
  description: "Gets.",
  category: "open-data",
  effect: "read",
  params: z.strictObject({}),
  price: { mode: "fixed", cents: 1 },
  upstreamCents: 0,
  example: { params: {}, answers: [{ ok: 1 }] },
};
const request = { method: "GET", path: "/get" } as const;
const run = async () => ({ ok: 1 });

function problemsOf(more: Partial<ActionSpec>): readonly string[] {
  const actions = { get: { ...facts, ...more } };
  return checkAdapter("a.ts", {
    name: "Asked",
    docs: "docs/reference/catalog.md",
    origin: "https://asked.invalid",
    auth: noAuth,
    actions,
  });
}

const rule = { at: "/code", matches: /^key_(bad|old)$/, means: "provider_auth_failed" } as const;

it.each<[string, Partial<ActionSpec>]>([
  ["a request", { request }],
  ["a script", { run }],
  ["places of its content", { request, content: ["/data/html", ""] }],
  ["places that its params choose", { request, content: () => ["/data"] }],
  ["a rule with a sample of what it finds", { request, rules: [{ ...rule, sample: "key_old" }] }],
])("an action can have %s", (_, more) => {
  expect(problemsOf(more)).toEqual([]);
});

it.each<[string, Partial<ActionSpec>, string]>([
  ["neither request nor script", {}, "actions.get.request an action has either a request or a run"],
  ["both", { request, run }, "actions.get.request an action has either a request or a run"],
  ["a script and steps", { run, steps: [{ request }] }, "actions.get.run does not go with steps, answer, table"],
  ["a script and no JSON", { run, answer: { kind: "bytes" } }, "actions.get.run does not go with steps, answer, table"],
  ["a script and a table", { run, table: { param: "of" } }, "actions.get.run does not go with steps, answer, table"],
  ["no place for its content", { request, content: [] }, "actions.get.content"],
  ["a place that is no pointer", { request, content: ["data"] }, "actions.get.content"],
  [
    "a sample that its rule does not find",
    { request, rules: [{ ...rule, sample: "key_new" }] },
    "actions.get.rules.0.sample is nothing that matches finds",
  ],
  [
    "a sample of nothing",
    { request, rules: [{ at: "/code", means: "miss", sample: "x" }] },
    "actions.get.rules.0.sample is nothing that matches finds",
  ],
])("an action cannot have %s", (_, more, problem) => {
  const problems = problemsOf(more);
  expect(problems).toHaveLength(1);
  expect(problems[0]).toContain(problem);
});

it("a price that the params make goes with params of another price, so that callers see what it may cost", () => {
  const ranged = { mode: "ranged", cents: 5, quoteCents: () => 1 } as const;
  expect(problemsOf({ request, price: ranged }).join()).toContain("otherPrice");
  expect(problemsOf({ request, price: { mode: "ranged", cents: 5, otherPrice: {} } }).join()).toContain("otherPrice");
  expect(problemsOf({ request, price: { ...ranged, otherPrice: {} } })).toEqual([]);
});
