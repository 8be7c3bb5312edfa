// What one process of all looks for and tells as events: routes that rest, payments that are in doubt, models that end.
import { systemClock } from "../core/clock.ts";
import { usdText } from "../core/money.ts";
import { HOUSE } from "../edge/x402/books.ts";
import { openReceipts } from "../edge/x402/receipts.ts";
import type { EventLog } from "../money/events/event-log.ts";
import { RouteWatch } from "../money/events/route-watch.ts";
import { openPaid } from "../money/wallet/paid-records.ts";
import type { Records } from "../platform/records/records.ts";
import type { Foundation } from "./open-foundation.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** A payment that has been open for so long is in doubt: a call's own has ended by then. */
const DOUBT_MS = 5 * MINUTE_MS;
/** Before its end, a model's is told at these many days. */
const RETIRES_DAYS = [30, 7, 1];

const LIVE = { sandbox: false };

type Tell = EventLog["tell"];

/** Payments whose end is not known, by who paid: a caller on chain, or our wallet. Each is told once. */
async function tellDoubts(records: Records, tell: Tell, nowMs: number): Promise<void> {
  const isOld = ({ sinceMs }: { readonly sinceMs: number }) => nowMs - sinceMs >= DOUBT_MS;
  for (const { receipt } of await openReceipts(records, HOUSE)) {
    if (!isOld(receipt)) continue;
    const { id, amountNano, payment } = receipt;
    const data = {
      transaction_id: id,
      direction: "received",
      amount_usd: usdText(amountNano),
      network: payment.network,
    };
    await tell({ kind: "settlement.in_doubt", accountId: null, data }, "received", id);
  }
  for (const paid of await openPaid(records)) {
    if (!isOld(paid)) continue;
    const { callId, amountNano, network, merchant } = paid;
    const data = { transaction_id: callId, direction: "paid", amount_usd: usdText(amountNano), network, merchant };
    await tell({ kind: "settlement.in_doubt", accountId: null, data }, "paid", callId);
  }
}

/** Models that are sold and end within so many days: told at each of these once. */
async function tellEnds(
  catalog: ReturnType<Foundation["catalog"]["current"]>,
  tell: Tell,
  nowMs: number,
): Promise<void> {
  const all = [...catalog.models(LIVE), ...catalog.embeddings(LIVE), ...catalog.unitModels(LIVE)];
  for (const { slug, retires, offers } of all) {
    if (retires === null || offers.length === 0) continue;
    const left = Math.ceil((Date.parse(retires.on) - nowMs) / DAY_MS);
    const mark = RETIRES_DAYS.findLast((days) => left <= days);
    if (mark === undefined || left < 0) continue;
    const data = { model: slug, ends_on: retires.on, days_left: left, successor: retires.successor ?? null };
    await tell({ kind: "model.retires", accountId: null, data }, slug, retires.on, mark);
  }
}

/** To be called about once a second by the process that tells. */
export function createNotices(
  { catalog, upstream, stores: { records } }: Pick<Foundation, "catalog" | "upstream" | "stores">,
  tell: Tell,
): () => Promise<void> {
  const clock = systemClock;
  const routes = new RouteWatch();
  let doubtsMs = Number.NEGATIVE_INFINITY;
  let endsMs = Number.NEGATIVE_INFINITY;
  return async () => {
    const nowMs = clock.epochMs();
    for (const { kind, route, sinceMs } of routes.look(upstream.health.resting(), nowMs)) {
      const { provider: vendor, model } = route;
      await tell({ kind, accountId: null, data: { vendor, model } }, vendor, model, Math.floor(sinceMs));
    }
    if (nowMs - doubtsMs >= MINUTE_MS) {
      doubtsMs = nowMs;
      await tellDoubts(records, tell, nowMs);
    }
    if (nowMs - endsMs >= HOUR_MS) {
      endsMs = nowMs;
      await tellEnds(catalog.current(), tell, nowMs);
    }
  };
}
