// The settings of a session over time: the client's updates, what the vendor confirmed, and the transcription that they turn on.
import { findUnitModel } from "../../catalog/find-model.ts";
import type { SessionClient } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { isRecord, type Json, stringOf } from "../../core/json.ts";
import type { Ended } from "../../core/plan.ts";
import { atPointer } from "../../upstream/json-pointer.ts";
import { invalid } from "../formats/parse-json.ts";
import { type Context, settingsBytes } from "./context.ts";
import type { RealtimeDeps, Sold } from "./deps.ts";
import type { SoldBy } from "./plans.ts";
import { confirmed, DEFAULT_SETTINGS, readUpdate, type Settings, shown, withInput } from "./settings.ts";
import { Transcription } from "./transcription.ts";

/** A client that sends more before the vendor has confirmed any floods it. */
const WAITING_MAX = 16;
const TRANSCRIPTION_MODEL = "session.audio.input.transcription.model";

/** A `session.update` that the vendor has not confirmed yet. */
export interface Update {
  readonly eventId: string;
  readonly clientEventId: string | null;
  /** The client did not send it. */
  readonly isOurs: boolean;
  readonly answersTurns: boolean | undefined;
}

export interface UpdatesParts {
  readonly context: Context;
  readonly client: SessionClient;
  readonly sold: Sold;
  readonly deps: Pick<RealtimeDeps, "catalog" | "clock" | "openMsMax">;
  newEventId(): string;
  pay: SessionClient["pay"];
  tell(event: Json): void;
  /** A part of the transcription has ended. */
  ended(ended: Ended): void;
}

export class Updates {
  settings: Settings = DEFAULT_SETTINGS;
  transcription: Transcription | null = null;
  readonly #parts: UpdatesParts;
  readonly #waiting: Update[] = [];
  #by: SoldBy | null = null;

  constructor(parts: UpdatesParts) {
    this.#parts = parts;
  }

  get areTooMany(): boolean {
    return this.#waiting.length >= WAITING_MAX;
  }

  /** Begins with another vendor. */
  begin(by: SoldBy): void {
    this.#by = by;
    this.#waiting.length = 0;
  }

  /**
   * The vendor's first event. It must leave the requests for responses to us before the client sees the session: returns whether an update
   * now waits for its confirmation.
   */
  created(session: Json): boolean | GatewayError {
    this.settings = confirmed(session, true, this.settings);
    this.#parts.context.add({ textBytes: settingsBytes(session) });
    const asked = this.#parts.client.grant?.session ?? {};
    const turns = atPointer(session, "/audio/input/turn_detection");
    const isOpen = isRecord(turns) && atPointer(asked, "/audio/input/turn_detection") === undefined;
    const own = isOpen ? withInput(asked, "turn_detection", turns) : asked;
    if (Object.keys(own).length === 0) return false;
    return this.send(own, { clientEventId: null, isOurs: true }) ?? true;
  }

  /** Checks an update and passes it on. */
  send(sent: unknown, { clientEventId, isOurs }: Pick<Update, "clientEventId" | "isOurs">): GatewayError | null {
    const by = this.#by;
    if (by === null) return null;
    const { sold, context, tell, newEventId } = this.#parts;
    const { upstreamModel } = by.offer;
    const names: readonly unknown[] = [by.model.slug, sold.name, sold.asked, upstreamModel];
    const update = readUpdate(sent, { isModel: (name) => names.includes(name), upstreamModel });
    if (update instanceof GatewayError) return update;
    const { session, answersTurns, transcription } = update;
    const named = transcription == null ? session : this.#transcribe(session, transcription, by);
    if (named instanceof GatewayError) return named;
    if (transcription === null) this.stop();
    context.add({ textBytes: settingsBytes(session) });
    const eventId = newEventId();
    this.#waiting.push({ eventId, clientEventId, isOurs, answersTurns });
    tell({ type: "session.update", event_id: eventId, session: named });
    return null;
  }

  /** The vendor has confirmed the oldest update. */
  confirmed(session: Json): Update | null {
    const update = this.#waiting.shift() ?? null;
    this.settings = confirmed(session, update?.answersTurns ?? this.settings.answersTurns, this.settings);
    return update;
  }

  /** The vendor has refused the update with this id of ours; null: it is none. */
  refused(eventId: string): Update | null {
    const at = this.#waiting.findIndex((one) => one.eventId === eventId);
    return at < 0 ? null : (this.#waiting.splice(at, 1)[0] ?? null);
  }

  /** A session as the client sees it. */
  shown(session: Json): Json {
    return shown(session, this.#by?.model.slug ?? "", this.settings.answersTurns);
  }

  stop(): void {
    this.transcription?.stop();
    this.transcription = null;
  }

  /** Transcription uses another model, which the session's vendor must sell here. */
  #transcribe(session: Json, transcription: Json, { offer }: SoldBy): Json | GatewayError {
    const { deps, client, sold, pay, ended } = this.#parts;
    const lookUp = { catalog: deps.catalog(), audience: client.caller, atMs: deps.clock.epochMs() };
    const model = findUnitModel("transcription", String(transcription.model), lookUp);
    if (model instanceof GatewayError) return invalid(TRANSCRIPTION_MODEL, model.message);
    const own = model.offers.find(({ adapter }) => adapter.id === offer.adapter.id);
    if (own === undefined) return invalid(TRANSCRIPTION_MODEL, `${model.slug} is not sold by the session's provider`);
    this.stop();
    this.transcription = new Transcription({
      model,
      offer: own,
      promptBytes: Buffer.byteLength(stringOf(transcription.prompt) ?? ""),
      tags: sold.tags,
      msMax: deps.openMsMax,
      pay,
      ended,
    });
    return withInput(session, "transcription", { ...transcription, model: own.upstreamModel });
  }
}
