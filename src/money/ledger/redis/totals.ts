// Totals of holds and spending for the metrics: the archive's sums, plus the accounts that are not fully archived.
import { add, nano, ZERO } from "../../../core/money.ts";
import { NO_FILTERS } from "../../../core/usage-rows.ts";
import { NO_ARCHIVE } from "../archive/archive.ts";
import type { LedgerTotals } from "../model/ledger.ts";
import type { LedgerPlace } from "./place.ts";
import { accountBase, accountKey } from "./rows.ts";
import type { LedgerLink } from "./script.ts";

const TOTALS_KEPT_MS = 10_000;
const READ_AT_ONCE = 200;
const FIELDS = ["held", "spent", "archived_charged", "absorbed", "archived_absorbed", "kind"] as const;

/** What these accounts hold, and what they have spent outside the archive. */
async function readActive(link: LedgerLink, ids: readonly string[]) {
  const rows = await Promise.all(
    ids.map(async (accountId) => {
      const values = (await link.call("HMGET", accountKey(accountId), ...FIELDS)) as (string | null)[];
      const [held = 0, spent = 0, archived = 0, absorbed = 0, archivedAbsorbed = 0] = values.slice(0, -1).map(Number);
      const holds = Number(await link.call("HLEN", `${accountBase(accountId)}:l`));
      const isPlay = values.at(-1) === "sandbox";
      return { held, holds, spent: spent - archived, absorbed: absorbed - archivedAbsorbed, isPlay };
    }),
  );
  const sums = (some: typeof rows) => {
    const sum = (name: "held" | "holds" | "spent" | "absorbed") => some.reduce((total, row) => total + row[name], 0);
    return { held: nano(sum("held")), holds: sum("holds"), spent: sum("spent"), absorbed: sum("absorbed") };
  };
  return { all: sums(rows), play: sums(rows.filter(({ isPlay }) => isPlay)) };
}

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
  let ids: string[] = [];
  const take = async () => {
    const { all: active, play } = await readActive(link, ids);
    playHeldNano = add(playHeldNano, play.held);
    playSpent += BigInt(play.spent);
    heldNano = add(heldNano, active.held);
    holdsOpen += active.holds;
    spent += BigInt(active.spent);
    absorbed += BigInt(active.absorbed);
    ids = [];
  };
  for await (const accountId of archive === NO_ARCHIVE ? index.all() : index.unarchived()) {
    ids.push(accountId);
    if (ids.length === READ_AT_ONCE) await take();
  }
  await take();
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
