// What one endpoint of models that are sold by units says of itself; the plan, the frame and the hold are made alike for all of them.
import type { z } from "zod";
import type { UnitKind } from "../catalog/adapter.ts";
import type { UnitOffer } from "../catalog/catalog.ts";
import type { GatewayError } from "../errors.ts";
import type { Counts, Reading } from "../route.ts";
import type { UploadedFile } from "../upstream/form-body.ts";
import type { Place } from "../wires/allow-list.ts";
import type { TokenCounter } from "./token-counter.ts";

/** A checked body of the endpoint, and the files that came with it. */
export interface UnitAsk<Body> {
  readonly body: Body;
  readonly files: readonly UploadedFile[];
  /** Of a file of sound, the longest that it can last. */
  readonly secondsMax?: number;
}

/** How an answer looks: JSON, a text, events, or bytes of a type. */
export type AnswerForm =
  /** `only`: what of the vendor's answer is shown; else all of it. */
  | { readonly kind: "json"; readonly only?: readonly string[] }
  | { readonly kind: "text"; readonly contentType: string; readonly render: (body: Record<string, unknown>) => string }
  | { readonly kind: "events"; readonly ends?: (usage: Record<string, unknown>) => string }
  | { readonly kind: "bytes"; readonly contentType: string };

/** What a vendor is asked, and what may come of it at most. */
export interface UnitFit {
  /** The most that can be used, by unit. */
  readonly countsMax: Counts;
  /** The body as this offer's dialect takes it. */
  readonly body: Record<string, unknown>;
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
  readonly fields: Place;
  /** What this offer is asked and can cost; or why it cannot be asked. */
  fit(ask: UnitAsk<Body>, offer: UnitOffer): UnitFit | GatewayError;
  answerForm(ask: UnitAsk<Body>): AnswerForm;
  /** How long a whole answer may take, in milliseconds. */
  readonly answerMsMax: number;
  /** Who leaves has asked for it, and the vendor bills all of it; or is charged what was delivered. */
  readonly whenCallerLeaves: "finish" | "abort";
  /** What was used where the vendor has not said. Without it, the most that could be. */
  counted?(ask: UnitAsk<Body>, reading: Reading, counter: TokenCounter): Promise<Counts>;
  /** Free calls of an account in a minute. */
  readonly freePerMinute?: number;
  /** Its answers say what they cost in `usage`. Default true. */
  readonly tellsCost?: boolean;
}
