// A reference model of the reports: sums postings one by one in the simplest way, for comparison with the stores.

import type { PostingFilters, PostingSearch, UsageField, UsageQuery } from "../../../../src/core/usage-rows.ts";
import type { NumberedPosting } from "../../../../src/money/ledger/archive/archive.ts";
import { runIn } from "../../../../src/money/ledger/model/window-list.ts";

const DAY_MS = 86_400_000;
const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
/** The accounts that are sandbox accounts. */
export const SANDBOX_ACCOUNTS = ["gamma"];
const isPlay = ({ accountId }: NumberedPosting) => SANDBOX_ACCOUNTS.includes(accountId);
const model = ({ served, asked }: NumberedPosting) => served ?? asked ?? "";

function isAsked(posting: NumberedPosting, query: PostingFilters): boolean {
  const { accountId, keyId, provider, tag, fromMs, toMs } = query;
  return (
    (accountId === null || posting.accountId === accountId) &&
    (keyId === null || posting.keyId === keyId) &&
    (query.model === null || model(posting) === query.model) &&
    (provider === null || posting.provider === provider) &&
    (tag === null || posting.tags.includes(tag)) &&
    (fromMs === null || posting.createdAtMs >= fromMs) &&
    (toMs === null || posting.createdAtMs < toMs)
  );
}

/** The groups in which a posting counts: one, or when grouped by tags, one for each of its own. */
function groups(posting: NumberedPosting, { by, groups: asked = {} }: UsageQuery, listed: (tag: string) => string) {
  const tags = posting.tags.length === 0 ? [""] : [...new Set(posting.tags.map(listed))];
  return (by.includes("tag") ? tags : [""]).map((tag) => {
    const values: Record<UsageField, string> = {
      account: posting.accountId,
      key: posting.keyId ?? "",
      model: model(posting),
      provider: posting.provider ?? "",
      day: day(posting.createdAtMs),
      tag,
      run: runIn(posting.windows).runId ?? "",
      group: (posting.keyId === null ? undefined : asked[posting.keyId]) ?? "",
    };
    return Object.fromEntries(by.map((field) => [field, values[field]]));
  });
}

export function usageOf(postings: readonly NumberedPosting[], query: UsageQuery, listed = (tag: string) => tag) {
  const rows = new Map<string, { group: Record<string, string>; sums: bigint[] }>();
  for (const posting of postings) {
    if (query.sandbox !== null && isPlay(posting) !== query.sandbox) continue;
    if (!isAsked(posting, query) || (posting.kind === "charge") !== (query.kind === "charged")) continue;
    const { inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0, outputTokens = 0 } = posting.usage ?? {};
    const added = [1, posting.amountNano, posting.upstreamNano, posting.absorbedNano];
    for (const group of groups(posting, query, listed)) {
      const row = rows.get(JSON.stringify(group)) ?? { group, sums: [0n, 0n, 0n, 0n, 0n, 0n] };
      const all = [...added, inputTokens + cacheReadTokens + cacheWriteTokens, outputTokens];
      row.sums = row.sums.map((sum, at) => sum + BigInt(all[at] ?? 0));
      rows.set(JSON.stringify(group), row);
    }
  }
  return [...rows.values()].map(({ group, sums: [calls, amount, upstream, absorbed, input, output] }) => ({
    group,
    calls: Number(calls),
    amountNano: String(amount),
    upstreamNano: String(upstream),
    absorbedNano: String(absorbed),
    inputTokens: Number(input),
    outputTokens: Number(output),
  }));
}

/** Newest first. */
export function searchOf(postings: readonly NumberedPosting[], query: PostingSearch): string[] {
  return postings
    .filter((posting) => isAsked(posting, query))
    .filter(({ kind }) => query.kind === null || (kind === "charge") === (query.kind === "charged"))
    .map(({ transactionId }) => transactionId);
}

export const dayStart = (at: number, days = 0) => (Math.floor(at / DAY_MS) + days) * DAY_MS;
