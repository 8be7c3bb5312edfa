// A realtime session: relays both sides' messages, and holds the money for each response before requesting it.
import type { GatewayRequest, Session, SessionClient } from "../../core/endpoint.ts";
import { GatewayError, refusalIn } from "../../core/errors.ts";
import { isRecord, type Json, stringOf } from "../../core/json.ts";
import type { AnswerReader, Ended, Plan } from "../../core/plan.ts";
import type { AttemptFailure } from "../../core/route.ts";
import { classify } from "../../upstream/classify.ts";
import { readError } from "../../upstream/format-kit/error-body.ts";
import type { VendorSocket } from "../../upstream/vendor-socket.ts";
import { invalid } from "../formats/parse-json.ts";
import { connect } from "./connect.ts";
import { addedBy, Context, secondsOf } from "./context.ts";
import type { RealtimeDeps, Sold } from "./deps.ts";
import { Outbox } from "./outbox.ts";
import type { SoldBy } from "./plans.ts";
import { type Response, Responses } from "./responses.ts";
import { Updates } from "./updates.ts";
import {
  appendedChars,
  errorEvent,
  HIDDEN,
  isShort,
  NOTHING_COMMITTED,
  PARSED,
  PASSED,
  readEvent,
  typeOf,
  vendorEvent,
} from "./wire.ts";

const NORMAL = 1000;
const GOING_AWAY = 1001;
const POLICY = 1008;
const BROKEN = 1011;
const MINUTE_MS = 60_000;
/** What may wait while a hold is placed, or the vendor connects. */
const WAITING_BYTES_MAX = 4 * 1024 * 1024;
/** What the vendor may leave unread: uWebSockets cannot stop reading from a client. */
const UNSENT_BYTES_MAX = 8 * 1024 * 1024;
const EVENT_ID_CHARS_MAX = 512;

export class RealtimeSession implements Session {
  readonly #client: SessionClient;
  readonly #deps: RealtimeDeps;
  readonly #openedMs: number;
  readonly #disconnect: () => void;
  readonly #context = new Context();
  readonly #outbox: Outbox;
  #lastMs: number;
  #timer: NodeJS.Timeout;
  #vendor: VendorSocket | null = null;
  #by: SoldBy | null = null;
  #reject: (failure: AttemptFailure) => void = () => {};
  /** The vendor's first event, until the session has our own settings. */
  #created: Json | null = null;
  #isReady = false;
  /** Holds being placed: the client's later messages wait, so that the vendor gets all in order. */
  #holding = 0;
  readonly #waiting: Buffer[] = [];
  #waitingBytes = 0;
  readonly #updates: Updates;
  readonly #responses: Responses;
  readonly #paying = new Set<Promise<unknown>>();
  #commits = 0;
  #events = 0;
  #isLeaving = false;
  #isOver = false;

  constructor(request: GatewayRequest, client: SessionClient, sold: Sold, deps: RealtimeDeps) {
    this.#client = client;
    this.#deps = deps;
    this.#outbox = new Outbox(client, () => this.#vendor);
    const parts = {
      context: this.#context,
      newEventId: () => this.#newEventId(),
      pay: (plan: Plan, reader: AnswerReader) => this.#paid(client.pay(plan, reader)),
      tell: (event: Json) => this.#vendor?.send(JSON.stringify(event)),
    };
    this.#updates = new Updates({ ...parts, client, sold, deps, ended: (ended) => this.#ended(ended, null) });
    this.#responses = new Responses({
      ...parts,
      outbox: this.#outbox,
      tags: sold.tags,
      // A client that reads slowly must not run out a response's time: it would be free.
      msMax: deps.openMsMax,
      settings: () => this.#updates.settings,
      ended: (ended, response) => this.#ended(ended, response),
    });
    this.#openedMs = deps.clock.elapsedMs();
    this.#lastMs = this.#openedMs;
    this.#timer = setTimeout(this.#look, 0);
    this.#look();
    this.#disconnect = connect({
      deps,
      models: sold.models,
      requestId: request.id,
      msMax: deps.openMsMax + MINUTE_MS,
      connected: ({ vendor, model, offer, reject }) => {
        this.#vendor = vendor;
        this.#by = { model, offer };
        this.#reject = reject;
        this.#created = null;
        this.#updates.begin(this.#by);
      },
      message: (bytes) => this.#heard(bytes),
      ended: (failure) => this.#vendorEnded(failure),
      failed: (error) => this.#end(BROKEN, errorEvent(error)),
    });
  }

  message(bytes: Buffer): void {
    if (this.#isOver) return;
    this.#lastMs = this.#deps.clock.elapsedMs();
    if (this.#isReady && this.#holding === 0 && this.#waiting.length === 0) return this.#take(bytes);
    this.#waitingBytes += bytes.length;
    if (this.#waitingBytes > WAITING_BYTES_MAX) return this.#refuse("too many messages wait");
    this.#waiting.push(Buffer.from(bytes));
  }

  drained(): void {
    this.#outbox.drained();
  }

  leave(): void {
    this.#isLeaving = true;
    if (!this.#responses.areRunning) this.#end(GOING_AWAY, null);
  }

  gone(): void {
    this.#finish();
  }

  /** One timer for the whole session: it fires, compares, and sleeps for the rest. */
  readonly #look = (): void => {
    clearTimeout(this.#timer);
    const { clock, openMsMax, idleMsMax } = this.#deps;
    const nowMs = clock.elapsedMs();
    const [openMs, idleMs] = [this.#openedMs + openMsMax - nowMs, this.#lastMs + idleMsMax - nowMs];
    if (openMs <= 0) {
      const detail = { minutes: Math.round(openMsMax / MINUTE_MS) };
      return this.#end(NORMAL, errorEvent(new GatewayError("websocket_connection_limit_reached", { detail })));
    }
    if (idleMs <= 0) return this.#end(NORMAL, null, "nothing was said for long");
    this.#timer = setTimeout(this.#look, Math.min(openMs, idleMs)).unref();
  };

  #end(code: number, event: string | null, reason = "the session has ended"): void {
    if (this.#isOver) return;
    if (event !== null) this.#client.send(event);
    this.#client.close(code, reason);
    this.#finish();
  }

  #refuse(detail: string): void {
    this.#end(POLICY, errorEvent(new GatewayError("bad_request", { detail: `The session ends: ${detail}.` })));
  }

  /** Stops what is running, and closes the vendor once that is charged. */
  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#waiting.length = 0;
    this.#updates.stop();
    this.#responses.leave();
    this.#outbox.close();
    void Promise.allSettled(this.#paying).then(() => this.#disconnect());
  }

  #newEventId(): string {
    this.#events += 1;
    return `tg_${this.#events}`;
  }

  #tellError(error: GatewayError, clientEventId: string | null = null): void {
    this.#outbox.send(errorEvent(error, clientEventId));
  }

  // From the client.

  /** Handles what has waited, in order. */
  #next(): void {
    while (this.#isReady && this.#holding === 0 && !this.#isOver) {
      const bytes = this.#waiting.shift();
      if (bytes === undefined) return;
      this.#waitingBytes -= bytes.length;
      this.#take(bytes);
    }
  }

  #take(bytes: Buffer): void {
    if ((this.#vendor?.unsentBytes ?? 0) > UNSENT_BYTES_MAX) return this.#refuse("the provider does not keep up");
    const chars = appendedChars(bytes);
    if (chars !== null) return this.#append(chars, bytes);
    let clientEventId: string | null = null;
    try {
      const event = readEvent(bytes);
      if (typeof event.event_id === "string") clientEventId = event.event_id.slice(0, EVENT_ID_CHARS_MAX);
      this.#takeEvent(event, clientEventId, bytes);
    } catch (error) {
      this.#tellError(refusalIn(error), clientEventId);
    }
  }

  #takeEvent(event: Json, clientEventId: string | null, bytes: Buffer): void {
    const { type } = event;
    if (type === "input_audio_buffer.append") {
      if (typeof event.audio !== "string") throw invalid("audio", "is missing, must be a string");
      return this.#append(event.audio.length, bytes);
    }
    if (type === "session.update") return this.#update(event.session, clientEventId);
    if (type === "response.create") {
      if (event.response != null && !isRecord(event.response)) throw invalid("response", "must be an object");
      return this.#respond(event.response ?? {}, { clientEventId, isOfTurn: false });
    }
    if (type === "conversation.item.create") {
      this.#context.add(addedBy([event.item], bytes.length, this.#updates.settings.bytesPerSecond));
    } else if (type === "input_audio_buffer.commit") {
      this.#commits += 1;
      return this.#pass(bytes, this.#updates.commits());
    } else if (type === "input_audio_buffer.clear") this.#updates.cleared();
    else if (!PASSED.has(String(type))) throw invalid("type", "is no event of this session");
    this.#vendor?.send(bytes);
  }

  #append(chars: number, bytes: Buffer): void {
    const audioSeconds = secondsOf(chars, this.#updates.settings.bytesPerSecond);
    this.#context.add({ audioSeconds });
    this.#pass(bytes, this.#updates.appended(audioSeconds));
  }

  #pass(bytes: Buffer, holding: Promise<Ended | null> | null): void {
    if (holding === null) return void this.#vendor?.send(bytes);
    const copy = Buffer.from(bytes);
    this.#hold(holding, () => this.#vendor?.send(copy));
  }

  /** The client's later messages wait until the money is held; `held` is called only if it is. */
  #hold(holding: Promise<Ended | null>, held: () => void): void {
    this.#holding += 1;
    void holding.then((ended) => {
      this.#holding -= 1;
      if (ended === null && !this.#isOver) held();
      this.#next();
    });
  }

  #update(sent: unknown, clientEventId: string | null): void {
    if (this.#updates.areTooMany) this.#refuse("too many updates of the session wait for the provider");
    else this.#updates.send(sent, { clientEventId, isOurs: false });
  }

  /** The vendor stays connected until everything is charged. */
  #paid(paying: Promise<Ended>): Promise<Ended> {
    this.#paying.add(paying);
    return paying.finally(() => this.#paying.delete(paying));
  }

  #respond(asked: Json, asking: Pick<Response, "clientEventId" | "isOfTurn">): void {
    if (this.#by === null) return;
    if (this.#isLeaving) throw new GatewayError("draining", { retryAfterSeconds: 1 });
    this.#hold(this.#responses.create(asked, this.#by, asking), () => {});
  }

  /** A paid part has ended; a refused one has not begun. */
  #ended({ outcome, error }: Ended, response: Response | null): void {
    if (this.#isOver) return;
    if (outcome === "refused" && error !== null) {
      const event = errorEvent(error, response?.clientEventId ?? null);
      if (isShort(error) || response === null) return this.#end(POLICY, event, "the money does not suffice");
      this.#outbox.send(event);
    }
    // After the client has got the response's last event.
    if (this.#isLeaving) setImmediate(() => this.leave());
  }

  // From the vendor.

  #heard(bytes: Buffer): void {
    this.#lastMs = this.#deps.clock.elapsedMs();
    const type = typeOf(bytes);
    if (type !== null && !PARSED.has(type)) {
      if (type.endsWith(".delta")) this.#responses.delivered(type, bytes.length);
      if (type !== HIDDEN && this.#isReady) this.#outbox.pass(bytes);
      return;
    }
    const event = vendorEvent(bytes);
    if (event !== null) this.#hear(event, bytes);
  }

  #hear(event: Json, bytes: Buffer): void {
    switch (event.type) {
      case "session.created":
        return this.#sessionCreated(event);
      case "session.updated":
        return this.#sessionUpdated(event);
      case "response.created":
        return this.#responses.created(event, this.#isOver);
      case "response.done":
        return this.#responses.done(event);
      case "error":
        return this.#vendorError(event);
      case HIDDEN:
        return;
      case "input_audio_buffer.committed":
        this.#outbox.pass(bytes);
        return this.#committed(String(event.item_id));
      case "conversation.item.input_audio_transcription.completed":
      case "conversation.item.input_audio_transcription.failed":
        this.#updates.transcribed(String(event.item_id), event.usage);
        return this.#outbox.pass(bytes);
      default:
        if (this.#isReady) this.#outbox.pass(bytes);
    }
  }

  #sessionCreated(event: Json): void {
    this.#created = event;
    const session = isRecord(event.session) ? event.session : {};
    try {
      if (!this.#updates.created(session)) this.#ready(session);
    } catch (error) {
      this.#end(POLICY, errorEvent(refusalIn(error)));
    }
  }

  #ready(session: Json): void {
    const event = { ...this.#created, session: this.#updates.shown(session) };
    this.#created = null;
    this.#isReady = true;
    this.#outbox.send(JSON.stringify(event));
    this.#next();
  }

  #sessionUpdated(event: Json): void {
    const session = isRecord(event.session) ? event.session : {};
    const update = this.#updates.confirmed(session);
    if (update?.isOurs === true) return this.#ready(session);
    this.#outbox.send(JSON.stringify({ ...event, session: this.#updates.shown(session) }));
  }

  /** The end of a turn. A buffer that the client commits itself is none. */
  #committed(itemId: string): void {
    this.#updates.committed(itemId, this.#commits > 0);
    if (this.#commits > 0) this.#commits -= 1;
    else if (this.#updates.settings.answersTurns && !this.#isOver && !this.#isLeaving) {
      try {
        this.#respond({}, { clientEventId: null, isOfTurn: true });
      } catch (error) {
        this.#tellError(refusalIn(error));
      }
    }
  }

  /** An answer to one of our messages, or a fault of the session. */
  #vendorError(event: Json): void {
    const error = isRecord(event.error) ? event.error : {};
    const eventId = stringOf(error.event_id) ?? null;
    const update = eventId === null ? null : this.#updates.refused(eventId);
    const failure = classify(400, readError(event), null);
    if (error.code === NOTHING_COMMITTED && this.#commits > 0) {
      this.#commits -= 1;
      this.#updates.notCommitted();
    }
    if (update?.isOurs === true || !this.#isReady) return this.#reject(failure);
    const response = eventId === null ? null : this.#responses.refused(eventId, failure);
    // The client did not request it, and another response is running.
    if (response?.isOfTurn === true) return;
    const clientEventId = response?.clientEventId ?? update?.clientEventId ?? null;
    const isOurFault = failure.kind === "provider_billing" || failure.kind === "provider_auth_failed";
    if (isOurFault) return this.#tellError(gone(failure), clientEventId);
    const told =
      eventId?.startsWith("tg_") === true ? { ...event, error: { ...error, event_id: clientEventId } } : event;
    this.#outbox.send(JSON.stringify(told));
  }

  #vendorEnded(failure: AttemptFailure): void {
    this.#responses.failed(failure);
    this.#updates.failed(failure);
    this.#end(BROKEN, errorEvent(gone(failure)), "the provider has ended the session");
  }
}

function gone({ message }: AttemptFailure): GatewayError {
  return new GatewayError("upstream_error", { detail: message });
}
