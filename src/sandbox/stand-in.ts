// All that a vendor's stand-in (`adapters/<id>.sandbox.ts`) may import beside `#adapter`: what it is given of a request, what the vendor
// keeps, and small functions over answers. A stand-in is plain functions; what has none answers with the adapter's example.
import type { Json, JsonObject } from "../catalog/said.ts";
import type { BoxCommand, BoxOutput } from "../catalog/session.ts";
import { refusalBody, valueAt, withValueAt } from "./action-body.ts";
import { swapsFor, withSwaps } from "./action-ids.ts";
import type { VendorPage } from "./pages.ts";

export { randomUUID } from "node:crypto";
export type { Json, JsonObject } from "../catalog/said.ts";
export { valueAt } from "./action-body.ts";
export type { VendorPage } from "./pages.ts";

/** What plays one vendor. */
export interface StandIn {
  /** By the adapter's names of its actions: those whose answers are more than their example. */
  readonly actions?: Readonly<Record<string, ActionStandIn>>;
  /** The whole of its wire for machines that go on between calls, where the adapter has `sessions`. */
  readonly sessions?: SessionStandIn;
}

/** What the vendor answers to a request that has been found to be one of the action. A refusal makes and changes nothing. */
export type ActionStandIn = (call: StandInCall) => Json | VendorRefusal;

/** An object whose fields of no value are left out. */
export type Item = Readonly<Record<string, Json | undefined>>;

/** One request of an action, and what its vendor keeps. Nothing is kept or ended before the answer has been given. */
export interface StandInCall {
  /** Which of the call's requests it is: 0 the first, then the action's steps or a script's asks. */
  readonly at: number;
  /** Below the vendor's origin, as it came, without a query. */
  readonly path: string;
  /** The time, as ISO 8601 has it. */
  readonly now: string;
  /** The answer that the adapter's example has for this request, with new ids and with the caller's own. */
  readonly answer: Json;
  /** What the example of another action of the adapter answers, as it is written there. */
  exampleOf(action: string): Json;
  /** What a param was sent as, by our name of it: a text in a path or a query, JSON in a body; undefined: it was not. */
  sent(param: string): Json | undefined;
  /** The same as text; "" where it was not sent. */
  text(param: string): string;
  /** The same as a number; undefined where it is none, or 0. */
  number(param: string): number | undefined;
  /** The objects of a param that is a list of them. */
  each(param: string): readonly JsonObject[];
  /**
   * What is kept of the thing that the request names: by the params that the adapter's `requires` has for this kind, or by `id`. One that
   * was never made, or has ended, is refused, whatever fault was asked for.
   */
  use(kind: string, how?: UseOptions): JsonObject;
  /** What is kept of a thing that has not ended; undefined: there is none. */
  find(kind: string, id: string): JsonObject | undefined;
  /** What is kept of all of a kind that have not ended, in the order in which they were made, and of those alone that are part of `owner`. */
  list(kind: string, owner?: Owner): readonly JsonObject[];
  /** Makes a thing. What the adapter's `issues` names need not be made, but where something is to be kept of it. */
  keep(kind: string, id: string, item?: Item, how?: KeepOptions): void;
  /** Puts these values into what is kept of the thing that was used. */
  change(kind: string, values: Item): void;
  /** Ends the thing that was used, and all that is part of it. */
  end(kind: string): void;
  /** Whether the thing that was used is still at work, as the fault `poll-<n>` wants it; each look brings it nearer to its end. */
  isAtWork(kind: string): boolean;
  /** What the sandbox's pages say at the addresses that a param or a list holds. */
  pages(addresses: Json | undefined): readonly VendorPage[];
}

/** A thing by its kind and its id. */
export type Owner = readonly [kind: string, id: string];

export interface UseOptions {
  readonly id?: string;
  /** How the vendor refuses one that was never made. Default: 404. */
  readonly unknown?: VendorRefusal;
  /** How it refuses one that has ended. Default: as one that was never made. */
  readonly ended?: VendorRefusal;
  /** Also one that has ended: it can still be looked at. */
  readonly evenEnded?: boolean;
}

export interface KeepOptions {
  /** What it is part of. */
  readonly owner?: Owner;
  /** It ends by itself after so many seconds. */
  readonly endsAfterS?: number | undefined;
}

/** The vendor does not do it. */
export class VendorRefusal {
  readonly status: number;
  readonly body: Json;

  constructor(status: number, body: Json) {
    this.status = status;
    this.body = body;
  }
}

/** A refusal, in the vendor's words or in the usual ones of its status. */
export function refuse(status: number, body: Json = refusalBody(status)): VendorRefusal {
  return new VendorRefusal(status, body);
}

/** A number that came in a query is a number again where the answer has one. */
function asIs(present: Json | undefined, value: Json): Json {
  const isNumber = typeof present === "number" && typeof value === "string" && Number.isFinite(Number(value));
  return isNumber ? Number(value) : value;
}

/** The answer with these values at their JSON pointers; one without a value leaves its place as it is. */
export function put(answer: Json, values: Item): Json {
  return Object.entries(values).reduce(
    (sum, [at, value]) => (value === undefined ? sum : withValueAt(sum, at, asIs(valueAt(sum, at), value))),
    answer,
  );
}

/** The answer with a new id at each of these pointers, and wherever else those ids stand in it. */
export function withNewIds(answer: Json, ...pointers: readonly string[]): Json {
  return withSwaps(answer, swapsFor([answer], pointers), pointers);
}

/** The text at a pointer of an answer; "" where there is none. */
export function textAt(answer: Json, at: string): string {
  return String(valueAt(answer, at) ?? "");
}

/** The answer whose list at `at` has its first item once for each page, with what the page puts into it; as it is without a page. */
export function eachPage(
  answer: Json,
  at: string,
  { pages, puts }: { readonly pages: readonly VendorPage[]; puts(page: VendorPage): Item },
): Json {
  const first = valueAt(answer, `${at}/0`) ?? {};
  const items = pages.map((page) => put(first, puts(page)));
  return items.length === 0 ? answer : withValueAt(answer, at, items);
}

const WORD = /[\p{L}\p{N}]{2,}/gu;

function wordsIn(value: Json): ReadonlySet<string> {
  return new Set(JSON.stringify(value).toLowerCase().match(WORD) ?? []);
}

/** Those first that have most of the words; of as many, in the order that they have. */
export function byWords(items: readonly JsonObject[], asked: string): readonly JsonObject[] {
  const words = [...wordsIn(asked)];
  const rated = items.map((item) => {
    const own = wordsIn(item);
    return { item, shared: words.filter((word) => own.has(word)).length };
  });
  return rated.sort((a, b) => b.shared - a.shared).map(({ item }) => item);
}

/** Gives a stand-in its types. */
export function defineStandIn(standIn: StandIn): StandIn {
  return standIn;
}

/** Answers a request of a vendor's sessions; what is made of it stands in `machines`. */
export type SessionStandIn = (request: StandInRequest, machines: Machines) => StandInAnswer;

/** A request of a session as it comes to the vendor's place. Key and method of showing it have been checked. */
export interface StandInRequest {
  readonly method: string;
  /** Which of the adapter's `origins` was asked; undefined: its own. */
  readonly origin: string | undefined;
  /** Below that origin, decoded, without a query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
  /** The body as JSON; undefined where it is none. */
  readonly json: unknown;
  /** The request opens a web socket, and these are the messages that were said on it until now. */
  readonly said?: readonly Uint8Array[];
}

/** Bytes go out as they are, under `content-type` of the headers; anything else as JSON; undefined is no body. */
export interface StandInAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json | Uint8Array;
  /** Of status 101, which opens a web socket: what is said, texts as texts, before it is closed. Without it more is listened to. */
  readonly messages?: readonly (string | Uint8Array)[];
}

/** A machine of the sandbox. It keeps its files, as texts by their paths. */
export interface Machine {
  readonly id: string;
  readonly name: string;
  readonly envs: Readonly<Record<string, string>>;
  readonly files: Map<string, string>;
  /** What the stand-in wants to remember of it. */
  readonly notes: JsonObject;
}

/** The machines that the sandbox keeps for one vendor. They run nothing: a few commands and one-line programs have an answer. */
export interface Machines {
  make(given: Pick<Machine, "name" | "envs" | "notes">): Machine;
  /** By id or by name; null: there is none, or it has ended. */
  find(idOrName: string): Machine | null;
  /** Those that have not ended. */
  all(): readonly Machine[];
  end(machine: Machine): void;
  run(machine: Machine, command: BoxCommand): BoxOutput;
}
