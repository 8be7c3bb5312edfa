// The only module besides `#adapter` that a vendor's stand-in (`adapters/<id>.sandbox.ts`) may import: the request, the vendor's resources,
// and helpers for answers. A stand-in is a set of plain functions; an action without one answers with the adapter's example.
import type { Json, JsonObject } from "../catalog/said.ts";
import type { BoxCommand, BoxOutput } from "../catalog/session.ts";
import { refusalBody, valueAt, withValueAt } from "./action-body.ts";
import { swapsFor, withSwaps } from "./action-ids.ts";
import type { VendorPage } from "./pages.ts";

export { randomUUID } from "node:crypto";
export type { Json, JsonObject } from "../catalog/said.ts";
export { valueAt } from "./action-body.ts";
export type { VendorPage } from "./pages.ts";

export interface StandIn {
  /** By the adapter's action names; only for actions that need more than their example. */
  readonly actions?: Readonly<Record<string, ActionStandIn>>;
  /** The whole wire for machines that run on between calls; for adapters with `sessions`. */
  readonly sessions?: SessionStandIn;
}

/** Answers a valid request of the action. A refusal makes and changes nothing. */
export type ActionStandIn = (call: StandInCall) => Json | VendorRefusal;

/** An object; fields without a value are left out. */
export type Item = Readonly<Record<string, Json | undefined>>;

/** One action request, and its vendor's resources. Changes take effect after the answer has been given. */
export interface StandInCall {
  /** The index of the request within its call: 0 for the first, then the action's steps or a script's requests. */
  readonly at: number;
  /** Relative to the vendor's origin, as received, without a query. */
  readonly path: string;
  /** The current time in ISO 8601. */
  readonly now: string;
  /** The example's answer to this request, with fresh ids and the caller's own. */
  readonly answer: Json;
  /** The example answer of another action of the adapter, unchanged. */
  exampleOf(action: string): Json;
  /** The value sent for a param, by our name: text in a path or query, JSON in a body; undefined if not sent. */
  sent(param: string): Json | undefined;
  /** The same as text; "" if not sent. */
  text(param: string): string;
  /** The same as a number; undefined if it is not a number, or 0. */
  number(param: string): number | undefined;
  each(param: string): readonly JsonObject[];
  /** The stored item that the request names, by the adapter's `requires` or `id`. Refuses one that never was or has ended. */
  use(kind: string, how?: UseOptions): JsonObject;
  /** The stored item of a thing that has not ended; undefined if there is none. */
  find(kind: string, id: string): JsonObject | undefined;
  /** The stored items of all things of a kind that have not ended, oldest first; with `owner`, only its parts. */
  list(kind: string, owner?: Owner): readonly JsonObject[];
  /** Makes a thing. Things in the adapter's `issues` are made automatically, so call this only to store an item for one. */
  keep(kind: string, id: string, item?: Item, how?: KeepOptions): void;
  change(kind: string, values: Item): void;
  end(kind: string): void;
  /** Whether the used thing is still running, as the fault `poll-<n>` demands; each call uses up one of its polls. */
  isAtWork(kind: string): boolean;
  /** The sandbox's pages at the addresses in a param or list. */
  pages(addresses: Json | undefined): readonly VendorPage[];
}

export type Owner = readonly [kind: string, id: string];

export interface UseOptions {
  readonly id?: string;
  /** The vendor's refusal of a thing that was never made. Default: 404. */
  readonly unknown?: VendorRefusal;
  /** The vendor's refusal of a thing that has ended. Default: the same as `unknown`. */
  readonly ended?: VendorRefusal;
  /** Also accepts a thing that has ended, which can still be read. */
  readonly evenEnded?: boolean;
}

export interface KeepOptions {
  readonly owner?: Owner;
  /** How long it lives, in seconds, if it ends by itself. */
  readonly endsAfterS?: number | undefined;
}

/** The vendor refuses the request. */
export class VendorRefusal {
  readonly status: number;
  readonly body: Json;

  constructor(status: number, body: Json) {
    this.status = status;
    this.body = body;
  }
}

/** Makes a refusal, in the vendor's words or in the usual ones for its status. */
export function refuse(status: number, body: Json = refusalBody(status)): VendorRefusal {
  return new VendorRefusal(status, body);
}

/** Converts a number that arrived in a query back to a number if the answer has a number there. */
function asIs(present: Json | undefined, value: Json): Json {
  const isNumber = typeof present === "number" && typeof value === "string" && Number.isFinite(Number(value));
  return isNumber ? Number(value) : value;
}

/** Sets values at JSON pointers in a copy of the answer; an undefined value leaves its place unchanged. */
export function put(answer: Json, values: Item): Json {
  return Object.entries(values).reduce(
    (sum, [at, value]) => (value === undefined ? sum : withValueAt(sum, at, asIs(valueAt(sum, at), value))),
    answer,
  );
}

/** Puts fresh ids at these pointers, and wherever else those ids occur in the answer. */
export function withNewIds(answer: Json, ...pointers: readonly string[]): Json {
  return withSwaps(answer, swapsFor([answer], pointers), pointers);
}

/** The text at a pointer of an answer; "" if there is none. */
export function textAt(answer: Json, at: string): string {
  return String(valueAt(answer, at) ?? "");
}

/** Repeats the first item of the list at `at` once per page, with the page's values; without pages the answer is unchanged. */
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

/** The job keeps the pages that this param names. */
export const launchesPages =
  (kind: string, param: string): ActionStandIn =>
  (call) => {
    call.keep(kind, textAt(call.answer, "/id"), { asked: call.sent(param) });
    return call.answer;
  };

/** A search looks at the first items alone: reading the words of all that an account keeps would hold up the gateway. */
const LOOKED_MAX = 200;

/** Sorts the first items by how many of the words they contain, most first; the sort is stable. */
export function byWords(items: readonly JsonObject[], asked: string): readonly JsonObject[] {
  const words = [...wordsIn(asked)];
  const rated = items.slice(0, LOOKED_MAX).map((item) => {
    const own = wordsIn(item);
    return { item, shared: words.filter((word) => own.has(word)).length };
  });
  return rated.sort((a, b) => b.shared - a.shared).map(({ item }) => item);
}

export function defineStandIn(standIn: StandIn): StandIn {
  return standIn;
}

/** Answers a request of a vendor's sessions; `machines` holds what it makes. */
export type SessionStandIn = (request: StandInRequest, machines: Machines) => StandInAnswer;

/** A session request in the vendor's format. Its key and how it is sent have been checked. */
export interface StandInRequest {
  readonly method: string;
  /** The name of the requested one of the adapter's `origins`; undefined: the main one. */
  readonly origin: string | undefined;
  /** Relative to that origin, decoded, without a query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Uint8Array;
  readonly json: unknown;
  /** Set if the request opens a web socket: the messages received on it so far. */
  readonly said?: readonly Uint8Array[];
}

/** Sends bytes as they are, with the headers' `content-type`; anything else as JSON; undefined: no body. */
export interface StandInAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Json | Uint8Array;
  /** For status 101, which opens a web socket: what to send before closing, strings as text. Absent: waits for more messages. */
  readonly messages?: readonly (string | Uint8Array)[];
}

/** A machine of the sandbox, with its files as texts by path. */
export interface Machine {
  readonly id: string;
  readonly name: string;
  readonly envs: Readonly<Record<string, string>>;
  readonly files: Map<string, string>;
  readonly notes: JsonObject;
}

/** The machines of one vendor. They execute nothing: only a few commands and one-line programs have answers. */
export interface Machines {
  make(given: Pick<Machine, "name" | "envs" | "notes">): Machine;
  /** By id or name; null if it does not exist or has ended. */
  find(idOrName: string): Machine | null;
  /** The machines that have not ended. */
  all(): readonly Machine[];
  end(machine: Machine): void;
  run(machine: Machine, command: BoxCommand): BoxOutput;
}
