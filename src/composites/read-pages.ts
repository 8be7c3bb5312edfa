// Pages whose text a search is to bring: read rung by rung, as many in one call as a rung can, or from the archive.
import type { InnerAnswer, LocalCall } from "../catalog/local-action.ts";
import type { FacetsSpec, RungSpec } from "../catalog/tier.ts";
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { atPointer } from "../upstream/json-pointer.ts";
import { contentOf, type Evidence } from "./evidence.ts";
import type { PageParts } from "./pages/parts.ts";
import { type RungPage, type RungParts, readRung } from "./pages/read-rung.ts";
import { ENOUGH, yieldOf } from "./pages/yield.ts";
import type { SourceCalls } from "./source-calls.ts";

/** The text of a page, and who has read it. */
export type ReadPage = Pick<Evidence, "title" | "content" | "format" | "truncated" | "source" | "transaction_id">;

export interface PageReader {
  readonly clock: Clock;
  readonly pages: PageParts;
  readonly calls: SourceCalls;
  readonly call: LocalCall;
}

interface Best {
  readonly score: number;
  readonly page: ReadPage;
}

/** What a rung is told of a call that was not made. */
const NOT_MADE: InnerAnswer = {
  ok: false,
  id: "",
  error: new GatewayError("over_budget", { detail: { needed_usd: "0" } }),
  ms: 0,
};

class Pages {
  readonly #facet: string;
  readonly #reader: PageReader;
  readonly #parts: RungParts;
  readonly #best = new Map<string, Best>();

  constructor(facet: string, reader: PageReader) {
    const { pages, calls, call } = reader;
    this.#facet = facet;
    this.#reader = reader;
    this.#parts = pages.rungParts(
      call.payer,
      pages.ladder(),
      async ({ action, params }) => (await calls.ask(facet, action, params)) ?? NOT_MADE,
    );
  }

  async read(urls: readonly string[], tags: readonly string[]): Promise<ReadonlyMap<string, ReadPage>> {
    for (const tag of tags) {
      const rung = this.#parts.ladder.rungs.find((one) => one.tag === tag);
      const left = urls.filter((url) => (this.#best.get(url)?.score ?? 0) < ENOUGH);
      if (left.length === 0) break;
      if (rung !== undefined) await this.#ask(rung, left);
    }
    return new Map([...this.#best].map(([url, { page }]) => [url, page]));
  }

  async #ask(rung: RungSpec, urls: readonly string[]): Promise<void> {
    const { pagesMax = 1 } = rung;
    const batches = Array.from({ length: Math.ceil(urls.length / pagesMax) }, (_, at) =>
      urls.slice(at * pagesMax, (at + 1) * pagesMax),
    );
    await Promise.all(batches.map((batch) => this.#batch(rung, batch)));
  }

  async #batch(rung: RungSpec, urls: readonly string[]): Promise<void> {
    const { calls, call, clock } = this.#reader;
    const fromMs = clock.elapsedMs();
    const wanted = { urls, format: "markdown", mainContent: true } as const;
    const outcome = await readRung(rung, wanted, call.signal, this.#parts);
    const source = outcome.action.split("/")[0] ?? "";
    const isOwn = source === outcome.action;
    if (outcome.kind === "skipped") {
      // What was not made for want of money or time has said so itself.
      if (outcome.why !== "cost_bound")
        calls.skip(this.#facet, isOwn ? `${rung.tag}/${source}` : outcome.action, outcome.why);
      return;
    }
    const read = outcome.kind === "read" ? outcome.pages.filter((page) => this.#note(page, rung, outcome.id)) : [];
    if (isOwn)
      calls.noteOwn({
        facet: this.#facet,
        provider: rung.tag,
        action: source,
        ms: clock.elapsedMs() - fromMs,
        results: read.length,
      });
    else if (outcome.kind === "read" && outcome.id !== null) calls.count(outcome.id, read.length);
  }

  /** Keeps a page where it is better than what there is of it; false: it is a wall or an empty shell. */
  #note(page: RungPage, rung: RungSpec, id: string | null): boolean {
    const { score } = yieldOf(page);
    const known = this.#best.get(page.url)?.score ?? 0;
    if (score > known) {
      const provider = (rung.markdown ?? rung.html)?.action.split("/")[0] ?? rung.tag;
      const cited = { source: provider, transaction_id: id ?? this.#reader.call.id };
      this.#best.set(page.url, {
        score,
        page: { title: page.title, ...contentOf(page.content, page.format), ...cited },
      });
    }
    return score > 0;
  }
}

/** The pages that could be read, by address: each rung is given what those before it have not read well enough. */
export function readPages(
  facet: string,
  urls: readonly string[],
  tags: readonly string[],
  reader: PageReader,
): Promise<ReadonlyMap<string, ReadPage>> {
  return new Pages(facet, reader).read(urls, tags);
}

/** The copies nearest to a day. */
export async function readArchived(
  facet: string,
  urls: readonly string[],
  day: string,
  { archive, reader }: { readonly archive: FacetsSpec["archive"]; readonly reader: PageReader },
): Promise<ReadonlyMap<string, ReadPage>> {
  const { calls, pages, call } = reader;
  const { extractor } = pages.rungParts(call.payer, pages.ladder(), async () => NOT_MADE);
  const read = new Map<string, ReadPage>();
  const one = async (url: string) => {
    const answer = await calls.ask(facet, archive.action, archive.params(url, day));
    if (!answer?.ok) return;
    const html = atPointer(answer.data, archive.contentAt);
    const found =
      typeof html === "string" ? await extractor.extract({ html, url, format: "markdown", mainContent: true }) : null;
    calls.count(answer.id, found === null ? 0 : 1);
    if (found === null) return;
    const cited = { source: answer.provider, transaction_id: answer.id };
    read.set(url, { title: found.title, ...contentOf(found.content, "markdown"), ...cited });
  };
  await Promise.all(urls.map(one));
  return read;
}
