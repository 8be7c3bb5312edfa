// The interface of a vendor's format for models sold by units: writes requests, and reads answers and counts.
import type { UnitSpec } from "../../catalog/unit-price.ts";
import type { Json } from "../../core/json.ts";
import type { AttemptFailure, Counts } from "../../core/route.ts";
import type { UploadedFile } from "../../platform/uploads/form-body.ts";
import type { UpstreamBody, VendorError } from "../format-kit/dialect.ts";

/** A caller's request, in the caller's format. */
export interface UnitAsked {
  /** The task of a model with several, such as `edit` or `translate`; else the endpoint's only task. */
  readonly task: string;
  readonly body: Json;
  readonly files: readonly UploadedFile[];
  readonly stream: boolean;
  /** The unit of each produced item, if the price is per item. */
  readonly unit?: string;
}

export interface UnitContext {
  readonly upstreamModel: string;
  readonly servedSlug: string;
  readonly spec: UnitSpec;
  /** The answer's id, if the wire has one. */
  readonly completionId: string;
  readonly createdS: number;
}

/** A whole answer in the caller's wire, with its usage; null counts: the vendor reported none. */
export type UnitAnswer =
  | {
      readonly body: Json;
      readonly counts: Counts | null;
      /** The answer's text, for counting tokens if no usage came. */
      readonly text?: string;
    }
  | AttemptFailure;

/** What one vendor event yields: bytes for the caller, counts, or a failure. */
export type UnitEvent =
  | {
      readonly kind: "content" | "preamble" | "finish";
      readonly bytes: Buffer;
      readonly counts?: Counts;
      /** The text delivered with it, for counting tokens if no usage comes. */
      readonly text?: string;
      /** Set on a finish: it carries the content itself, or empty answers are valid. */
      readonly bears?: true;
      /** The index of the answer, in a stream of several. */
      readonly choice?: number;
    }
  | { readonly kind: "usage"; readonly counts: Counts }
  | { readonly failed: AttemptFailure };

export interface UnitDialect {
  request(asked: UnitAsked, context: UnitContext): UpstreamBody;
  /** Reads a good answer without an error in it. */
  answer(json: Json, asked: UnitAsked, context: UnitContext): UnitAnswer;
  /** Null if the event carries nothing; a list if it may carry several answers. Absent: the wire has no events. */
  event?(json: Json, asked: UnitAsked, context: UnitContext): UnitEvent | readonly UnitEvent[] | null;
  /** The counts in a body or event, even of a failed answer; null if there are none. Absent: the format never has any. */
  told?(json: Json, asked: UnitAsked, context: UnitContext): Counts | null;
  /** Absent: errors have the common shape. */
  error?(body: unknown): VendorError;
  /** Without events, an answer is plain bytes. */
  readonly passesBytes?: true;
}

/** A form's fields as texts; a list becomes one field per value. */
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
