// Totals of holds and spending for the metrics: the archive's sums, plus the accounts that are not fully archived. And the accounts with play
// money: the archive holds their postings but knows no accounts, so reports ask here.
import { inChunks } from "../../../core/chunks.ts";
import { add, nano, ZERO } from "../../../core/money.ts";
import { NO_FILTERS, type UsageQuery } from "../../../core/usage-rows.ts";
import { type Archive, NO_ARCHIVE } from "../archive/archive.ts";
import type { LedgerTotals } from "../model/ledger.ts";
import { DAY_MS, dayOf } from "../model/windows.ts";
import type { LedgerPlace } from "./place.ts";
import { accountBase, accountKey, someFields } from "./rows.ts";
import type { LedgerLink } from "./script.ts";

const TOTALS_KEPT_MS = 10_000;
const READ_AT_ONCE = 200;
const FIELDS = ["held", "spent", "archived_charged", "absorbed", "archived_absorbed", "kind"] as const;

/** Reads the totals again. Postings that move at this moment may count twice or not yet; compared to `before`, the sums never fall. */
async function readTotals(
  { link, index, archive }: LedgerPlace,
  playSum: bigint,
  before: LedgerTotals | null,
): Promise<LedgerTotals> {
  const page = await archive.usage({ ...NO_FILTERS, by: [], kind: "charged", sandbox: null, limit: 1, cursor: null });
  const [archived] = "rows" in page ? page.rows : [];
  let [spent, absorbed] = [BigInt(archived?.amountNano ?? 0), BigInt(archived?.absorbedNano ?? 0)];
  let playSpent = playSum;
  let [heldNano, playHeldNano, holdsOpen] = [ZERO, ZERO, 0];
  const active = archive === NO_ARCHIVE ? index.all() : index.unarchived();
  await inChunks(active, READ_AT_ONCE, async (accountId) => {
    const fields = await someFields(link, accountKey(accountId), FIELDS);
    const number = (name: (typeof FIELDS)[number]) => Number(fields.get(name) ?? 0);
    const spentHere = BigInt(number("spent") - number("archived_charged"));
    const held = nano(number("held"));
    spent += spentHere;
    absorbed += BigInt(number("absorbed") - number("archived_absorbed"));
    heldNano = add(heldNano, held);
    holdsOpen += Number(await link.call("HLEN", `${accountBase(accountId)}:l`));
    if (fields.get("kind") !== "sandbox") return;
    playSpent += spentHere;
    playHeldNano = add(playHeldNano, held);
  });
  const most = (sum: bigint, earlier: string | undefined) =>
    String(earlier !== undefined && BigInt(earlier) > sum ? earlier : sum);
  return {
    accounts: await index.count(),
    holdsOpen,
    heldNano,
    spentNano: most(spent, before?.spentNano),
    absorbedNano: most(absorbed, before?.absorbedNano),
    play: { heldNano: playHeldNano, spentNano: most(playSpent, before?.play.spentNano) },
  };
}

/** The totals, read again where the last are ten seconds old. `playSpent`: what sandbox accounts have spent, as far as the archive knows. */
export function totalsOf(place: LedgerPlace, playSpent: () => Promise<bigint>): () => Promise<LedgerTotals> {
  const { clock } = place;
  let totals: { readonly atMs: number; readonly value: LedgerTotals } | null = null;
  return async () => {
    if (totals !== null && clock.elapsedMs() - totals.atMs < TOTALS_KEPT_MS) return totals.value;
    const value = await readTotals(place, await playSpent(), totals?.value ?? null);
    totals = { atMs: clock.elapsedMs(), value };
    return value;
  };
}

const PAGE = 1_000;
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
