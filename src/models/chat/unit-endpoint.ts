// What one endpoint of models that are sold by units says of itself; the plan, the frame and the hold are made alike for all of them.
import type { z } from "zod";
import type { SoldUnitModel, UnitOffer } from "../../catalog/catalog.ts";
import type { UnitKind } from "../../catalog/unit-model.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Nano } from "../../core/money.ts";
import type { Counts, Reading, TokenUsage } from "../../core/route.ts";
import type { UploadedFile } from "../../platform/uploads/form-body.ts";
import type { Field } from "../formats/field-table.ts";
import type { TokenCounter } from "./token-counter.ts";

/** A checked body of the endpoint, and the files that came with it. */
export interface UnitAsk<Body> {
  readonly body: Body;
  /** As it was sent, and in how many bytes, where it was JSON: no tokenizer makes more tokens than there are bytes. */
  readonly sent: Record<string, unknown>;
  readonly sentBytes: number;
  readonly files: readonly UploadedFile[];
  /** Of a file of sound, the longest that it can last. */
  readonly secondsMax?: number;
}

/** How an answer looks: JSON, a text, events, or bytes of a type. */
export type AnswerForm =
  /** `only`: what of the vendor's answer is shown; else all of it. `usage`: how it says what was counted, where the vendor's own words are not passed on. */
  | {
      readonly kind: "json";
      readonly only?: readonly string[];
      readonly usage?: (counted: TokenUsage | null) => Readonly<Record<string, number>>;
    }
  | { readonly kind: "text"; readonly contentType: string; readonly render: (body: Record<string, unknown>) => string }
  | { readonly kind: "events"; readonly ends?: (usage: Record<string, unknown>) => string }
  | { readonly kind: "bytes"; readonly contentType: string };

/** What a vendor is asked, and what may come of it at most. */
export interface UnitFit {
  /** The most that can be used, by unit. */
  readonly countsMax: Counts;
  /** The body as this offer's dialect takes it. */
  readonly body: Record<string, unknown>;
  /** What the output tokens that the caller asked for were lowered to; absent: they stand. */
  readonly loweredTo?: number;
  /** It is all that the caller sent: nothing was dropped for this offer. */
  readonly isWhole?: boolean;
  /** The vendor is asked for events, whatever the caller gets. */
  readonly stream: boolean;
  /** The unit of the price that each thing is which is made, where it has a price of its own. */
  readonly unit?: string;
}

export interface UnitEndpoint<Body> {
  /** The label of metrics and transactions. */
  readonly operation: string;
  readonly kind: UnitKind;
  readonly task: string;
  /** The model of those who name none. */
  readonly defaultModel?: string;
  readonly schema: z.ZodType<Body>;
  readonly fields: Field;
  /** What this offer is asked and can cost; or why it cannot be asked. */
  fit(ask: UnitAsk<Body>, offer: UnitOffer): UnitFit | GatewayError;
  answerForm(ask: UnitAsk<Body>): AnswerForm;
  /** How long a whole answer may take, in milliseconds. Default: as long as a chat's that is not streamed. */
  readonly answerMsMax?: number;
  /** Who leaves has asked for it, and the vendor bills all of it; or is charged what was delivered. */
  readonly whenCallerLeaves: "finish" | "abort";
  /** What was used where the vendor has not said. Without it, the most that could be. */
  counted?(ask: UnitAsk<Body>, reading: Reading, counter: TokenCounter): Promise<Counts>;
  /** What so much money would pay for. Default: how many such calls. */
  affordable?(free: Nano, model: SoldUnitModel): Readonly<Record<string, number>>;
  /** An Idempotency-Key keeps its answers; else the header says nothing here. Default true. */
  readonly isKept?: boolean;
  /** Free calls of an account in a minute. */
  readonly freePerMinute?: number;
  /** Its answers say what they cost in `usage`. Default true. */
  readonly tellsCost?: boolean;
}
