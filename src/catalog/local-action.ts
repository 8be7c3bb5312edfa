// An action that the gateway serves itself: a function with the same price, hold and envelope as a vendor's action.

import type { GatewayError } from "../core/errors.ts";
import type { FailureKind } from "../core/failures.ts";
import { jobIdOf } from "../core/ids.ts";
import type { Nano } from "../core/money.ts";
import type { Allowed, KeptHoldSpec, Payer } from "../core/plan.ts";
import type { ActionFacts } from "./action.ts";
import type { Json, JsonObject, Params } from "./said.ts";

export interface WantedCall {
  readonly action: string;
  readonly params: JsonObject;
  /** The time limit in milliseconds. Default: the action's own. */
  readonly msMax?: number;
}

/** A model call by one of our functions: a fixed task with a short answer in a verifiable form. */
export interface WantedChat {
  /** A tier or a model, such as `core/cheap`. */
  readonly model: string;
  readonly task: string;
  /** The task's input. The model is told to treat all text in it as data, not instructions. */
  readonly given: Json;
  /** JSON Schema of the answer. */
  readonly schema: JsonObject;
  readonly outputTokensMax: number;
  readonly msMax: number;
}

/** A model's answer: unchecked JSON. */
export type ChatAnswer =
  | { readonly ok: true; readonly id: string; readonly model: string; readonly json: unknown; readonly ms: number }
  | { readonly ok: false; readonly id: string; readonly error: GatewayError; readonly ms: number };

export interface WantedSpeech {
  readonly model: string;
  readonly text: string;
  readonly voice: string;
  readonly msMax: number;
}

/** An audio file of the requested type, as bytes. */
export type SpeechAnswer =
  | { readonly ok: true; readonly id: string; readonly bytes: Buffer; readonly ms: number }
  | { readonly ok: false; readonly id: string; readonly error: GatewayError; readonly ms: number };

/** Model calls within a call; paid, cancelled and counted like action calls. They never reject. */
export interface InnerModels {
  chat(wanted: WantedChat): Promise<ChatAnswer>;
  speak(wanted: WantedSpeech): Promise<SpeechAnswer>;
}

/** The result of an inner call. Its id is that of its leg, and can be cited before the outer call has ended. */
export type InnerAnswer =
  | {
      readonly ok: true;
      readonly id: string;
      readonly action: string;
      readonly provider: string;
      readonly data: unknown;
      /** The vendor found nothing. */
      readonly isMiss: boolean;
      readonly ms: number;
    }
  | { readonly ok: false; readonly id: string; readonly error: GatewayError; readonly ms: number };

/** Our own work within a call, such as fetching a page: it is a leg like any call, but no vendor charges for it. */
export interface OwnWork<T> {
  /** Its name among the legs, in the form of an action name. */
  readonly name: string;
  /** The cost that it counts as, whatever the result; default: that of a fetch. */
  readonly countsNano?: Nano;
  run(): Promise<T>;
  /** The outcome that the leg records: answered, or the failure; `not_made` records no leg. */
  outcome(done: T): "answered" | "not_made" | FailureKind;
}

export interface OwnDone<T> {
  /** The id of its leg; null if there is none. */
  readonly id: string | null;
  readonly done: T;
}

/** Action calls within a call: paid from the outer call's budget and cancelled with it. They never reject. */
export interface InnerCalls {
  call(wanted: WantedCall): Promise<InnerAnswer>;
  /** Makes the calls concurrently, returns the first success and cancels the others. For reads only. */
  race(wanted: readonly WantedCall[]): Promise<InnerAnswer>;
  /** Rejects if the work does. */
  own<T>(work: OwnWork<T>): Promise<OwnDone<T>>;
}

/** What a local action gets besides its params. */
export interface LocalCall extends InnerCalls, InnerModels {
  readonly id: string;
  readonly payer: Payer;
  /** What the call's key may use. */
  readonly allows: Allowed;
  /** The caller's maximum, which is also the hold. */
  readonly quoteNano: Nano;
  /** Aborted when the answer is no longer needed. */
  readonly signal: AbortSignal;
  /** The remaining budget of the inner calls. */
  readonly spend: { readonly limitNano: Nano; readonly spentNano: Nano; readonly freeNano: Nano };
  /** The fault that a sandbox account wants its stand-ins to simulate. */
  readonly sandboxFault: string | null;
}

/** An answer that is too long to buffer: its JSON in parts, produced as fast as the caller reads them. */
export class JsonInParts {
  readonly parts: AsyncIterable<Uint8Array>;

  constructor(parts: AsyncIterable<Uint8Array>) {
    this.parts = parts;
  }
}

/** An answer for which we paid a merchant, or that found nothing: the price decides what is charged (`paid`, `freeOnMiss`). */
export class PaidAnswer {
  readonly data: unknown;
  readonly paidNano: Nano;
  readonly isMiss: boolean;

  constructor(data: unknown, { paidNano, isMiss }: { readonly paidNano: Nano; readonly isMiss: boolean }) {
    this.data = data;
    this.paidNano = paidNano;
    this.isMiss = isMiss;
  }
}

export interface ToldEvent {
  readonly event: string;
  /** A line of JSON. */
  readonly json: string;
}

/** Null: no event; send the caller a keep-alive. */
export type ToldEvents = AsyncIterable<ToldEvent | null>;

export interface LaunchSpec<P = Params> {
  readonly job: string;
  /** How many jobs one account may run concurrently. */
  readonly inFlightMax: number;
  /** The job's initial input. Default: the params. */
  start?(params: P, maxCostNano: Nano | null): unknown;
  /** What happens to its hold if no runner continues it. Default `void`. */
  readonly onExpire?: KeptHoldSpec["onExpire"];
  /** May continue with further holds after the first. */
  readonly chained?: true;
}

export interface LocalAction<P = Params> extends ActionFacts<P> {
  readonly service: string;
  readonly action: string;
  /** The maximum cost of its inner calls to us, in cents, as a lower bound for a flat price. Default 0: it makes none. */
  upstreamCentsMax?(params: P): number;
  /** Its calls launch a job that outlives them and may spend the quote; `run` only answers the launch. */
  readonly launches?: LaunchSpec<P>;
  /** Every key may call it, whatever services the key's list allows. */
  readonly anyKey?: true;
  /** The provider to report. Default: ourselves. */
  readonly provider?: string;
  /** Actions of which at least one must be available; null if none. Called per audience when the catalog is replaced. Default: null. */
  needs?(audience: { readonly sandbox: boolean }): readonly string[] | null;
  /** Its total time limit in milliseconds. Default 120,000. */
  readonly msMax?: number;
  /** Its JSON may have hundreds of kilobytes and is written in slices. It must consist of plain values. */
  readonly mayBeLong?: true;
  /** Returns the envelope's `data` as a value, as JSON in parts, or with the amount paid for it; or an error, which is not charged. */
  run(params: P, call: LocalCall): unknown | GatewayError | Promise<unknown | GatewayError>;
  /** Like `run`, for a caller that requests events: yields them until the work or the call's signal ends. Absent: a normal answer. */
  events?(params: P, call: LocalCall): ToldEvents | GatewayError | Promise<ToldEvents | GatewayError>;
  readonly example: { readonly params: JsonObject };
}

export function launched({ id }: LocalCall) {
  return { job_id: jobIdOf(id), status: "queued", async: true } as const;
}

/** Types a local action's params; the types are erased outside its file. */
export function localAction<P>(spec: LocalAction<P>): LocalAction {
  return spec as unknown as LocalAction;
}
