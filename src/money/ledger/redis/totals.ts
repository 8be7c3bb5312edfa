// Totals of holds and spending for the metrics: the archive's sums, plus the accounts that are not fully archived.
import { inChunks } from "../../../core/chunks.ts";
import { add, nano, ZERO } from "../../../core/money.ts";
import { NO_FILTERS } from "../../../core/usage-rows.ts";
import { NO_ARCHIVE } from "../archive/archive.ts";
import type { LedgerTotals } from "../model/ledger.ts";
import type { LedgerPlace } from "./place.ts";
import { accountBase, accountKey, someFields } from "./rows.ts";

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
