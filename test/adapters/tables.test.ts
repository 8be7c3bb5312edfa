// What each vendor's actions accept, send and cost, and what the vendor's answers mean: one row per fact, in test/fixtures/adapters.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Verdict } from "../../src/catalog/answer-rule.ts";
import type { JsonObject } from "../../src/catalog/said.ts";
import { type Answered, type Sent, wire } from "../support/adapter-wire.ts";
import { foldedJson } from "../support/folded-json.ts";

interface Row {
  /** What the row is about, where its data does not show it. */
  readonly why?: string;
}
interface ParamsRow extends Row {
  readonly params: JsonObject;
}
interface Tables {
  /** Parts of the action's own description: what it issues, requires or hides, and whether a miss is free. */
  readonly facts?: object;
  /** The fields that are refused; none where the params are valid. */
  readonly params?: readonly (ParamsRow & { readonly refused: readonly string[] })[];
  readonly answers?: readonly Answer[];
  /** The maximum price of a call, and what it costs us. */
  readonly costs?: readonly (ParamsRow & { readonly cents?: number; readonly upstreamCents?: number })[];
  readonly sends?: readonly (ParamsRow & { readonly step?: Step; readonly sent: Sent })[];
}
interface Answer extends Row {
  readonly step?: number;
  readonly answer: Answered;
  readonly verdict: Verdict;
  /** What the caller gets, where a rule says it. */
  readonly data?: unknown;
  /** How long the vendor rests. */
  readonly restMs?: number;
}
/** A step after the first, with the answers so far. */
interface Step {
  readonly at: number;
  readonly soFar: unknown;
}

const FOLDER = join(import.meta.dirname, "../fixtures/adapters");

/** The tables of a vendor, by one or more of its actions: `"search, news"`. */
function tablesOf(vendor: string): readonly (readonly [action: string, tables: Tables])[] {
  const read = foldedJson<Readonly<Record<string, Tables>>>(`adapters/${vendor}.json`);
  return Object.entries(read).flatMap(([names, tables]) => names.split(", ").map((name) => [name, tables] as const));
}

/** A row's title: what it is about, and the start of its data. */
const titleOf = (row: Row, value: unknown) =>
  `${row.why === undefined ? "" : `${row.why}: `}${JSON.stringify(value)?.slice(0, 120)}`;

describe.each(readdirSync(FOLDER).map((file) => file.replace(/\.json$/, "")))("%s", async (vendor) => {
  const at = await wire(vendor);

  for (const [action, { facts, params = [], answers = [], costs = [], sends = [] }] of tablesOf(vendor)) {
    if (facts !== undefined) {
      it(`${action} has ${JSON.stringify(facts)}`, () => expect(at.actions[action]).toMatchObject(facts));
    }
    for (const row of params) {
      const does = row.refused.length === 0 ? "takes" : `refuses ${row.refused.join(", ")} of`;
      it(`${action} ${does} ${titleOf(row, row.params)}`, () =>
        expect([...new Set(at.refuses(action, row.params))]).toEqual(row.refused));
    }
    for (const row of answers) {
      const { answer, step, verdict } = row;
      it(`${action} answers ${answer.status ?? 200}: ${verdict}: ${titleOf(row, answer.body)}`, () => {
        const meant = at.means(action, answer, step);
        expect(meant.verdict).toBe(verdict);
        if ("data" in row) expect(meant.data).toEqual(row.data);
        if ("restMs" in row) expect(meant.restMs).toBe(row.restMs);
      });
    }
    for (const row of costs) {
      it(`${action} costs ${row.cents} cents, and us ${row.upstreamCents}: ${titleOf(row, row.params)}`, () => {
        if (row.cents !== undefined) expect(at.quote(action, row.params)).toBeCloseTo(row.cents, 9);
        if (row.upstreamCents !== undefined)
          expect(at.upstreamCents(action, row.params)).toBeCloseTo(row.upstreamCents, 9);
      });
    }
    for (const row of sends) {
      it(`${action} sends ${titleOf(row, row.params)}`, () => {
        const { method, url, headers, body } = at.send(action, row.params, row.step);
        expect({ method, url, headers, body }).toEqual(row.sent);
      });
    }
  }
});
