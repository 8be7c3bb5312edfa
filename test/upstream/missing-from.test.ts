// What counts as an answer's content, and which parts of an answer are checked.
import { describe, expect, it } from "vitest";
import { type ActionSpec, action } from "../../src/catalog/action.ts";
import { z } from "../../src/catalog/adapter.ts";
import type { VendorAnswer } from "../../src/upstream/judge-answer.ts";
import { missingFrom } from "../../src/upstream/missing-from.ts";

const spec = action({
  description: "Reads.",
  category: "scraping",
  effect: "read",
  params: z.looseObject({}),
  price: { mode: "fixed", cents: 1 },
  upstreamCents: 0,
  request: { method: "GET", path: "/get" },
  example: { params: {}, answers: [{ ok: 1 }] },
});

function answer(json: unknown, more: Partial<VendorAnswer> = {}): VendorAnswer {
  const text = JSON.stringify(json) ?? "";
  return { status: 200, headers: {}, json, text, bytes: Buffer.from(text), ...more };
}

function missing(given: VendorAnswer, more: Partial<ActionSpec>): boolean {
  return missingFrom(given, { ...spec, ...more }, { as: "html" }) !== null;
}

describe("at a place of its content", () => {
  const content = ["/data/html", "/data/markdown"];

  it.each<[unknown]>([
    [{}],
    [[]],
    [{ data: null }],
    [{ data: "html" }],
    [{ data: { html: null } }],
    [{ data: { html: " \n\t" } }],
    [{ data: { markdown: "" } }],
  ])("%j has nothing", (json) => {
    expect(missing(answer(json), { content })).toBe(true);
  });

  it.each<[unknown]>([
    [{ data: { html: "<p>" } }],
    [{ data: { html: "", markdown: "# a" } }],
    [{ data: { html: [] } }],
    [{ data: { html: {} } }],
    [{ data: { html: 0 } }],
    [{ data: { html: false } }],
  ])("%j has something", (json) => {
    expect(missing(answer(json), { content })).toBe(false);
  });
});

it("the params may choose the places, or say that there is none", () => {
  expect(missing(answer({ markdown: "a" }), { content: ({ as }) => [`/${as}`] })).toBe(true);
  expect(missing(answer({ html: "a" }), { content: ({ as }) => [`/${as}`] })).toBe(false);
  expect(missing(answer({}), { content: () => [] })).toBe(false);
});

it("a text or bytes are looked at as a whole", () => {
  const html = { content: [""], answer: { kind: "text", as: "html" } } as const;
  expect(missing(answer(undefined, { text: " \n" }), html)).toBe(true);
  expect(missing(answer(undefined, { text: "<p>" }), html)).toBe(false);
  const bytes = { content: [""], answer: { kind: "bytes" } } as const;
  expect(missing(answer(undefined, { bytes: Buffer.alloc(0) }), bytes)).toBe(true);
  expect(missing(answer(undefined, { bytes: Buffer.alloc(1) }), bytes)).toBe(false);
});

it("an id that is issued is a text or a number, or some of them", () => {
  const issues = [{ kind: "job", at: "/id" }];
  for (const id of [undefined, null, "", {}, [], [[]], true]) expect(missing(answer({ id }), { issues })).toBe(true);
  for (const id of ["a", 0, ["a", "b"]]) expect(missing(answer({ id }), { issues })).toBe(false);
});

it("an answer that was passed on unread is not asked for anything", () => {
  expect(missing(answer(undefined, { passedOn: true }), { content: ["/data"] })).toBe(false);
});
