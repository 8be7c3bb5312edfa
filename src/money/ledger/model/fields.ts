// Every stored field of a hold and a posting, with its place in each store. A test checks all stores against it.
import type { NumberedPosting } from "../archive/archive.ts";
import type { LiveHold } from "./state.ts";

/** A field's place in Redis: a line of the call's text, a field of one of its two JSON lines, or elsewhere. */
type RedisPlace = HoldLine | PostingLine | `${"meta" | "detail"}.${string}` | "the key's name" | "the leases" | null;

interface FieldPlace {
  /** The column in SQLite and, for postings, in the archive; null where there is none. */
  readonly column: string | null;
  readonly redis: RedisPlace;
}

/** The lines of a hold in Redis after `held`, in order. */
export const HOLD_LINES = [
  ...(["amount", "accrued", "day", "key", "inference", "effect", "on_expire", "slots", "idempotency", "meta"] as const),
] as const;
/** The lines of a posting in Redis after `posted`, in order. */
export const POSTING_LINES = [
  ...(["kind", "at", "key", "amount", "cents", "absorbed", "seq", "day", "inference"] as const),
  ...(["absorb_reason", "reason", "meta", "detail", "windows"] as const),
] as const;
export type HoldLine = (typeof HOLD_LINES)[number];
export type PostingLine = (typeof POSTING_LINES)[number];
/** Lines that hold whole numbers; the others hold text. */
export const NUMBER_LINES: readonly (HoldLine | PostingLine)[] = [
  ...(["amount", "accrued", "at", "cents", "absorbed", "seq"] as const),
];

type HoldField = Exclude<keyof LiveHold, "account" | "days" | "written" | "leaseEndsElapsedMs"> | "accountId";

export const HOLD_FIELDS: Readonly<Record<HoldField, FieldPlace>> = {
  holdId: { column: "hold_id", redis: "the key's name" },
  accountId: { column: "account_id", redis: "the key's name" },
  keyId: { column: "key_id", redis: "key" },
  amount: { column: "amount", redis: "amount" },
  accrued: { column: "accrued", redis: "accrued" },
  day: { column: "day", redis: "day" },
  inference: { column: "inference", redis: "inference" },
  // A process of the previous release passes it through unread.
  windows: { column: "windows", redis: "meta.windows" },
  slots: { column: "slots", redis: "slots" },
  // A shared store cannot know that a process is dead.
  owner: { column: "owner", redis: null },
  leaseMs: { column: "lease_ms", redis: "the leases" },
  onExpire: { column: "on_expire", redis: "on_expire" },
  effect: { column: "effect", redis: "effect" },
  parentId: { column: "parent_id", redis: "meta.parentId" },
  requestId: { column: "request_id", redis: "meta.requestId" },
  operation: { column: "operation", redis: "meta.operation" },
  asked: { column: "asked", redis: "meta.asked" },
  idempotencyKey: { column: "idempotency_key", redis: "idempotency" },
  createdAtMs: { column: "created_at", redis: null },
};

export const POSTING_FIELDS: Readonly<Record<keyof NumberedPosting, FieldPlace>> = {
  transactionId: { column: "transaction_id", redis: "the key's name" },
  kind: { column: "kind", redis: "kind" },
  accountId: { column: "account_id", redis: "the key's name" },
  keyId: { column: "key_id", redis: "key" },
  parentId: { column: "parent_id", redis: "meta.parentId" },
  requestId: { column: "request_id", redis: "meta.requestId" },
  createdAtMs: { column: "created_at", redis: "at" },
  day: { column: "day", redis: "day" },
  inference: { column: "inference", redis: "inference" },
  windows: { column: "windows", redis: "windows" },
  operation: { column: "operation", redis: "meta.operation" },
  asked: { column: "asked", redis: "meta.asked" },
  served: { column: "served", redis: "detail.served" },
  provider: { column: "provider", redis: "detail.provider" },
  amountNano: { column: "amount", redis: "amount" },
  chargedCents: { column: "charged_cents", redis: "cents" },
  upstreamNano: { column: "upstream", redis: "detail.upstreamNano" },
  absorbedNano: { column: "absorbed", redis: "absorbed" },
  absorbReason: { column: "absorb_reason", redis: "absorb_reason" },
  usage: { column: "usage", redis: "detail.usage" },
  estimated: { column: "estimated", redis: "detail.estimated" },
  priceVersion: { column: "price_version", redis: "detail.priceVersion" },
  reference: { column: "reference", redis: "detail.reference" },
  // A credit keeps its reason in the detail.
  reason: { column: "reason", redis: "reason" },
  // The first run among its windows.
  runId: { column: null, redis: null },
  tags: { column: "tags", redis: "detail.tags" },
  legs: { column: "legs", redis: "detail.legs" },
  // SQLite numbers all postings in one sequence.
  number: { column: null, redis: "seq" },
};
