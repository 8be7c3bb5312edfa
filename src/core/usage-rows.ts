// What is asked of the books as a whole, who spent what, and what is answered. Types and nothing else.
import type { PostingPage } from "./account-rows.ts";

/** What spending can be told by. */
export type UsageField = "account" | "key" | "model" | "provider" | "day" | "tag" | "group";

/** Of which postings: null is no bound. */
export interface PostingFilters {
  readonly accountId: string | null;
  readonly keyId: string | null;
  /** The model or `service/action` that served. */
  readonly model: string | null;
  readonly provider: string | null;
  /** `name=value` */
  readonly tag: string | null;
  /** From this moment on, and before that one. */
  readonly fromMs: number | null;
  readonly toMs: number | null;
}

export interface UsageQuery extends PostingFilters {
  readonly by: readonly UsageField[];
  /** Charges, or what was added to balances: credit and refunds. */
  readonly kind: "charged" | "credited";
  /** The group of each key that is or was in one; told by groups alone, of one account. */
  readonly groups?: Readonly<Record<string, string>>;
  /** The play money of sandbox accounts: left out, or told alone; null: told among the rest. */
  readonly sandbox: boolean | null;
  /** Those of the largest sums, and no page after them; else rows come in the order of what they are told by. */
  readonly largestFirst?: boolean;
  readonly limit: number;
  readonly cursor: string | null;
}

/** Sums over postings. Amounts are whole nano-USD as text: all accounts together may have more than a number counts exactly. */
export interface UsageSums {
  readonly calls: number;
  readonly amountNano: string;
  /** What it cost us. */
  readonly upstreamNano: string;
  readonly absorbedNano: string;
  readonly inputTokens: number;
  readonly outputTokens: number;
}

export interface UsageRow extends UsageSums {
  /** By the fields that were asked for. A day is `YYYY-MM-DD`; the empty text stands for none; of a day's further tags, `*`. */
  readonly group: Readonly<Partial<Record<UsageField, string>>>;
}

/** Adding up would take reading the postings of more than one UTC day, because of this filter or field. */
export interface TooWide {
  readonly tooWide: string;
}

export interface UsagePage {
  readonly rows: readonly UsageRow[];
  readonly next: string | null;
  /** Where a tag was asked for: it may have been counted among a day's further tags, so the sums can be too small. */
  readonly mayLackTags: boolean;
}

export interface PostingSearch extends PostingFilters {
  readonly kind: "charged" | "credited" | null;
  readonly limit: number;
  readonly cursor: string | null;
}

/** The books as a whole, read beside the calls that go on. */
export interface Reports {
  usage(query: UsageQuery): Promise<UsagePage | TooWide>;
  /** Postings, newest first, without their legs. */
  search(query: PostingSearch): Promise<PostingPage | TooWide>;
}

/** A call of a known key that was not charged: it failed, or was refused before it began. */
export interface FailedCall {
  readonly requestId: string;
  readonly status: "failed" | "refused";
  readonly createdAtMs: number;
  readonly accountId: string;
  readonly keyId: string;
  readonly endpoint: string;
  readonly asked: string | null;
  /** What the caller was told. */
  readonly httpStatus: number;
  readonly code: string | null;
  /** The same in words. What an older release has kept has none. */
  readonly message?: string | null;
  /** What the operator has to know of it; callers are not shown it. */
  readonly reason?: string | null;
  readonly ms: number;
  readonly tags: readonly string[];
  /** What was tried, and what each took from us. */
  readonly attempts: readonly {
    readonly vendor: string;
    readonly model: string;
    readonly status: number;
    readonly reason: string | null;
    /** The vendor's words where only the operator can mend it. */
    readonly refusal?: string;
    readonly ms: number;
    readonly upstreamNano: number;
  }[];
}

export interface FailedCallSearch extends PostingFilters {
  readonly status: FailedCall["status"];
  readonly limit: number;
  readonly cursor: string | null;
}

export interface FailedCalls {
  /** Newest first. */
  find(search: FailedCallSearch): Promise<{ readonly rows: readonly FailedCall[]; readonly next: string | null }>;
}
