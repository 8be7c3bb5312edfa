// Collects the streamed tool calls of one choice: pieces are matched by index, otherwise by id, otherwise by order.
import { isRecord, type Json, stringOf, wordOf } from "../../core/json.ts";
import type { FinishReason, NeutralEvent } from "../../core/neutral.ts";
import { argumentsText } from "../../core/raw-json.ts";
import { WholeJson } from "../../core/whole-json.ts";
import { malformed } from "../vendor-failure.ts";
import type { ChatContext, EventOut } from "./dialect.ts";
import type { GivenIds } from "./tool-ids.ts";

/** Limits on the held-back characters and on the calls of one choice. */
const KEPT_MAX = 1024 * 1024;
const CALLS_MAX = 1_024;

/** One piece of a call as the vendor sends it. */
export interface CallPiece {
  /** The call's index or another key; absent: the vendor sends none. */
  readonly key?: unknown;
  readonly id?: unknown;
  readonly name?: unknown;
  /** A text fragment, or the whole object. */
  readonly arguments?: unknown;
  /** The whole arguments, for use if no fragments arrive. */
  readonly whole?: unknown;
}

/** Reads a call of OpenAI's chat wire. */
export function pieceOf({ index, id, function: told }: Json): CallPiece {
  const { name, arguments: args } = isRecord(told) ? told : {};
  return { key: typeof index === "number" ? index : undefined, id, name, arguments: args };
}

interface OpenCall {
  readonly at: number;
  id: unknown;
  name: string;
  begun: boolean;
  /** Arguments that arrived before the name was complete. */
  held: string;
  whole: string;
  /** How much of the choice's limit it uses. */
  kept: number;
  written: boolean;
  readonly json: WholeJson;
}

export class ToolCalls {
  readonly #context: Pick<ChatContext, "tools">;
  readonly #choice: number;
  readonly #ids: GivenIds;
  readonly #out: Pick<EventOut, "fail">;
  readonly #open = new Map<unknown, OpenCall>();
  #last: OpenCall | null = null;
  /** The call of the latest piece. */
  #current: OpenCall | null = null;
  #count = 0;
  #kept = 0;

  constructor(context: Pick<ChatContext, "tools">, choice: number, ids: GivenIds, out: Pick<EventOut, "fail">) {
    this.#context = context;
    this.#choice = choice;
    this.#ids = ids;
    this.#out = out;
  }

  /** The finish reason, corrected if the choice has calls. */
  reason(told: FinishReason): FinishReason {
    return this.#count > 0 && told === "stop" ? "tool_calls" : told;
  }

  has(key: unknown): boolean {
    return this.#open.has(key);
  }

  /** Whether the call of the latest piece has an id. If so, pieces that differ from that one only in their text belong to it too. */
  get isIdentified(): boolean {
    return wordOf(this.#current?.id) !== "";
  }

  /** `isNamed`: this vendor never splits names. */
  read(piece: CallPiece, isNamed = false): readonly NeutralEvent[] {
    const call = this.#find(piece);
    this.#current = call;
    if (wordOf(call.id) === "") call.id = piece.id;
    // Some vendors send an empty object first and the arguments in later fragments.
    const isEmpty = isRecord(piece.arguments) && Object.keys(piece.arguments).length === 0;
    const whole = isEmpty ? piece.arguments : piece.whole;
    if (whole !== undefined) call.whole = argumentsText(whole);
    const text = isEmpty ? "" : argumentsText(piece.arguments);
    if (wordOf(call.id) === "") call.json.add(text);
    if (call.begun) return this.#write(call, text);
    this.#name(call, stringOf(piece.name) ?? "");
    call.held += text;
    const begins = call.name !== "" && (isNamed || call.held !== "" || this.#isWhole(call.name));
    const events = begins ? this.#begin(call) : [];
    this.#keep(call);
    return events;
  }

  /** Ends a call. `whole` holds its arguments, for use if no fragments arrived. */
  close(key: unknown, whole?: unknown): readonly NeutralEvent[] {
    const call = this.#open.get(key);
    if (call === undefined) return [];
    this.#open.delete(key);
    this.#kept -= call.kept;
    if (whole !== undefined) call.whole = argumentsText(whole);
    return this.#settle(call);
  }

  /** Releases what was held back. More fragments may follow, because some vendors finish early. */
  settleAll(): readonly NeutralEvent[] {
    return [...this.#open.values()].flatMap((call) => this.#settle(call));
  }

  #settle(call: OpenCall): readonly NeutralEvent[] {
    const begun = call.begun ? [] : this.#begin(call);
    return call.written ? begun : [...begun, ...this.#write(call, call.whole)];
  }

  #find({ key, id, name: told, arguments: args }: CallPiece): OpenCall {
    const [word, name] = [wordOf(id), wordOf(told)];
    const named = name !== "";
    const place = key ?? (word === "" ? null : `id ${word}`);
    const known = place === null ? undefined : this.#open.get(place);
    // Some vendors give every call the same index.
    if (known !== undefined && !(named && this.#isOther(known, word, name, argumentsText(args)))) return known;
    const last = this.#last;
    if (key !== undefined || last === null) return this.#opened(place);
    // A name, or an id with a name, starts a new call unless the last call still lacks it.
    const isLasts =
      word === "" ? !named || !this.#isPast(last, name) : [word, named ? word : ""].includes(wordOf(last.id));
    return isLasts ? last : this.#opened(place);
  }

  /** Whether a named piece belongs to another call of the same index. */
  #isOther({ id, begun, name, json }: OpenCall, word: string, named: string, text: string): boolean {
    if (word !== "" && wordOf(id) !== "") return word !== wordOf(id);
    return begun && (named !== name || (json.isWhole && text.trim() !== ""));
  }

  #isPast({ name, held, whole, written }: OpenCall, next: string): boolean {
    const isNext = this.#isWhole(next) && !next.startsWith(name);
    return written || held !== "" || whole !== "" || isNext || this.#isWhole(name);
  }

  #opened(place: unknown): OpenCall {
    const at = this.#count++;
    const before = this.#open.get(place);
    if (before !== undefined) this.#open.set(`before ${at}`, before);
    const call: OpenCall = {
      at,
      id: undefined,
      name: "",
      begun: false,
      held: "",
      whole: "",
      kept: 0,
      written: false,
      json: new WholeJson(),
    };
    this.#open.set(place ?? `order ${at}`, call);
    this.#last = call;
    if (this.#count > CALLS_MAX) this.#fail();
    return call;
  }

  /** A name arrives in pieces, is repeated in each piece, or grows with each piece. */
  #name(call: OpenCall, piece: string): void {
    if (piece === call.name) return;
    call.name = piece.startsWith(call.name) && this.#isWhole(piece) ? piece : call.name + piece;
  }

  #isWhole(name: string): boolean {
    return name !== "" && (this.#context.tools?.isWhole(name) ?? true);
  }

  #begin(call: OpenCall): readonly NeutralEvent[] {
    const { at, held } = call;
    call.begun = true;
    call.held = "";
    call.written = held !== "";
    const name = this.#context.tools?.original(call.name) ?? call.name;
    return [{ kind: "tool-call", choice: this.#choice, at, id: this.#ids.give(call.id), name, arguments: held }];
  }

  #write(call: OpenCall, text: string): readonly NeutralEvent[] {
    if (text === "") return [];
    call.written = true;
    return [{ kind: "tool-arguments", choice: this.#choice, at: call.at, text }];
  }

  /** Counts what a call holds back. */
  #keep(call: OpenCall): void {
    const kept = call.held.length + call.whole.length;
    this.#kept += kept - call.kept;
    call.kept = kept;
    if (this.#kept >= KEPT_MAX) this.#fail();
  }

  #fail(): void {
    this.#out.fail(malformed("the stream leaves too much open"));
  }
}
