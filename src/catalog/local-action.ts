// An action that we serve ourselves: a function behind the same price, hold and envelope as a vendor's.

import type { GatewayError } from "../core/errors.ts";
import type { FailureKind } from "../core/failures.ts";
import { jobIdOf } from "../core/ids.ts";
import type { Nano } from "../core/money.ts";
import type { Allowed, KeptHoldSpec, Payer } from "../core/plan.ts";
import type { ActionFacts } from "./action.ts";
import type { Json, JsonObject, Params } from "./said.ts";

/** An action and its params, as a function of ours asks for it. */
export interface WantedCall {
  /** `<service>/<action>`. */
  readonly action: string;
  readonly params: JsonObject;
  /** It has no longer than this, in milliseconds. Default: as long as its action may take. */
  readonly msMax?: number;
}

/** What a function of ours asks a model: a short answer to a fixed task, in a form that can be checked. */
export interface WantedChat {
  /** A tier or a model, such as `core/cheap`. */
  readonly model: string;
  /** What it is to do, in our words. */
  readonly task: string;
  /** What it is to do it with. All words in there are told as data and are no instruction. */
  readonly given: Json;
  /** JSON Schema of the answer. */
  readonly schema: JsonObject;
  readonly outputTokensMax: number;
  readonly msMax: number;
}

/** What a model has answered: JSON that has not been checked yet. */
export type ChatAnswer =
  | { readonly ok: true; readonly id: string; readonly model: string; readonly json: unknown; readonly ms: number }
  | { readonly ok: false; readonly id: string; readonly error: GatewayError; readonly ms: number };

/** What a function of ours has said aloud. */
export interface WantedSpeech {
  /** A model that speaks. */
  readonly model: string;
  readonly text: string;
  readonly voice: string;
  readonly msMax: number;
}

/** A sound file of the kind that was asked for, as bytes. */
export type SpeechAnswer =
  | { readonly ok: true; readonly id: string; readonly bytes: Buffer; readonly ms: number }
  | { readonly ok: false; readonly id: string; readonly error: GatewayError; readonly ms: number };

/** Asks models within a call; paid, stopped and counted as calls of actions are. They never reject. */
export interface InnerModels {
  chat(wanted: WantedChat): Promise<ChatAnswer>;
  speak(wanted: WantedSpeech): Promise<SpeechAnswer>;
}

/** What came of an inner call. Its id is that of its leg, and can be cited before the outer call has ended. */
export type InnerAnswer =
  | {
      readonly ok: true;
      readonly id: string;
      /** The action that answered. */
      readonly action: string;
      readonly provider: string;
      readonly data: unknown;
      /** The vendor found nothing. */
      readonly isMiss: boolean;
      readonly ms: number;
    }
  | { readonly ok: false; readonly id: string; readonly error: GatewayError; readonly ms: number };

/** Work of our own within a call, such as a fetch of a page: a leg as any call is one, but no vendor takes anything for it. */
export interface OwnWork<T> {
  /** Its name among the legs, as actions are named. */
  readonly name: string;
  /** What it counts as its cost, whatever comes of it; absent: what a fetch counts. */
  readonly countsNano?: Nano;
  run(): Promise<T>;
  /** What the leg says: that it answered, or why not; `not_made` leaves none. */
  outcome(done: T): "answered" | "not_made" | FailureKind;
}

export interface OwnDone<T> {
  /** Of its leg; null: it was not made. */
  readonly id: string | null;
  readonly done: T;
}

/** Calls of actions within a call: paid by what the outer one may spend, stopped when it stops. They never reject. */
export interface InnerCalls {
  call(wanted: WantedCall): Promise<InnerAnswer>;
  /** The first that answers; those before it have failed. */
  ladder(wanted: readonly WantedCall[]): Promise<InnerAnswer>;
  /** Side by side: the first that answers, and the others are stopped. Reads only. */
  race(wanted: readonly WantedCall[]): Promise<InnerAnswer>;
  /** Rejects where the work does. */
  own<T>(work: OwnWork<T>): Promise<OwnDone<T>>;
}

/** What a local action is told beside its params. */
export interface LocalCall extends InnerCalls, InnerModels {
  /** Of the call itself. */
  readonly id: string;
  readonly payer: Payer;
  /** What the key of the call may call. */
  readonly allows: Allowed;
  /** The most that its caller pays for it, which is what is held. */
  readonly quoteNano: Nano;
  /** Aborted when the answer is not wanted any more. */
  readonly signal: AbortSignal;
  /** What the inner calls may still spend. */
  readonly spend: { readonly limitNano: Nano; readonly spentNano: Nano; readonly freeNano: Nano };
  /** The fault that a sandbox account asks its stand-ins for. */
  readonly sandboxFault: string | null;
}

/** An answer that is too long to be kept: its JSON, in parts that are asked for as fast as the caller takes them. */
export class JsonInParts {
  readonly parts: AsyncIterable<Uint8Array>;

  constructor(parts: AsyncIterable<Uint8Array>) {
    this.parts = parts;
  }
}

/** An answer for which a merchant was paid, or that found nothing: its price says what follows (`paid`, `freeOnMiss`). */
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

/** What a caller is told while it waits, who has asked for events. */
export interface ToldEvent {
  readonly event: string;
  /** A line of JSON. */
  readonly json: string;
}

/** Null: there is nothing to tell, and the caller is shown that it is still heard. */
export type ToldEvents = AsyncIterable<ToldEvent | null>;

/** What the calls of an action leave behind. */
export interface LaunchSpec<P = Params> {
  readonly job: string;
  /** Of one account's, at most so many run at a time. */
  readonly inFlightMax: number;
  /** What the job needs to begin. Default: the params. */
  start?(params: P, maxCostNano: Nano | null): unknown;
  /** What becomes of its hold where no runner goes on with it. Default `void`. */
  readonly onExpire?: KeptHoldSpec["onExpire"];
  /** It may go on beyond one hold. */
  readonly chained?: true;
}

export interface LocalAction<P = Params> extends ActionFacts<P> {
  readonly service: string;
  readonly action: string;
  /** The most that its inner calls may cost us, in cents, so that a flat price has a bound below it. Default 0: it makes none. */
  upstreamCentsMax?(params: P): number;
  /** Its calls launch work that outlives them, which may spend the quote: `run` only answers the launch. */
  readonly launches?: LaunchSpec<P>;
  /** Every key may call it, whatever its list of services has. */
  readonly anyKey?: true;
  /** Who is named as having served. Default: ourselves. */
  readonly provider?: string;
  /** Actions of which one must be served; null: it can do without any. Asked for each audience whenever the catalog is replaced. Default: null. */
  needs?(audience: { readonly sandbox: boolean }): readonly string[] | null;
  /** For all of it, in milliseconds. Default 120,000. */
  readonly msMax?: number;
  /** Its answer may have hundreds of kilobytes: its JSON is written in slices, and other calls go between. It is made of plain values. */
  readonly mayBeLong?: true;
  /** The `data` of the envelope, as JSON can write it, or in parts, or with what was paid for it; or what the caller is told instead, free of charge. */
  run(params: P, call: LocalCall): unknown | GatewayError | Promise<unknown | GatewayError>;
  /**
   * The same for a caller who asks for events: what happens, as it happens, until it is over. It ends when the signal of the call is
   * aborted. Absent: such a caller is answered as any other.
   */
  events?(params: P, call: LocalCall): ToldEvents | GatewayError | Promise<ToldEvents | GatewayError>;
  readonly example: { readonly params: JsonObject };
}

/** The answer of a call that has launched its job. */
export function launched({ id }: LocalCall) {
  return { job_id: jobIdOf(id), status: "queued", async: true } as const;
}

/** Gives a local action the types of its params; outside of its file they are forgotten. */
export function localAction<P>(spec: LocalAction<P>): LocalAction {
  return spec as unknown as LocalAction;
}
