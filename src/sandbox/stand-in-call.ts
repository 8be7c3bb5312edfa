// One action request as its vendor's stand-in sees it: its values, the vendor's resources, and the changes to make after the answer.
import type { ActionSpec } from "../catalog/action.ts";
import type { Json, JsonObject } from "../catalog/said.ts";
import { textsNamed } from "../core/json.ts";
import { refusalBody } from "./action-body.ts";
import { idsAt } from "./action-ids.ts";
import type { ActionMemory, Resource } from "./action-memory.ts";
import { type ActionReading, sentAs, valueSentAs } from "./action-request.ts";
import type { ActionPlace, Vendors } from "./action-vendors.ts";
import { vendorPage } from "./pages.ts";
import { type Item, refuse, type StandInCall } from "./stand-in.ts";

export interface RequestOfAction {
  readonly place: ActionPlace;
  readonly reading: ActionReading;
  readonly memory: ActionMemory;
  readonly vendors: Vendors;
  readonly path: string;
  readonly answer: Json;
}

export interface OpenStandInCall {
  readonly call: StandInCall;
  /** Stores what the answer made, changed and ended. `earlyLooks`: the number of polls that still find a new resource at work. */
  commit(answer: Json, earlyLooks: number): void;
}

const TEXT_CHARS_MAX = 4_000;

/** Truncates texts in stored items, because they only need to identify things. */
function cutShort(item: Json): Json {
  if (typeof item === "string") return item.slice(0, TEXT_CHARS_MAX);
  if (Array.isArray(item)) return item.map(cutShort);
  return typeof item === "object" && item !== null ? kept(item as JsonObject) : item;
}

function kept(item: Item): JsonObject {
  const fields = Object.entries(item).flatMap(([name, value]): [string, Json][] =>
    value === undefined ? [] : [[name, cutShort(value)]],
  );
  return Object.fromEntries(fields);
}

/** The ids of a kind in the request, from the params that the adapter names for it. */
function namedIds(kind: string, { place, reading }: RequestOfAction): readonly string[] {
  const { action, step } = place;
  const required = (action.requires ?? []).filter((one) => one.kind === kind);
  return required.flatMap(({ param, inside }) =>
    inside === undefined ? sentAs(param, step ?? action, reading) : [...textsNamed(reading.fields, inside)],
  );
}

/** The resources that the adapter says a call issues, except kinds that the stand-in made itself. */
function issued({ place }: RequestOfAction, answer: Json, made: readonly Resource[]): readonly Resource[] {
  const { adapter, action } = place;
  return (action.issues ?? [])
    .filter(({ kind }) => !made.some((one) => one.kind === kind))
    .flatMap(({ kind, at }) =>
      idsAt(answer, at).map((id) => {
        return { adapter, kind, id: String(id), item: {}, parents: [], earlyLooks: 0, endsAtMs: null };
      }),
    );
}

export function openStandInCall(request: RequestOfAction): OpenStandInCall {
  const { place, reading, memory, vendors, path, answer } = request;
  const { adapter, action, step, vendor } = place;
  const used = new Map<string, Resource>();
  const made: Resource[] = [];
  const changes: (() => void)[] = [];
  const sent = (param: string) => valueSentAs(param, step ?? action, reading);
  const isVendor = (id: string) => vendors.has(id);

  const call: StandInCall = {
    at: place.at,
    path,
    now: new Date(memory.epochMs()).toISOString(),
    answer,
    exampleOf: (name) => vendor.spec.actions?.[name]?.example.answers[0] ?? null,
    sent,
    text: (param) => String(sent(param) ?? ""),
    number: (param) => Number(sent(param)) || undefined,
    each: (param) =>
      [sent(param) ?? []].flat().filter((one) => typeof one === "object" && one !== null) as JsonObject[],
    use(kind, { id: own, unknown, ended, evenEnded = false } = {}) {
      for (const id of own === undefined ? namedIds(kind, request) : [own]) {
        const found = memory.find({ adapter, kind, id });
        const usual = unknown ?? refuse(404, refusalBody(404, `There is no ${id}.`));
        if (found === undefined) throw usual;
        if (memory.hasEnded(found) && !evenEnded) throw ended ?? usual;
        used.set(kind, found);
      }
      return used.get(kind)?.item ?? {};
    },
    find(kind, id) {
      const found = memory.find({ adapter, kind, id });
      return found === undefined || memory.hasEnded(found) ? undefined : found.item;
    },
    list(kind, owner) {
      const parent = owner === undefined ? null : { adapter, kind: owner[0], id: owner[1] };
      return memory.list({ adapter, kind, parent }).map(({ item }) => item);
    },
    keep(kind, id, item = {}, { owner, endsAfterS } = {}) {
      const parent = owner === undefined ? [] : [{ adapter, kind: owner[0], id: owner[1] }];
      const parents = parent.flatMap((one) => [one, ...(memory.find(one)?.parents ?? [])]);
      const endsAtMs = endsAfterS === undefined ? null : memory.epochMs() + endsAfterS * 1_000;
      made.push({ adapter, kind, id, item: kept(item), parents, earlyLooks: 0, endsAtMs });
    },
    change(kind, values) {
      const resource = used.get(kind);
      if (resource === undefined) return;
      changes.push(() => memory.keep({ ...resource, item: { ...resource.item, ...kept(values) } }));
    },
    end(kind) {
      const resource = used.get(kind);
      if (resource !== undefined) changes.push(() => memory.end(resource));
    },
    isAtWork(kind) {
      const resource = used.get(kind);
      if (resource === undefined || resource.earlyLooks === 0) return false;
      memory.keep({ ...resource, earlyLooks: resource.earlyLooks - 1 });
      return true;
    },
    pages(addresses) {
      const by = { adapter, action: place.name, isVendor };
      return [addresses ?? []].flat().flatMap((text) => {
        const url = URL.parse(String(text));
        return url === null ? [] : [{ ...vendorPage(url, by), url: String(text) }];
      });
    },
  };
  return {
    call,
    commit(given, earlyLooks) {
      for (const one of [...issued(request, given, made), ...made]) memory.keep({ ...one, earlyLooks });
      for (const change of changes) change();
    },
  };
}

export function usualAnswer(call: StandInCall, { requires = [] }: ActionSpec): Json {
  for (const { kind } of requires) call.use(kind);
  return call.answer;
}
