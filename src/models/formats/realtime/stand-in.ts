// The sandbox's realtime vendor: text, sound of a tone, tools, turns by silence, interruption and transcription, with a strict schema.
import { isRecord, type Json } from "../../../core/json.ts";
import type { SocketStandIn, StandInSocket } from "../../../sandbox/dialect.ts";
import { Conversation, isLoud, RATE_BYTES_PER_MS, tone } from "./conversation.ts";
import { clientEvent, DEFAULT_SESSION, merged } from "./strict-request.ts";

/** One word is spoken for this long. */
const WORD_MS = 100;
const SILENCE_MS = 200;
const WORD_SOUND = tone(WORD_MS);
/** An answer never takes longer, because it may run in the gateway's own process. */
const ANSWER_WORDS_MAX = 1_000;
const ANSWER_CHARS_MAX = 20_000;

/** What a text asks the stand-in to do. */
interface Script {
  readonly say: string;
  readonly call: { readonly name: string; readonly args: string } | null;
  /** Before each piece, in milliseconds. */
  readonly waitMs: number;
  readonly fault: string;
}

/** Pairs such as `[[say: hello]]`; the last of a name counts. */
function toldIn(text: string): ReadonlyMap<string, string> {
  const told = text
    .split("[[")
    .slice(1)
    .flatMap((piece) => {
      const [colon, end] = [piece.indexOf(":"), piece.indexOf("]]")];
      return colon < 0 || end < colon ? [] : [[piece.slice(0, colon), piece.slice(colon + 1, end).trim()] as const];
    });
  return new Map(told);
}

function scriptIn(text: string): Script {
  const told = toldIn(text);
  const [name = "", ...args] = (told.get("call") ?? "").split(" ");
  return {
    say: told.get("say") ?? "Here is my answer.",
    call: name === "" ? null : { name, args: args.join(" ") || "{}" },
    waitMs: Number(told.get("wait") ?? 0),
    fault: told.get("fault") ?? "",
  };
}

function wordsOf(said: string): readonly string[] {
  return said
    .slice(0, ANSWER_CHARS_MAX)
    .split(/(?<= )/)
    .slice(0, ANSWER_WORDS_MAX);
}

interface Running {
  readonly id: string;
  readonly itemId: string;
  readonly asked: Json;
  /** It extends the conversation. */
  readonly isDefault: boolean;
  readonly script: Script;
  readonly pieces: readonly string[];
  readonly input: Json;
  said: string[];
  timer: NodeJS.Timeout | null;
}

function callOf({ id, script }: Running) {
  return { name: script.call?.name ?? "", call_id: `call_${id}` };
}

class Vendor {
  readonly #socket: StandInSocket;
  readonly #conversation = new Conversation();
  readonly #running = new Map<string, Running>();
  #session: Json;
  #sound = Buffer.alloc(0);
  #speaks = false;
  #silentMs = 0;
  #count = 0;

  constructor(socket: StandInSocket, model: string) {
    this.#socket = socket;
    this.#session = { ...DEFAULT_SESSION, id: this.#id("sess"), model };
    this.#say("session.created", { session: this.#session });
  }

  hear(text: string): void {
    let event: unknown;
    try {
      event = JSON.parse(text);
    } catch {
      return this.#refuse(null, "The event is not JSON.");
    }
    const eventId = isRecord(event) && typeof event.event_id === "string" ? event.event_id : null;
    const read = clientEvent.safeParse(event);
    if (!read.success) {
      const [issue] = read.error.issues;
      return this.#refuse(eventId, `${issue?.path.join(".") ?? ""}: ${issue?.message ?? "is not valid"}`);
    }
    this.#do(event as Json, eventId);
  }

  end(): void {
    for (const { timer } of this.#running.values()) if (timer !== null) clearTimeout(timer);
    this.#running.clear();
  }

  #do(event: Json, eventId: string | null): void {
    switch (event.type) {
      case "session.update":
        this.#session = merged(this.#session, event.session);
        return this.#say("session.updated", { session: this.#session });
      case "conversation.item.create":
        return this.#addItem(event.item as Json);
      case "conversation.item.delete":
        return this.#say("conversation.item.deleted", { item_id: event.item_id });
      case "conversation.item.truncate":
        return this.#say("conversation.item.truncated", { ...event, event_id: undefined, type: undefined });
      case "input_audio_buffer.append":
        return this.#append(Buffer.from(String(event.audio), "base64"));
      case "input_audio_buffer.commit":
        if (this.#sound.length === 0)
          return this.#refuse(eventId, "the buffer is empty", "input_audio_buffer_commit_empty");
        return this.#commit();
      case "input_audio_buffer.clear":
        this.#sound = Buffer.alloc(0);
        return this.#say("input_audio_buffer.cleared", {});
      case "response.create":
        return this.#respond(isRecord(event.response) ? event.response : {}, eventId);
      case "response.cancel":
        return this.#cancel(event, eventId);
    }
  }

  #id(prefix: string): string {
    this.#count += 1;
    return `${prefix}_${this.#count.toString().padStart(6, "0")}`;
  }

  #say(type: string, fields: Json): void {
    this.#socket.send(JSON.stringify({ type, event_id: this.#id("event"), ...fields }));
  }

  #refuse(eventId: string | null, message: string, code = "invalid_value"): void {
    this.#say("error", { error: { type: "invalid_request_error", code, message, param: null, event_id: eventId } });
  }

  #input(): Json {
    const { audio } = this.#session;
    return isRecord(audio) && isRecord(audio.input) ? audio.input : {};
  }

  #addItem(sent: Json): void {
    const item = { id: this.#id("item"), object: "realtime.item", status: "completed", ...sent };
    this.#conversation.add(item);
    this.#say("conversation.item.added", { previous_item_id: null, item });
    this.#say("conversation.item.done", { previous_item_id: null, item });
  }

  #append(bytes: Buffer): void {
    this.#sound = Buffer.concat([this.#sound, bytes]);
    const turns = this.#input().turn_detection;
    if (!isRecord(turns)) return;
    if (isLoud(bytes)) {
      this.#silentMs = 0;
      if (this.#speaks) return;
      this.#speaks = true;
      this.#say("input_audio_buffer.speech_started", { audio_start_ms: 0, item_id: "item_next" });
      if (turns.interrupt_response !== false) this.#stopAll("turn_detected");
      return;
    }
    this.#silentMs += bytes.length / RATE_BYTES_PER_MS;
    if (!this.#speaks || this.#silentMs < SILENCE_MS) return;
    this.#speaks = false;
    this.#say("input_audio_buffer.speech_stopped", { audio_end_ms: 0, item_id: "item_next" });
    this.#commit();
    if (turns.create_response !== false) this.#respond({}, null);
  }

  #commit(): void {
    const ms = this.#sound.length / RATE_BYTES_PER_MS;
    this.#sound = Buffer.alloc(0);
    const id = this.#id("item");
    const content = [{ type: "input_audio", transcript: null }];
    this.#conversation.add({ id, type: "message", role: "user", content }, ms);
    this.#say("input_audio_buffer.committed", { previous_item_id: null, item_id: id });
    this.#say("conversation.item.added", { item: { id, type: "message", role: "user", content } });
    if (isRecord(this.#input().transcription)) this.#transcribe(id, ms);
  }

  #transcribe(item_id: string, ms: number): void {
    const { model } = this.#input().transcription as Json;
    const head = "conversation.item.input_audio_transcription";
    const audio = Math.ceil(ms / 100);
    const tokens = { type: "tokens", input_tokens: audio, output_tokens: 2, total_tokens: audio + 2 };
    const details = { input_token_details: { text_tokens: 0, audio_tokens: audio } };
    const usage = model === "whisper-1" ? { type: "duration", seconds: ms / 1000 } : { ...tokens, ...details };
    this.#say(`${head}.delta`, { item_id, content_index: 0, delta: "a tone" });
    this.#say(`${head}.completed`, { item_id, content_index: 0, transcript: "a tone", usage });
  }

  #respond(asked: Json, eventId: string | null): void {
    const isDefault = asked.conversation !== "none";
    if (isDefault && [...this.#running.values()].some((one) => one.isDefault))
      return this.#refuse(eventId, "a response is already active", "conversation_already_has_active_response");
    const text = Array.isArray(asked.input) ? JSON.stringify(asked.input) : this.#conversation.lastText;
    const script = scriptIn(`${String(asked.instructions ?? "")} ${text}`);
    const running: Running = {
      id: this.#id("resp"),
      itemId: this.#id("item"),
      asked,
      isDefault,
      script,
      pieces: script.call === null ? wordsOf(script.say) : [script.call.args],
      input: this.#conversation.read(JSON.stringify([this.#session.instructions, this.#session.tools]).length),
      said: [],
      timer: null,
    };
    this.#running.set(running.id, running);
    this.#say("response.created", { response: this.#response(running, "in_progress", null) });
    const head = { id: running.itemId, object: "realtime.item", status: "in_progress" };
    const item =
      script.call === null
        ? { ...head, type: "message", role: "assistant", content: [] }
        : { ...head, type: "function_call", ...callOf(running), arguments: "" };
    this.#say("response.output_item.added", { response_id: running.id, output_index: 0, item });
    if (script.fault === "cut") return this.#socket.cut();
    this.#go(running);
  }

  #isSound({ asked }: Running): boolean {
    const modalities = asked.output_modalities ?? this.#session.output_modalities;
    return Array.isArray(modalities) && modalities.includes("audio");
  }

  #go(running: Running): void {
    const { pieces, said, script, asked } = running;
    const piece = pieces[said.length];
    const limit = Number(asked.max_output_tokens ?? Number.POSITIVE_INFINITY);
    if (piece === undefined)
      return script.fault === "silent"
        ? undefined
        : this.#end(running, script.fault === "failed" ? "failed" : "completed");
    if (Number(this.#usage(running).output_tokens) >= limit)
      return this.#end(running, "incomplete", "max_output_tokens");
    const write = () => {
      said.push(piece);
      this.#write(running, piece);
      this.#go(running);
    };
    if (script.waitMs === 0) write();
    else running.timer = setTimeout(write, script.waitMs);
  }

  #write(running: Running, delta: string): void {
    const at = { response_id: running.id, item_id: running.itemId, output_index: 0 };
    if (running.script.call !== null) {
      const call = { ...at, ...callOf(running) };
      this.#say("response.function_call_arguments.delta", { ...call, delta });
      return this.#say("response.function_call_arguments.done", { ...call, arguments: running.script.call.args });
    }
    if (!this.#isSound(running)) return this.#say("response.output_text.delta", { ...at, content_index: 0, delta });
    this.#say("response.output_audio_transcript.delta", { ...at, content_index: 0, delta });
    this.#say("response.output_audio.delta", { ...at, content_index: 0, delta: WORD_SOUND });
  }

  #usage(running: Running): Json {
    const { said, script, input } = running;
    const text_tokens = Math.ceil(said.join("").length / 4);
    const audio_tokens = script.call === null && this.#isSound(running) ? (said.length * WORD_MS) / 50 : 0;
    const output_tokens = text_tokens + audio_tokens;
    const output_token_details = { text_tokens, audio_tokens };
    return { ...input, output_tokens, total_tokens: Number(input.input_tokens) + output_tokens, output_token_details };
  }

  #response(running: Running, status: string, details: Json | null): Json {
    const { id, itemId, asked, script, said } = running;
    const text = said.join("");
    const part = this.#isSound(running) ? { type: "output_audio", transcript: text } : { type: "output_text", text };
    const head = { id: itemId, object: "realtime.item", status: "completed" };
    const item =
      script.call === null
        ? { ...head, type: "message", role: "assistant", content: [part] }
        : { ...head, type: "function_call", ...callOf(running), arguments: script.call.args };
    return {
      object: "realtime.response",
      id,
      status,
      status_details: details,
      output: status === "in_progress" ? [] : [item],
      conversation_id: running.isDefault ? "conv_000001" : null,
      output_modalities: asked.output_modalities ?? this.#session.output_modalities,
      max_output_tokens: asked.max_output_tokens ?? "inf",
      usage: status === "in_progress" ? null : this.#usage(running),
      metadata: asked.metadata ?? null,
    };
  }

  #end(running: Running, status: string, reason?: string): void {
    if (running.timer !== null) clearTimeout(running.timer);
    this.#running.delete(running.id);
    const error = status === "failed" ? { error: { type: "server_error", code: null, message: "it broke" } } : {};
    const response = this.#response(running, status, {
      type: status,
      ...(reason === undefined ? {} : { reason }),
      ...error,
    });
    const usage = response.usage as Json;
    if (running.isDefault) this.#conversation.said(usage);
    const [item] = response.output as Json[];
    this.#say("response.output_item.done", { response_id: running.id, output_index: 0, item });
    this.#socket.counted(Number(usage.input_tokens), Number(usage.output_tokens));
    this.#say("response.done", { response });
    this.#say("rate_limits.updated", {
      rate_limits: [{ name: "tokens", limit: 1_000, remaining: 900, reset_seconds: 1 }],
    });
  }

  #stopAll(reason: string): void {
    for (const running of [...this.#running.values()]) if (running.isDefault) this.#end(running, "cancelled", reason);
  }

  #cancel({ response_id }: Json, eventId: string | null): void {
    const running =
      typeof response_id === "string"
        ? this.#running.get(response_id)
        : [...this.#running.values()].find((one) => one.isDefault);
    if (running === undefined) return this.#refuse(eventId, "no response is active", "response_cancel_not_active");
    this.#end(running, "cancelled", "client_cancelled");
  }
}

export const realtime: SocketStandIn = {
  path: /\/realtime$/,
  open(socket, model) {
    const vendor = new Vendor(socket, model);
    const message = (text: string) => {
      try {
        vendor.hear(text);
      } catch {
        // An event that nests too deep to be written must not end the process.
        socket.cut();
      }
    };
    return { message, closed: () => vendor.end() };
  },
};
