// The responses of a session: each is held before it is requested, and charged by the vendor's count.
import type { SessionClient } from "../../core/endpoint.ts";
import { isRecord, type Json, stringOf } from "../../core/json.ts";
import { usdNumber } from "../../core/money.ts";
import type { Ended } from "../../core/plan.ts";
import type { AttemptFailure, Counts } from "../../core/route.ts";
import { classify } from "../../upstream/classify.ts";
import { readError } from "../../upstream/format-kit/error-body.ts";
import { atPointer } from "../../upstream/json-pointer.ts";
import { invalid } from "../formats/parse-json.ts";
import { type Added, addedBy, type Context } from "./context.ts";
import { MeteredCall } from "./metered-call.ts";
import type { Outbox } from "./outbox.ts";
import { responsePlan, type SoldBy } from "./plans.ts";
import { outputTokensIn, requireSold, type Settings } from "./settings.ts";
import { responseCounts } from "./wire.ts";

/** Sound of an answer counts 20 tokens a second; here per base64 character of 16 bits at 24 kHz. */
const SOUND_TOKENS_PER_CHAR = (20 * 0.75) / 48_000;
const TEXT_CHARS_PER_TOKEN = 4;

export interface Response {
  /** The id that our `response.create` carries. */
  readonly eventId: string;
  /** The client's own id for it; null: none. */
  readonly clientEventId: string | null;
  /** The turn ended, and the client wants an answer to each turn: it did not ask for this one. */
  readonly isOfTurn: boolean;
  /** It reads and extends the conversation. */
  readonly reads: boolean;
  readonly extends: boolean;
  /** It has its own instructions or tools instead of the session's. */
  readonly replacesPrompt: boolean;
  /** The size of the conversation at its request. */
  readonly context: Added;
  /** What it alone reads. */
  readonly more: Added;
  /** As the client asked, for what it sees. */
  readonly shownMax: unknown;
  readonly call: MeteredCall;
  /** Once the vendor has begun. */
  id: string | null;
  /** Characters of its deltas so far. */
  soundChars: number;
  textChars: number;
}

/** What a request for a response adds for it alone. */
function moreOf(asked: Json, bytesPerSecond: number): Added {
  const { input, ...rest } = asked;
  const items = Array.isArray(input) ? input : [];
  return addedBy(items, Buffer.byteLength(JSON.stringify({ ...rest, input: items })), bytesPerSecond);
}

/** What has been delivered, where the vendor never says. */
function deliveredCounts({ soundChars, textChars }: Response): Counts {
  return {
    audioOut: Math.ceil(soundChars * SOUND_TOKENS_PER_CHAR),
    textOut: Math.ceil(textChars / TEXT_CHARS_PER_TOKEN),
  };
}

/** An event about a response, with the limit that the client asked for. */
function shownResponse(event: Json, { shownMax }: Response): Json {
  return isRecord(event.response) ? { ...event, response: { ...event.response, max_output_tokens: shownMax } } : event;
}

/** Adds the charge to a response's usage, as in the other formats. */
function withCost(event: Json, ended: Ended | null): Json {
  const { response } = event;
  if (!isRecord(response) || !isRecord(response.usage) || ended?.charge == null) return event;
  const cost = usdNumber(ended.charge.chargedNano);
  return { ...event, response: { ...response, usage: { ...response.usage, cost } } };
}

const RUNNING_MAX = 8;
const OUTPUT_TOKENS_UNKNOWN = 4_096;

export interface ResponsesParts {
  readonly context: Context;
  readonly outbox: Outbox;
  readonly tags: readonly string[];
  /** How long a response may take. */
  readonly msMax: number;
  settings(): Settings;
  newEventId(): string;
  pay: SessionClient["pay"];
  tell(event: Json): void;
  ended(ended: Ended, response: Response): void;
}

type Asking = Pick<Response, "clientEventId" | "isOfTurn">;

export class Responses {
  readonly #parts: ResponsesParts;
  /** In order of their requests, until the vendor has begun. */
  readonly #asked: Response[] = [];
  readonly #running = new Set<Response>();

  constructor(parts: ResponsesParts) {
    this.#parts = parts;
  }

  get areRunning(): boolean {
    return this.#running.size > 0;
  }

  /** Holds a response and requests it. Resolves once it is requested or refused. Throws where it is not valid. */
  create(asked: Json, by: SoldBy, { clientEventId, isOfTurn }: Asking): Promise<Ended | null> {
    if (this.#running.size >= RUNNING_MAX) throw invalid("type", `at most ${RUNNING_MAX} responses run at once`);
    const limit = outputTokensIn(asked.max_output_tokens, "response.max_output_tokens");
    requireSold(asked, "response");
    const { context, tags, msMax, pay, ended } = this.#parts;
    const { spec } = by.offer;
    const { maxOutputTokens, isText, bytesPerSecond } = this.#parts.settings();
    const cap = spec.outputTokensMax ?? OUTPUT_TOKENS_UNKNOWN;
    const outputTokensMax = Math.min(limit ?? maxOutputTokens ?? cap, cap);
    const limits = {
      tokensMax: spec.inputTokensMax ?? 0,
      audioTokensPerSecond: spec.audioTokensPerSecond ?? 0,
      imageTokensMax: spec.imageInTokensMax ?? 0,
    };
    let lowered = outputTokensMax;
    const call = new MeteredCall({
      isWork: true,
      begin: () => this.#request(response, { ...asked, max_output_tokens: lowered }),
      aborted: () => this.#cancel(response.id),
      estimate: () => ({ ...context.estimate(response.more, limits), ...deliveredCounts(response) }),
    });
    const response: Response = {
      eventId: this.#parts.newEventId(),
      clientEventId,
      isOfTurn,
      reads: !Array.isArray(asked.input),
      extends: asked.conversation !== "none",
      replacesPrompt: asked.instructions !== undefined || asked.tools !== undefined,
      context: context.added,
      more: moreOf(asked, bytesPerSecond),
      shownMax: limit ?? maxOutputTokens ?? "inf",
      call,
      id: null,
      soundChars: 0,
      textChars: 0,
    };
    const modalities = asked.output_modalities;
    const plan = responsePlan({
      ...by,
      call,
      tags,
      msMax,
      input: context.bound(response.more, limits),
      isText: Array.isArray(modalities) ? !modalities.includes("audio") : isText,
      outputTokensMax,
      lowered: (tokens) => {
        lowered = tokens;
      },
    });
    this.#running.add(response);
    return call.run(
      (reader) => pay(plan, reader),
      (result) => {
        this.#running.delete(response);
        ended(result, response);
      },
    );
  }

  /** The vendor has begun. A response that the session did not request is cancelled, because it is not paid for. */
  created(event: Json, isOver: boolean): void {
    const id = stringOf(atPointer(event, "/response/id")) ?? null;
    const response = this.#asked.shift();
    if (response !== undefined) response.id = id;
    if (response === undefined || isOver) return this.#cancel(id);
    this.#parts.outbox.send(JSON.stringify(shownResponse(event, response)));
  }

  /** Counts an event that carries a part of an answer. */
  delivered(type: string, chars: number): void {
    const response = [...this.#running].findLast(({ id }) => id !== null);
    if (response === undefined) return;
    if (type.includes("output_audio.")) response.soundChars += chars;
    else response.textChars += chars;
  }

  /** The client gets the event once the response is charged. */
  done(event: Json): void {
    const id = atPointer(event, "/response/id");
    const response = [...this.#running].find((one) => one.id !== null && one.id === id);
    if (response === undefined) return;
    const { context, outbox } = this.#parts;
    const { call } = response;
    const counts = responseCounts(atPointer(event, "/response/usage"));
    const told = shownResponse(event, response);
    outbox.sendCharged(call.settled, (ended) => JSON.stringify(withCost(told, ended)));
    if (counts !== null && response.reads && response.extends) {
      context.counted(counts, response.context);
      // The next response reads the session's own again.
      if (response.replacesPrompt) context.add({ textBytes: this.#parts.settings().promptBytes });
    } else if (counts !== null && response.extends) context.produced(counts);
    if (atPointer(event, "/response/status") === "failed") call.fail(failureOf(event), counts);
    else call.finish(counts ?? call.reading().counts ?? {});
  }

  /** The vendor has refused the request with this id of ours; null: it is none of a response. */
  refused(eventId: string, failure: AttemptFailure): Response | null {
    const at = this.#asked.findIndex((one) => one.eventId === eventId);
    const [response] = at < 0 ? [] : this.#asked.splice(at, 1);
    response?.call.refuse(failure);
    return response ?? null;
  }

  failed(failure: AttemptFailure): void {
    for (const { call } of [...this.#running]) call.fail(failure);
  }

  /** The client has gone: stops them, and waits for the vendor's counts. */
  leave(): void {
    for (const { id, call } of [...this.#running]) {
      if (call.accepted()) this.#cancel(id);
      call.leave();
    }
  }

  #request(response: Response, asked: Json): void {
    this.#asked.push(response);
    this.#parts.tell({ type: "response.create", event_id: response.eventId, response: asked });
  }

  #cancel(id: string | null): void {
    this.#parts.tell({ type: "response.cancel", ...(id === null ? {} : { response_id: id }) });
  }
}

function failureOf(event: Json): AttemptFailure {
  const error = atPointer(event, "/response/status_details/error");
  return classify(500, readError({ error }), null);
}
