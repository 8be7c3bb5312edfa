// The interface of a vendor's format for models that are sold by units: writes requests, reads answers and counts.
import type { UnitSpec } from "../../catalog/unit-model.ts";
import type { Json } from "../../core/json.ts";
import type { AttemptFailure, Counts } from "../../core/route.ts";
import type { UploadedFile } from "../../platform/uploads/form-body.ts";
import type { UpstreamBody, VendorError } from "../dialects/dialect.ts";

/** A caller's request, in the caller's format. */
export interface UnitAsked {
  /** The task of a model with several, such as `edit` or `translate`; else the endpoint's only task. */
  readonly task: string;
  readonly body: Json;
  readonly files: readonly UploadedFile[];
  /** The vendor should answer in events. */
  readonly stream: boolean;
  /** The unit that each made thing counts as, where the price is per thing. */
  readonly unit?: string;
}

export interface UnitContext {
  readonly upstreamModel: string;
  readonly servedSlug: string;
  readonly spec: UnitSpec;
  /** The answer's id, where the wire has one. */
  readonly completionId: string;
  /** Seconds since the epoch. */
  readonly createdS: number;
}

/** A whole answer in the caller's wire, with what it used; null counts: the vendor has not said. */
export type UnitAnswer =
  | {
      readonly body: Json;
      readonly counts: Counts | null;
      /** The text of the answer, for a token count where no usage came. */
      readonly text?: string;
    }
  | AttemptFailure;

/** What one vendor event yields: bytes for the caller, counts, or a failure. */
export type UnitEvent =
  | {
      readonly kind: "content" | "preamble" | "finish";
      readonly bytes: Buffer;
      readonly counts?: Counts;
      /** Text that was delivered with it, for a count where no usage comes. */
      readonly text?: string;
      /** Of a finish: it has the content itself, or an answer may be empty. */
      readonly bears?: true;
      /** Of several answers in one stream, which. */
      readonly choice?: number;
    }
  | { readonly kind: "usage"; readonly counts: Counts }
  | { readonly failed: AttemptFailure };

export interface UnitDialect {
  request(asked: UnitAsked, context: UnitContext): UpstreamBody;
  /** A good answer, without an error in it. */
  answer(json: Json, asked: UnitAsked, context: UnitContext): UnitAnswer;
  /** Null: the event says nothing. Without it, the wire has no events. */
  event?(json: Json, asked: UnitAsked, context: UnitContext): UnitEvent | null;
  /** The counts in a body or an event, even of a failed answer; null: none there. Absent: this format never has any. */
  told?(json: Json, asked: UnitAsked, context: UnitContext): Counts | null;
  /** Absent: errors have the shape that most vendors share. */
  error?(body: unknown): VendorError;
  /** Without events, an answer is plain bytes. */
  readonly passesBytes?: true;
}

/** The failure of an answer that lacks what was requested. */
export function malformed(message: string): AttemptFailure {
  return { kind: "provider_malformed", status: 200, message, retryAfterMs: null };
}

/** A form's fields as texts; a list is sent once for each of its values. */
export function formFields(body: Json): readonly (readonly [name: string, value: string])[] {
  const text = (value: unknown) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  return Object.entries(body).flatMap(([name, value]) => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value.map((one) => [`${name}[]`, String(one)] as const);
    return [[name, text(value)] as const];
  });
}

/** One server-sent event of the caller's wire. */
export function eventBytes(json: Json, name?: string): Buffer {
  return Buffer.from(`${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(json)}\n\n`);
}
