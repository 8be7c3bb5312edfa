// The settings of a session over time: the client's updates, what the vendor confirmed, and the transcription that they turn on.
import type { SoldUnitModel } from "../../catalog/catalog.ts";
import { findUnitModel } from "../../catalog/find-model.ts";
import type { SessionClient } from "../../core/endpoint.ts";
import { refusalIn } from "../../core/errors.ts";
import { isRecord, type Json, stringOf } from "../../core/json.ts";
import type { Ended } from "../../core/plan.ts";
import type { AttemptFailure } from "../../core/route.ts";
import { requireModels } from "../../money/accounts/allowed.ts";
import { atPointer } from "../../upstream/json-pointer.ts";
import { invalid } from "../formats/parse-json.ts";
import { type Context, settingsBytes } from "./context.ts";
import type { RealtimeDeps, Sold } from "./deps.ts";
import type { SoldBy } from "./plans.ts";
import {
  confirmed,
  DEFAULT_SETTINGS,
  readUpdate,
  type Settings,
  shown,
  type Unconfirmed,
  unconfirmedIn,
  withInput,
  withUnconfirmed,
} from "./settings.ts";
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
  readonly asked: Unconfirmed;
  /** The transcription before it, and the one that it begins; `stops`: it turns it off. */
  readonly before: Transcription | null;
  readonly begun: Transcription | null;
  readonly stops: boolean;
}

export interface UpdatesParts {
  readonly context: Context;
  readonly client: SessionClient;
  readonly sold: Sold;
  readonly deps: Pick<RealtimeDeps, "catalog" | "clock" | "openMsMax">;
  newEventId(): string;
  pay: SessionClient["pay"];
  tell(event: Json): void;
  ended(ended: Ended): void;
}

export class Updates {
  transcription: Transcription | null = null;
  /** With those that were replaced or turned off, and still wait for the vendor's counts. */
  readonly #transcriptions = new Set<Transcription>();
  /** Sound in the vendor's buffer, transcribed or not. */
  #openSeconds = 0;
  #confirmed: Settings = DEFAULT_SETTINGS;
  readonly #parts: UpdatesParts;
  readonly #waiting: Update[] = [];
  #by: SoldBy | null = null;

  constructor(parts: UpdatesParts) {
    this.#parts = parts;
  }

  /** What holds are computed from. */
  get settings(): Settings {
    return this.#waiting.reduce((before, { asked }) => withUnconfirmed(before, asked), this.#confirmed);
  }

  get areTooMany(): boolean {
    return this.#waiting.length >= WAITING_MAX;
  }

  begin(by: SoldBy): void {
    this.#by = by;
    this.#waiting.length = 0;
  }

  /**
   * The vendor's first event. It must leave the requests for responses to us before the client sees the session: returns whether an update
   * now waits for its confirmation.
   */
  created(session: Json): boolean {
    this.#confirmed = confirmed(session, true, this.#confirmed);
    this.#parts.context.add({ textBytes: settingsBytes(session) });
    const asked = this.#parts.client.grant?.session ?? {};
    const turns = atPointer(session, "/audio/input/turn_detection");
    const isOpen = isRecord(turns) && atPointer(asked, "/audio/input/turn_detection") === undefined;
    const own = isOpen ? withInput(asked, "turn_detection", turns) : asked;
    if (Object.keys(own).length === 0) return false;
    this.send(own, { clientEventId: null, isOurs: true });
    return true;
  }

  /** Passes an update on. Throws where it is not valid. */
  send(sent: unknown, { clientEventId, isOurs }: Pick<Update, "clientEventId" | "isOurs">): void {
    const by = this.#by;
    if (by === null) return;
    const { sold, context, tell, newEventId } = this.#parts;
    const { upstreamModel } = by.offer;
    const names: readonly unknown[] = [by.model.slug, sold.name, sold.asked, upstreamModel];
    const isModel = (name: unknown) => names.includes(name);
    const { session, answersTurns, transcription } = readUpdate(sent, { isModel, upstreamModel });
    const { transcription: before } = this;
    const named = transcription == null ? session : this.#transcribe(session, transcription, by);
    const begun = transcription == null ? null : this.transcription;
    context.add({ textBytes: settingsBytes(session) });
    const eventId = newEventId();
    const change = { asked: unconfirmedIn(session), before, begun, stops: transcription === null };
    this.#waiting.push({ eventId, clientEventId, isOurs, answersTurns, ...change });
    tell({ type: "session.update", event_id: eventId, session: named });
  }

  /** The vendor has confirmed the oldest update. */
  confirmed(session: Json): Update | null {
    const update = this.#waiting.shift() ?? null;
    this.#confirmed = confirmed(session, update?.answersTurns ?? this.#confirmed.answersTurns, this.#confirmed);
    if (update?.stops === true && this.transcription === update.before) {
      this.#close(this.transcription);
      this.transcription = null;
    }
    return update;
  }

  /** The vendor has refused the update with this id of ours; null: it is none. */
  refused(eventId: string): Update | null {
    const at = this.#waiting.findIndex((one) => one.eventId === eventId);
    const [update] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (update === undefined) return null;
    // The vendor transcribes as before.
    if (update.begun !== null && this.transcription === update.begun) {
      this.#close(update.begun);
      this.transcription = update.before;
      if (update.before !== null) this.#transcriptions.add(update.before.reopened(this.#openSeconds));
    }
    return update;
  }

  shown(session: Json): Json {
    return shown(session, this.#by?.model.slug ?? "", this.#confirmed.answersTurns);
  }

  /** Sound is about to be sent; a promise where its transcription must be held first. */
  appended(seconds: number): Promise<Ended | null> | null {
    this.#openSeconds += seconds;
    return this.transcription?.appended(seconds) ?? null;
  }

  /** The client is about to commit. The sound may be older than the transcription that it gets. */
  commits(): Promise<Ended | null> | null {
    const holding = this.#openSeconds === 0 ? null : this.appended(0);
    this.#openSeconds = 0;
    this.transcription?.commits();
    return holding;
  }

  committed(itemId: string, isOfClient: boolean): void {
    if (!isOfClient) this.#openSeconds = 0;
    this.#committing(isOfClient)?.committed(itemId);
  }

  notCommitted(): void {
    this.#committing(true)?.notCommitted();
  }

  cleared(): void {
    this.#openSeconds = 0;
    this.transcription?.cleared();
  }

  /** Whose sound the vendor's oldest commit is. */
  #committing(isOfClient: boolean): Transcription | null {
    const sent = isOfClient ? [...this.#transcriptions].find(({ hasCommits }) => hasCommits) : undefined;
    return sent ?? this.transcription;
  }

  /** The vendor has transcribed an item, or failed to. */
  transcribed(itemId: string, usage: unknown): void {
    for (const one of this.#transcriptions) {
      one.completed(itemId, usage);
      if (one.isDone) this.#transcriptions.delete(one);
    }
  }

  failed(failure: AttemptFailure): void {
    for (const one of this.#transcriptions) one.failed(failure);
  }

  stop(): void {
    for (const one of this.#transcriptions) one.stop();
    this.#transcriptions.clear();
    this.transcription = null;
  }

  #close(transcription: Transcription | null): void {
    transcription?.close();
    if (transcription?.isDone === true) this.#transcriptions.delete(transcription);
  }

  /** Transcription uses another model, which the session's vendor must sell here. */
  #transcribe(session: Json, transcription: Json, { offer }: SoldBy): Json {
    const { deps, client, sold, pay, ended } = this.#parts;
    const model = this.#transcriptionModel(String(transcription.model));
    requireModels(client.caller.allows, [{ name: model.slug, param: TRANSCRIPTION_MODEL }]);
    const own = model.offers.find(({ adapter }) => adapter.id === offer.adapter.id);
    if (own === undefined) throw invalid(TRANSCRIPTION_MODEL, `${model.slug} is not sold by the session's provider`);
    this.#close(this.transcription);
    this.transcription = new Transcription({
      model,
      offer: own,
      openSeconds: this.#openSeconds,
      promptBytes: Buffer.byteLength(stringOf(transcription.prompt) ?? ""),
      tags: sold.tags,
      msMax: deps.openMsMax,
      pay,
      ended,
    });
    this.#transcriptions.add(this.transcription);
    return withInput(session, "transcription", { ...transcription, model: own.upstreamModel });
  }

  #transcriptionModel(name: string): SoldUnitModel {
    const { deps, client } = this.#parts;
    try {
      const search = { catalog: deps.catalog(), audience: client.caller, atMs: deps.clock.epochMs() };
      return findUnitModel("transcription", name, search);
    } catch (error) {
      throw invalid(TRANSCRIPTION_MODEL, refusalIn(error).message);
    }
  }
}
