// Reads the pages that a search cites as evidence: like core/onescrape, or from the archive.
import type { FacetsSpec } from "../../catalog/facets.ts";
import type { InnerAnswer, LocalCall } from "../../catalog/local-action.ts";
import type { PageLadderSpec, RungSpec } from "../../catalog/page-ladder.ts";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { atPointer } from "../../upstream/json-pointer.ts";
import { contentOf, type Evidence } from "./evidence.ts";
import type { GrowingRow } from "./pages/page-row.ts";
import type { PageParts } from "./pages/parts.ts";
import { type Asked, readPages as readRows } from "./pages/read-pages.ts";
import type { RungOutcome } from "./pages/read-rung.ts";
import type { SourceCalls } from "./source-calls.ts";

export type ReadPage = Pick<Evidence, "title" | "content" | "format" | "truncated" | "source" | "transaction_id">;

export interface SearchPages {
  readonly clock: Clock;
  readonly pages: PageParts;
  readonly calls: SourceCalls;
  readonly call: LocalCall;
}

const NOT_MADE: InnerAnswer = {
  ok: false,
  id: "",
  error: new GatewayError("over_budget", { detail: { needed_usd: "0" } }),
  ms: 0,
};
const WANTED = { format: "markdown", mainContent: true } as const;

/** The source of a page: a vendor's adapter, or the tag of our own fetch. */
const sourceOf = (rung: RungSpec) => (rung.markdown ?? rung.html)?.action.split("/")[0] ?? rung.tag;

interface RungCallNote {
  readonly facet: string;
  readonly ms: number;
  readonly results: number;
}

function noteCall(
  calls: SourceCalls,
  rung: RungSpec,
  outcome: RungOutcome,
  { facet, ms, results }: RungCallNote,
): void {
  const isOwn = rung.markdown === undefined && rung.html === undefined;
  const action = isOwn ? `${rung.tag}/${outcome.action}` : outcome.action;
  if (outcome.kind === "skipped") {
    // A call that the budget refused is recorded already.
    if (outcome.why !== "cost_bound") calls.skip(facet, action, outcome.why === "time" ? "out_of_time" : outcome.why);
  } else if (isOwn) calls.noteOwn({ facet, action, id: outcome.id, ms, results });
  else if (outcome.kind === "read" && outcome.id !== null) calls.count(outcome.id, results);
}

export function rungsOf(tags: readonly string[], { rungs }: PageLadderSpec): readonly RungSpec[] {
  return tags.flatMap((tag) => rungs.find((one) => one.tag === tag) ?? []);
}

/** Reads pages with the rungs of these tags; returns the readable ones by address. */
export async function readPages(
  facet: string,
  urls: readonly string[],
  tags: readonly string[],
  { clock, pages, calls, call }: SearchPages,
): Promise<ReadonlyMap<string, ReadPage>> {
  const ladder = pages.ladder();
  const parts = pages.rungParts(call.payer, ladder, {
    call: async ({ action, params }) => (await calls.ask(facet, action, params)) ?? NOT_MADE,
    own: (work) => call.own(work),
  });
  const bounds = { clock, untilMs: calls.untilMs, signal: call.signal };
  const onAsked = (rung: RungSpec, asked: readonly GrowingRow[], { outcome, ms }: Asked) => {
    const results = asked.filter((row) => row.hops().at(-1)?.ok === true).length;
    noteCall(calls, rung, outcome, { facet, ms, results });
  };
  const rows = await readRows({ urls, wanted: WANTED, rungs: rungsOf(tags, ladder), bounds, onAsked }, parts);
  return new Map(
    rows.flatMap(({ url, best }): [string, ReadPage][] => {
      if (best === null) return [];
      const { page, rung, id } = best;
      const cited = { source: sourceOf(rung), transaction_id: id ?? call.id };
      return [[url, { title: page.title, ...contentOf(page.content, page.format), ...cited }]];
    }),
  );
}

export async function readArchived(
  facet: string,
  urls: readonly string[],
  day: string,
  { archive, calls, pages, call }: SearchPages & Pick<FacetsSpec, "archive">,
): Promise<ReadonlyMap<string, ReadPage>> {
  const read = new Map<string, ReadPage>();
  const one = async (url: string) => {
    const answer = await calls.ask(facet, archive.action, archive.params(url, day));
    if (!answer?.ok) return;
    const html = atPointer(answer.data, archive.contentAt);
    const order = { url, format: "markdown", mainContent: true, status: null, hasRun: true } as const;
    const found = typeof html === "string" ? await pages.reading(call.payer).page(html, order, call.signal) : null;
    const isFound = found !== null && found !== "busy";
    calls.count(answer.id, isFound ? 1 : 0);
    if (!isFound) return;
    const cited = { source: answer.provider, transaction_id: answer.id };
    read.set(url, { title: found.title, ...contentOf(found.content, "markdown"), ...cited });
  };
  await Promise.all(urls.map(one));
  return read;
}
