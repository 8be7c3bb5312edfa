// The description of one endpoint for unit-priced models; plan, frame and hold are the same for all of them.
import type { z } from "zod";
import type { SoldUnitModel, UnitOffer } from "../../catalog/catalog.ts";
import type { UnitKind } from "../../catalog/unit-price.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Nano } from "../../core/money.ts";
import type { Counts, Reading, TokenUsage } from "../../core/route.ts";
import type { UploadedFile } from "../../platform/uploads/form-body.ts";
import type { Field } from "../formats/field-table.ts";
import type { TokenCounter } from "./token-counter.ts";

export interface UnitAsk<Body> {
  readonly body: Body;
  /** The body as sent, and its size in bytes if it was JSON: a tokenizer never makes more tokens than bytes. */
  readonly sent: Record<string, unknown>;
  readonly sentBytes: number;
  readonly files: readonly UploadedFile[];
  /** The longest that an audio file can last. */
  readonly secondsMax?: number;
}

/** The form of an answer: JSON, text, events, or bytes of a media type. */
export type AnswerForm =
  /** `only`: the fields to show; default all. `usage`: builds the usage where the vendor's own is not passed on. */
  | {
      readonly kind: "json";
      readonly only?: readonly string[];
      readonly usage?: (counted: TokenUsage | null) => Readonly<Record<string, number>>;
    }
  | { readonly kind: "text"; readonly contentType: string; readonly render: (body: Record<string, unknown>) => string }
  | { readonly kind: "events"; readonly ends?: (usage: Record<string, unknown>) => string }
  | { readonly kind: "bytes"; readonly contentType: string };

/** A request to an offer, and the most it can use. */
export interface UnitFit {
  /** The most that can be used, per unit. */
  readonly countsMax: Counts;
  readonly body: Record<string, unknown>;
  /** The lowered output limit; absent if it stayed as requested. */
  readonly loweredTo?: number;
  /** Nothing of the caller's body was dropped for this offer. */
  readonly isWhole?: boolean;
  /** Requests events from the vendor, whatever the caller gets. */
  readonly stream: boolean;
  /** The price unit of each item made, where items have their own price. */
  readonly unit?: string;
}

export interface UnitEndpoint<Body> {
  /** The label in metrics and transactions. */
  readonly operation: string;
  readonly kind: UnitKind;
  readonly task: string;
  readonly defaultModel?: string;
  readonly schema: z.ZodType<Body>;
  readonly fields: Field;
  /** The request to this offer with its maximum cost, or why the offer cannot serve it. */
  fit(ask: UnitAsk<Body>, offer: UnitOffer): UnitFit | GatewayError;
  answerForm(ask: UnitAsk<Body>): AnswerForm;
  /** The time limit of a whole answer, in milliseconds. Default: that of a non-streamed chat. */
  readonly answerMsMax?: number;
  /** On a disconnect: finish, because the vendor bills all of it anyway; or abort, and charge what was delivered. */
  readonly whenCallerLeaves: "finish" | "abort";
  /** Computes usage that the vendor did not report. Default: the maximum. */
  counted?(ask: UnitAsk<Body>, reading: Reading, counter: TokenCounter): Promise<Counts>;
  /** What this much money pays for. Default: the number of such calls. */
  affordable?(free: Nano, model: SoldUnitModel): Readonly<Record<string, number>>;
  /** Stores answers under an Idempotency-Key; if false, the header is ignored. Default true. */
  readonly isKept?: boolean;
  readonly freePerMinute?: number;
  /** Adds the cost to the answer's `usage`. Default true. */
  readonly tellsCost?: boolean;
}
