// What an action does to what its vendor keeps: which resources it needs, what it makes, shows, changes and ends.
import { randomUUID } from "node:crypto";
import type { Json } from "../catalog/action.ts";
import type {
  ResourceList,
  ResourceMade,
  ResourceUse,
  StateSpec,
  Template,
  VendorRefusal,
} from "../catalog/action-state.ts";
import { textsNamed } from "../json.ts";
import { refusalBody, type VendorWords, valueAt, withValueAt } from "./action-body.ts";
import { idsAt } from "./action-ids.ts";
import type { ActionMemory, Resource, ResourceName } from "./action-memory.ts";
import { type ActionReading, sentAs, valueSentAs } from "./action-request.ts";
import { filled, filledId, type TemplateScope } from "./action-template.ts";
import type { ActionPlace } from "./action-vendors.ts";

/** A request of an action, and the resources that it uses, by kind. */
export interface StateCall {
  readonly place: ActionPlace;
  readonly reading: ActionReading;
  readonly memory: ActionMemory;
  readonly used: ReadonlyMap<string, Resource>;
}

const NOT_FOUND: VendorRefusal = { status: 404 };
const TEXT_CHARS_MAX = 4_000;
const WORD = /[\p{L}\p{N}]{2,}/gu;

function refusalWords({ status, body }: VendorRefusal, message?: string): VendorWords {
  return { status, headers: {}, body: body ?? refusalBody(status, message), isText: false };
}

/** An id that is unique among all of its kind. */
function idWithin(within: string | undefined, id: string, scope: TemplateScope): string {
  return within === undefined ? id : JSON.stringify([filledId(within, scope) ?? "", id]);
}

/** What is kept says what things are, and is no archive of them. */
function cutShort(item: Json): Json {
  if (typeof item === "string") return item.slice(0, TEXT_CHARS_MAX);
  if (Array.isArray(item)) return item.map(cutShort);
  if (typeof item !== "object" || item === null) return item;
  return Object.fromEntries(Object.entries(item).map(([name, value]) => [name, cutShort(value)]));
}

/** What stands for a template in a call, before it has an answer. */
export function filledFor(template: string, call: StateCall): Json | undefined {
  return filled(template, scopeOf(call, null));
}

/** What a call must name: as its state says, and what its ids require. */
export function usesOf({ action }: Pick<ActionPlace, "action">): readonly ResourceUse[] {
  const said = action.state?.uses ?? [];
  const required = (action.requires ?? []).filter(({ param }) => !said.some((one) => one.param === param));
  return [...said, ...required];
}

function namedBy(
  { param, inside }: ResourceUse,
  { step, action }: ActionPlace,
  reading: ActionReading,
): Iterable<string> {
  return inside === undefined ? sentAs(param, step ?? action, reading) : textsNamed(reading.fields, inside);
}

/** The resources that the request names, or the vendor's refusal of one that is not there. */
export function usedResources(
  place: ActionPlace,
  reading: ActionReading,
  memory: ActionMemory,
): StateCall | VendorWords {
  const used = new Map<string, Resource>();
  const scope = scopeOf({ place, reading, memory, used }, null);
  for (const use of usesOf(place)) {
    for (const id of namedBy(use, place, reading)) {
      const found = memory.find({ adapter: place.adapter, kind: use.kind, id: idWithin(use.within, id, scope) });
      const message = `There is no ${id}.`;
      if (found === undefined) return refusalWords(use.unknown ?? NOT_FOUND, message);
      if (memory.hasEnded(found) && use.evenEnded !== true) {
        return refusalWords(use.ended ?? use.unknown ?? NOT_FOUND, message);
      }
      used.set(use.kind, found);
    }
  }
  return { place, reading, memory, used };
}

function scopeOf({ place, reading, memory, used }: StateCall, answer: Json, each?: Json): TemplateScope {
  const scope = {
    sent: (param: string) => valueSentAs(param, place.step ?? place.action, reading),
    answer,
    used: (kind: string) => used.get(kind)?.item,
    now: new Date(memory.epochMs()).toISOString(),
  };
  return each === undefined ? scope : { ...scope, each };
}

/** A number that came in a query is a number again where the example has one. */
function asIs(present: Json | undefined, value: Json): Json {
  const isNumber = typeof present === "number" && typeof value === "string" && Number.isFinite(Number(value));
  return isNumber ? Number(value) : value;
}

function withPuts(body: Json, puts: StateSpec["puts"], scope: TemplateScope): Json {
  return Object.entries(puts ?? {}).reduce((sum, [at, given]) => {
    const choices: readonly Template[] = Array.isArray(given) ? given : [given];
    const value = choices.map((one) => filled(one, scope)).find((one) => one !== undefined);
    return value === undefined ? sum : withValueAt(sum, at, asIs(valueAt(sum, at), value));
  }, body);
}

function parentsOf(inside: ResourceMade["in"], call: StateCall, scope: TemplateScope): readonly ResourceName[] {
  const { place, memory } = call;
  const direct = Object.entries(inside ?? {}).flatMap(([kind, template]) => {
    const id = filledId(template, scope);
    return id === undefined ? [] : [{ adapter: place.adapter, kind, id }];
  });
  return direct.flatMap((parent) => [parent, ...(memory.find(parent)?.parents ?? [])]);
}

function wordsIn(value: Json): ReadonlySet<string> {
  return new Set(JSON.stringify(value).toLowerCase().match(WORD) ?? []);
}

/** Those with most of the words first; of as many, in the order that they have. */
function byWords(items: readonly Json[], asked: Json | undefined): readonly Json[] {
  if (asked === undefined) return items;
  const words = [...wordsIn(asked)];
  const rated = items.map((item) => {
    const own = wordsIn(item);
    return { item, shared: words.filter((word) => own.has(word)).length };
  });
  return rated.sort((a, b) => b.shared - a.shared).map(({ item }) => item);
}

function oneText(
  items: readonly Json[],
  { of = "", before, between, after }: NonNullable<ResourceList["asText"]>,
): string {
  return before + items.map((item) => String(valueAt(item, of) ?? "")).join(between) + after;
}

function withList(body: Json, list: ResourceList, call: StateCall): Json {
  const scope = scopeOf(call, body);
  const { adapter } = call.place;
  const [parent] = list.in === undefined ? [null] : parentsOf(list.in, call, scope);
  if (parent === undefined) return body;
  const made = call.memory.list({ adapter, kind: list.kind, parent }).map(({ item }) => item);
  const ordered = list.oldestFirst === true ? made : made.reverse();
  const all = byWords(ordered, list.by === undefined ? undefined : scope.sent(list.by));
  const from = list.page === undefined ? 0 : Number(scope.sent(list.page.param) ?? 0) || 0;
  const limit = list.limit === undefined ? all.length : Number(scope.sent(list.limit) ?? all.length) || all.length;
  const shown = all.slice(from, from + limit);
  const at = filledId(list.at, scope) ?? list.at;
  const listed = withValueAt(body, at, list.asText === undefined ? shown : oneText(shown, list.asText));
  const counted = list.countAt === undefined ? listed : withValueAt(listed, list.countAt, shown.length);
  const hasMore = list.page !== undefined && all.length > from + limit;
  return hasMore && list.page !== undefined ? withValueAt(counted, list.page.at, String(from + limit)) : counted;
}

/** What the call makes, and under which id; undefined: the answer says none. */
function madeOf(made: ResourceMade, call: StateCall, answer: Json, earlyLooks: number): readonly Resource[] {
  const { place, memory } = call;
  const plain = scopeOf(call, answer);
  const given = typeof made.each === "string" ? plain.sent(made.each) : made.each;
  const scopes =
    made.each === undefined ? [plain] : [given ?? []].flat().map((one: Json) => scopeOf(call, answer, one));
  return scopes.flatMap((scope) => {
    const id = made.id === undefined ? randomUUID() : filledId(made.id, scope);
    if (id === undefined) return [];
    const item = cutShort(filled(made.item ?? {}, scope) ?? {});
    const seconds = made.endsAfterS === undefined ? undefined : Number(filled(made.endsAfterS, scope));
    return [
      {
        adapter: place.adapter,
        kind: made.kind,
        id: idWithin(made.within, id, scope),
        item: made.idAt === undefined ? item : withValueAt(item, made.idAt, id),
        parents: parentsOf(made.in, call, scope),
        earlyLooks,
        endsAtMs: seconds !== undefined && Number.isFinite(seconds) ? memory.epochMs() + seconds * 1_000 : null,
      },
    ];
  });
}

function allMade(call: StateCall, answer: Json, earlyLooks: number): readonly Resource[] {
  const { adapter, action } = call.place;
  const makes = action.state?.makes ?? [];
  const issued = (action.issues ?? []).filter(({ kind }) => !makes.some((one) => one.kind === kind));
  const bare = issued.flatMap(({ kind, at }) =>
    idsAt(answer, at).map((id): Resource => {
      return { adapter, kind, id: String(id), item: {}, parents: [], earlyLooks, endsAtMs: null };
    }),
  );
  return [...bare, ...makes.flatMap((one) => madeOf(one, call, answer, earlyLooks))];
}

function isDue({ place }: StateCall): boolean {
  return place.at === (place.action.state?.at ?? 0);
}

export interface StateAnswer {
  readonly words: VendorWords;
  /** The vendor does not do it. */
  readonly isRefused: boolean;
}

/** The usual answer with what the vendor keeps in it, or its refusal. */
export function withState(usual: VendorWords, call: StateCall): StateAnswer {
  const { state } = call.place.action;
  const isRefused = usual.status >= 400;
  if (state === undefined || !isDue(call) || isRefused) return { words: usual, isRefused };
  const put = withPuts(usual.body, state.puts, scopeOf(call, usual.body));
  const listed = (state.lists ?? []).reduce((body, list) => withList(body, list, call), put);
  for (const made of state.makes ?? []) {
    if (made.taken === undefined) continue;
    const isTaken = madeOf(made, call, listed, 0).some((one) => {
      const known = call.memory.find(one);
      return known !== undefined && !call.memory.hasEnded(known);
    });
    if (isTaken) return { words: refusalWords(made.taken), isRefused: true };
  }
  return { words: { ...usual, body: withEarly(listed, call) }, isRefused: false };
}

/** While work is still under way, the answer says so; each look brings it nearer to its end. */
function withEarly(body: Json, call: StateCall): Json {
  return usesOf(call.place).reduce((sum, { kind, early }) => {
    const resource = call.used.get(kind);
    if (early === undefined || resource === undefined || resource.earlyLooks === 0) return sum;
    call.memory.keep({ ...resource, earlyLooks: resource.earlyLooks - 1 });
    return withPuts(sum, early, scopeOf(call, sum));
  }, body);
}

/** Keeps what a good answer has made, changed and ended. `earlyLooks` says how often what it made will be found at work. */
export function keepState({ body }: VendorWords, call: StateCall, earlyLooks: number): void {
  const { memory, place, used } = call;
  const { state } = place.action;
  const due = state === undefined || isDue(call);
  if (!due) return;
  for (const resource of allMade(call, body, earlyLooks)) memory.keep(resource);
  for (const [kind, puts] of Object.entries(state?.sets ?? {})) {
    const resource = used.get(kind);
    if (resource !== undefined) memory.keep({ ...resource, item: withPuts(resource.item, puts, scopeOf(call, body)) });
  }
  for (const kind of state?.ends ?? []) {
    const resource = used.get(kind);
    if (resource !== undefined) memory.end(resource);
  }
}
