// Pages whose text a search is to bring: read rung by rung, as many in one call as a rung can, or from the archive.
import type { FacetsSpec, PageLadderSpec, RungCall, RungSpec } from "../catalog/tier.ts";
import { atPointer } from "../upstream/json-pointer.ts";
import { contentOf, type Evidence } from "./evidence.ts";
import type { SourceCalls } from "./source-calls.ts";

/** The text of a page, and who has read it. */
export type ReadPage = Pick<Evidence, "title" | "content" | "format" | "truncated" | "source" | "transaction_id">;

const FORMATS = { markdown: "markdown", html: "html", text: "text", page: "html" } as const;

const textOf = (found: unknown) => (typeof found === "string" && found.trim() !== "" ? found : null);
const keyOf = (url: string) => (URL.parse(url)?.href ?? url).replace(/#.*$/, "").replace(/\/$/, "");

/** What an answer has of each page, by address. */
function pagesIn(data: unknown, urls: readonly string[], { answer }: RungCall): ReadonlyMap<string, unknown> {
  const [only = ""] = urls;
  if (answer.listAt === undefined) return new Map([[only, data]]);
  const list = atPointer(data, answer.listAt);
  const items = (Array.isArray(list) ? list : []).map(
    (item: unknown) => [keyOf(String(atPointer(item, answer.urlAt ?? "/url"))), item] as const,
  );
  // Of one page that redirects, the address is another one.
  const [sole] = items;
  if (urls.length === 1 && items.length === 1 && sole !== undefined) return new Map([[only, sole[1]]]);
  const byKey = new Map<string, unknown>(items);
  return new Map(urls.flatMap((url) => (byKey.has(keyOf(url)) ? [[url, byKey.get(keyOf(url))] as const] : [])));
}

async function rung(
  facet: string,
  { pagesMax = 1, markdown: call }: RungSpec,
  urls: readonly string[],
  calls: SourceCalls,
): Promise<ReadonlyMap<string, ReadPage>> {
  const read = new Map<string, ReadPage>();
  if (call === undefined) return read;
  const batches = Array.from({ length: Math.ceil(urls.length / pagesMax) }, (_, at) =>
    urls.slice(at * pagesMax, (at + 1) * pagesMax),
  );
  const one = async (batch: readonly string[]) => {
    const answer = await calls.ask(
      facet,
      call.action,
      call.params({ urls: batch, format: "markdown", mainContent: true }),
    );
    if (!answer?.ok) return;
    const before = read.size;
    for (const [url, item] of pagesIn(answer.data, batch, call)) {
      const content = textOf(atPointer(item, call.answer.contentAt));
      if (content === null) continue;
      const title = call.answer.titleAt === undefined ? null : textOf(atPointer(item, call.answer.titleAt));
      const cited = { source: answer.provider, transaction_id: answer.id };
      read.set(url, { title, ...contentOf(content, FORMATS[call.answer.holds]), ...cited });
    }
    calls.count(answer.id, read.size - before);
  };
  await Promise.all(batches.map(one));
  return read;
}

/** The pages that could be read, by address: each rung is given what those before it could not read. */
export async function readPages(
  facet: string,
  urls: readonly string[],
  tags: readonly string[],
  { ladder, calls }: { readonly ladder: PageLadderSpec; readonly calls: SourceCalls },
): Promise<ReadonlyMap<string, ReadPage>> {
  const read = new Map<string, ReadPage>();
  for (const tag of tags) {
    const left = urls.filter((url) => !read.has(url));
    const spec = ladder.rungs.find((one) => one.tag === tag);
    if (left.length === 0) break;
    if (spec === undefined) continue;
    for (const [url, page] of await rung(facet, spec, left, calls)) read.set(url, page);
  }
  return read;
}

/** The copies nearest to a day. */
export async function readArchived(
  facet: string,
  urls: readonly string[],
  day: string,
  { archive, calls }: { readonly archive: FacetsSpec["archive"]; readonly calls: SourceCalls },
): Promise<ReadonlyMap<string, ReadPage>> {
  const read = new Map<string, ReadPage>();
  const one = async (url: string) => {
    const answer = await calls.ask(facet, archive.action, archive.params(url, day));
    if (!answer?.ok) return;
    const content = textOf(atPointer(answer.data, archive.contentAt));
    calls.count(answer.id, content === null ? 0 : 1);
    const cited = { source: answer.provider, transaction_id: answer.id };
    if (content !== null) read.set(url, { title: null, ...contentOf(content, "html"), ...cited });
  };
  await Promise.all(urls.map(one));
  return read;
}
