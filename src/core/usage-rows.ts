// Usage reports over all postings: queries and rows.
import type { Page, Paged, PostingPage } from "./account-rows.ts";

export type UsageField = "account" | "key" | "model" | "provider" | "day" | "tag" | "group" | "run";

export interface PostingFilters {
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** The model or `service/action` that served. */
  readonly model: string | null;
  readonly provider: string | null;
  readonly tag: string | null;
  /** From this moment on, and before that one. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

/** Every posting. */
export const NO_FILTERS: PostingFilters = {
  accountId: null,
  keyId: null,
  model: null,
  provider: null,
  tag: null,
  fromMs: null,
  toMs: null,
};

export interface UsageQuery extends PostingFilters, Paged {
  readonly by: readonly UsageField[];
  /** Charges, or additions to balances (credit and refunds). */
  readonly kind: "charged" | "credited";
  /** The current or former group of each key; only for reports by group, of one account. */
  readonly groups?: Readonly<Record<string, string>>;
  /** Play money of sandbox accounts: false leaves it out, true shows only it, null includes it. */
  readonly sandbox: boolean | null;
  /** Only these values of the first field. */
  readonly only?: readonly string[];
  /** Only the largest sums, without further pages; default: rows in the order of their groups. */
  readonly largestFirst?: boolean;
}

/** Sums over postings. Amounts are whole nano-USD as text, because totals may exceed exact numbers. */
export interface UsageSums {
  readonly calls: number;
  readonly amountNano: string;
  /** Our cost. */
  readonly upstreamNano: string;
  readonly absorbedNano: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface UsageRow extends UsageSums {
  /** By the requested fields. A day is `YYYY-MM-DD`; an empty text means none; `*` stands for a day's further tags. */
  readonly group: Readonly<Partial<Record<UsageField, string>>>;
}

/** This filter or field would need the postings of more than one UTC day. */
export interface TooWide {
  readonly tooWide: string;
}

export interface UsagePage extends Page<UsageRow> {
  /** For reports by tag: sums may be too small, because some tags were counted among a day's further tags. */
  readonly mayLackTags: boolean;
}

export interface PostingSearch extends PostingFilters, Paged {
  readonly kind: "charged" | "credited" | null;
}

/** The charges of some runs of an account, oldest first. */
export interface RunPostingQuery extends Paged {
  readonly accountId: string;
  readonly runIds: readonly string[];
}

/** Reports over the books, beside running calls. */
export interface Reports {
  usage(query: UsageQuery): Promise<UsagePage | TooWide>;
  /** Postings, newest first, without their legs. */
  search(query: PostingSearch): Promise<PostingPage | TooWide>;
  /** With their legs. */
  runPostings(query: RunPostingQuery): Promise<PostingPage>;
}

/** An uncharged call of a known key: it failed, or was refused before it began. */
export interface FailedCall {
  readonly requestId: string;
  readonly status: "failed" | "refused";
  readonly createdAtMs: number;
  readonly accountId: string;
  readonly keyId: string;
  readonly endpoint: string;
  readonly asked: string | null;
  readonly httpStatus: number;
  readonly code: string | null;
  /** The error's message. Older releases did not keep it. */
  readonly message?: string | null;
  /** A detail for the operator; callers do not see it. */
  readonly reason?: string | null;
  readonly ms: number;
  readonly tags: readonly string[];
  /** The attempts, and what each cost us. */
  readonly attempts: readonly {
    readonly vendor: string;
    readonly model: string;
    readonly status: number;
    readonly reason: string | null;
    /** The vendor's words, where only the operator can fix the cause. */
    readonly refusal?: string;
    readonly ms: number;
    readonly upstreamNano: number;
  }[];
}

export interface FailedCallSearch extends PostingFilters, Paged {
  /** Null: either. */
  readonly status: FailedCall["status"] | null;
  /** Only the call with this id. */
  readonly requestId?: string;
}

export interface FailedCalls {
  /** Newest first. */
  find(search: FailedCallSearch): Promise<Page<FailedCall>>;
}
