// Finds the accounts with play money: the archive holds their postings but knows no accounts, so reports ask here.
import { inChunks } from "../../../core/chunks.ts";
import { NO_FILTERS, type UsageQuery } from "../../../core/usage-rows.ts";
import type { Archive } from "../archive/archive.ts";
import { DAY_MS, dayOf } from "../model/windows.ts";
import { accountKey } from "./rows.ts";
import type { LedgerLink } from "./script.ts";

const PAGE = 1_000;
const READ_AT_ONCE = 200;
/** Postings reach the archive a minute late, and later after an outage. */
const DAYS_OPEN = 2;
const BY_ACCOUNT = { ...NO_FILTERS, by: ["account"], sandbox: null } as const;

/** Widens to whole days, which the daily sums cover; extra accounts change nothing. */
function dayStart(ms: number | null, days: 0 | 1): number | null {
  return ms === null || ms % DAY_MS === 0 ? ms : (dayOf(ms) + days) * DAY_MS;
}

/** What sandbox accounts have spent according to the archive. Closed days are added up once a day. */
export function playSpent(archive: Archive, playing: ReturnType<typeof sandboxAccounts>, nowMs: () => number) {
  let earlier: { readonly toMs: number; readonly spent: bigint } | null = null;

  async function spentIn(days: { readonly fromMs: number | null; readonly toMs: number | null }): Promise<bigint> {
    const query = { ...NO_FILTERS, ...days, by: [], kind: "charged", sandbox: true, limit: 1, cursor: null } as const;
    const page = await archive.usage(query, await playing(query));
    return BigInt(("rows" in page ? page.rows[0]?.amountNano : undefined) ?? 0);
  }

  return async (): Promise<bigint> => {
    const toMs = (dayOf(nowMs()) - DAYS_OPEN) * DAY_MS;
    if (earlier?.toMs !== toMs) earlier = { toMs, spent: await spentIn({ fromMs: null, toMs }) };
    return earlier.spent + (await spentIn({ fromMs: toMs, toMs: null }));
  };
}

/** An account's kind never changes, so each is looked up once. */
export function sandboxAccounts(link: LedgerLink, archive: Archive) {
  const known = new Map<string, boolean>();

  async function learn(ids: readonly string[]): Promise<void> {
    await inChunks(ids, READ_AT_ONCE, async (id) =>
      known.set(id, (await link.call("HGET", accountKey(id), "kind")) === "sandbox"),
    );
  }

  /** Those with charges or credit in the archive in these days. */
  return async ({ kind, fromMs, toMs }: Pick<UsageQuery, "kind" | "fromMs" | "toMs">): Promise<string[]> => {
    const found: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const page: Awaited<ReturnType<Archive["usage"]>> = await archive.usage({
        ...BY_ACCOUNT,
        kind,
        fromMs: dayStart(fromMs, 0),
        toMs: dayStart(toMs, 1),
        limit: PAGE,
        cursor,
      });
      if ("tooWide" in page) return found;
      const ids = page.rows.map(({ group }) => group.account ?? "");
      await learn(ids.filter((id) => !known.has(id)));
      found.push(...ids.filter((id) => known.get(id)));
      if (page.next === null) return found;
      cursor = page.next;
    }
  };
}
