// Compares models' context lengths, answer lengths and input types with two third-party lists: each fact agrees with them, or a table here
// explains why not.
import { beforeAll, describe, expect, it } from "vitest";
import type { Catalog, Offer } from "../../src/catalog/catalog.ts";
import { loadCatalog } from "../../src/catalog/load.ts";
import { modelsAnswer } from "../../src/catalog/price-answers.ts";
import { beliefsAbout } from "../../src/catalog/spec.ts";
import { atOnce } from "../../src/core/slices.ts";
import { manualClock } from "../support/manual-clock.ts";
import { FACTS_LIST } from "../support/price-list.ts";
import { PLAY } from "./catalog-of.ts";

const DAYS_MAX = 45;
/** CI reports when the lists are old; `CATALOG_DAY` simulates another day. */
const TODAY = process.env.CATALOG_DAY ?? new Date().toISOString().slice(0, 10);
/** One list has 128,000 where another has 131,072. */
const NEAR = 1.05;
/**
 * A list that gives most of the context as the longest answer does not know the real limit: it subtracts a part for the prompt, or
 * nothing.
 */
const WHOLE = 0.75;

const ANSWERS_OTHERWISE: Readonly<Record<string, string>> = {
  "gemini/gemini-4-argon":
    "the lists have 32,768 and a million; Google's family ends at 65,536, and its adapter says that it is unsure",
  "huggingface/meta-llama/Llama-3.1-8B-Instruct:nebius":
    "the list's 4,096 is of the router, and the provider behind it is in no list",
  "huggingface/meta-llama/Llama-3.3-70B-Instruct:nebius":
    "the list's 4,096 is of the router, and the provider behind it is in no list",
  "minimax/MiniMax-M2.5":
    "the list has 8,192 and a context of a million for a whole family, of which the maker has neither",
  "mistral/codestral-2508": "the lists have 8,192 and 128,000; at its reseller it writes more than either",
};
const CONTEXTS_OTHERWISE: Readonly<Record<string, string>> = {
  "minimax/MiniMax-M2.5": ANSWERS_OTHERWISE["minimax/MiniMax-M2.5"] ?? "",
  "mistral/mistral-medium-2508": "the list has the length of its successors; its maker's page has this one",
};
/** Models whose longest answer is stated by no list and no maker. */
const UNKNOWN: readonly string[] = [];
/** Models that read images, without a published maximum of tokens per image: a hold cannot be computed, so they are sold without images. */
const UNBOUNDED =
  /kimi-k|glm-5\.3-flash|deepseek-(v4-|v4\.1-)?flash|muse-|minimax-m3|qwen3\.(7-plus|8-flash|8-max|8-27b)|llama-4-maverick|qwen3\.5-397b|mistral-small-3\.2/;

type Fact = readonly [context: number | null, output: number | null, sees: boolean];

interface Told {
  readonly name: string;
  readonly slug: string;
  readonly offer: Offer;
  readonly facts: readonly Fact[];
}

let catalog: Catalog;
let told: readonly Told[];

/** The lists have a cloud's models once, and a router's without the provider after the colon. */
function factsOf(adapterId: string, upstreamModel: string): readonly Fact[] {
  const id = adapterId.replace("-dated", "").replace("bedrock-anthropic", "bedrock");
  const names = [`${id}/${upstreamModel}`, `${id}/${upstreamModel.split(":")[0]}`];
  const found = names.map((name) => FACTS_LIST.models[name]).find((facts) => facts !== undefined);
  return (found ?? []).flatMap((fact) => (fact === null ? [] : [fact]));
}

beforeAll(async () => {
  const options = {
    env: {},
    clock: manualClock(Date.parse(`${TODAY}T12:00:00Z`)),
    sandboxOrigin: "http://sandbox.test",
  };
  catalog = await loadCatalog({ ...options, contact: null, overlayDir: null, markupPercent: 0, allowLoss: true });
  told = catalog.models(PLAY).flatMap(({ slug, offers }) =>
    offers.map((offer) => {
      const { adapter, upstreamModel } = offer;
      return { name: `${adapter.id}/${upstreamModel}`, slug, offer, facts: factsOf(adapter.id, upstreamModel) };
    }),
  );
});

const near = (a: number, b: number) => Math.max(a, b) <= Math.min(a, b) * NEAR;

/** The lowest limit among the lists; without one, the highest value allowed here. */
function limitOf(facts: readonly Fact[]) {
  const outputs = facts.flatMap(([context, output]) =>
    output === null ? [] : [{ output, context: context ?? output }],
  );
  const limits = outputs.filter(({ output, context }) => output < context * WHOLE).map(({ output }) => output);
  return {
    limit: limits.length === 0 ? null : Math.min(...limits),
    most: Math.max(0, ...outputs.map(({ output }) => output)),
  };
}

describe("the shipped models", () => {
  it("have the longest answers that the lists have, or say why not", () => {
    const wrong = told.flatMap(({ name, offer, facts }) => {
      const { limit, most } = limitOf(facts);
      const ours = offer.spec.outputTokensMax;
      const agrees =
        limit === null ? most === 0 || (ours ?? 0) <= most * NEAR : ours !== undefined && near(ours, limit);
      return agrees ? [] : [name];
    });
    expect(wrong.toSorted()).toEqual(Object.keys(ANSWERS_OTHERWISE).toSorted());
  });

  it("say how long an answer may be, all that are listed", () => {
    const rows = atOnce(modelsAnswer(catalog, PLAY)).data.filter(({ kind }) => kind === "chat" || kind === "tier");
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter((row) => Object(row).max_output_tokens === null).map(({ id }) => id)).toEqual(UNKNOWN);
  });

  it("have answers that are known at two lists or more, or a vendor that says that they are not confirmed", () => {
    const known = new Map<string, number>();
    for (const { slug, name, facts } of told) {
      const more = name === `openrouter/${slug}` ? [] : factsOf("openrouter", slug);
      const outputs = [...facts, ...more].filter(([, output]) => output !== null);
      known.set(slug, (known.get(slug) ?? 0) + outputs.length);
    }
    const unconfirmed = told.filter(({ slug, offer: { adapter, spec } }) => {
      const isBelieved = beliefsAbout(adapter.spec, "*").some((words) => /answer/.test(words));
      return ((known.get(slug) ?? 0) < 2 || spec.outputTokensMax === undefined) && !isBelieved;
    });
    expect(unconfirmed.map(({ name }) => name)).toEqual([]);
  });

  it("have contexts that one of the lists has, or say why not", () => {
    const wrong = told.flatMap(({ name, offer, facts }) => {
      const contexts = facts.flatMap(([context]) => context ?? []);
      return contexts.length === 0 || contexts.some((one) => near(one, offer.spec.contextTokens)) ? [] : [name];
    });
    expect(wrong.toSorted()).toEqual(Object.keys(CONTEXTS_OTHERWISE).toSorted());
  });

  it("read images where the lists say so, as far as an image has a bound", () => {
    const wrong = told.flatMap(({ name, slug, offer, facts }) => {
      const ours = offer.spec.parts?.imageTokensMax !== undefined;
      const theirs = facts.map(([, , sees]) => sees);
      if (ours) return theirs.length === 0 || theirs.includes(true) ? [] : [`${name} is blind`];
      return theirs.includes(true) && !UNBOUNDED.test(slug) ? [`${name} sees`] : [];
    });
    expect(wrong).toEqual([]);
  });

  it("are held against lists of the last 45 days", () => {
    const days = (Date.parse(TODAY) - Date.parse(FACTS_LIST.taken)) / 86_400_000;
    const words = `facts.json was taken ${days} days ago: take newer ones with take-facts.py beside it in test/fixtures/prices`;
    expect(days, words).toBeLessThanOrEqual(DAYS_MAX);
  });
});
