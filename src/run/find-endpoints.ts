// The free answers about actions: the index of all, and the descriptor of one, their bytes made once.
import { GatewayError } from "../errors.ts";
import { goneError, isGone } from "../pipeline/retirement.ts";
import type { Answer, Call, Endpoint, GatewayRequest } from "../plan.ts";
import { descriptorOf, indexRow, rowDescriptor } from "./descriptor.ts";
import { onShelf, type Shelves } from "./on-shelf.ts";
import { tableOf } from "./params-schema.ts";
import { answerWith, type ReadyAnswer, readyEnvelope } from "./ready-answer.ts";
import type { Found } from "./search-index.ts";
import type { ShopAction } from "./shop.ts";

/** What anybody may see, with or without a key. */
export const EVERYBODY = { sandbox: false } as const;
const NEAREST_MAX = 3;

export interface FindParts extends Shelves {
  /** Finds the names that are nearest to one that is not known. */
  readonly search: (query: string, max: number) => readonly Found[];
}

/** The descriptors of one action: its own, and those of the rows of its table that were asked for. */
interface Described {
  readonly whole: ReadyAnswer;
  readonly rows: Map<string, ReadyAnswer>;
}

function notFound(detail: string, nearest: readonly string[]): GatewayError {
  const meant = nearest.length === 0 ? "" : ` Nearest: ${nearest.join(", ")}.`;
  return new GatewayError("not_found", { detail: { detail: `${detail}${meant}` }, data: { nearest } });
}

/** There is no such action; says which ones are near. */
export function noSuchAction(id: string, search: FindParts["search"]): GatewayError {
  const found = search(id.replaceAll("/", " "), NEAREST_MAX * 2).map(({ action }) => action.id);
  return notFound(`There is no action ${id.slice(0, 100)}.`, [...new Set(found)].slice(0, NEAREST_MAX));
}

function rowAnswer(action: ShopAction, { rows }: Described, name: string, parts: FindParts) {
  const known = rows.get(name);
  if (known !== undefined) return known;
  const descriptor = rowDescriptor(action, name);
  if (descriptor === null) {
    const found = parts.search(name, 50).filter(({ action: other, row }) => other.id === action.id && row !== null);
    const nearest = found.slice(0, NEAREST_MAX).map(({ row }) => String(row));
    return notFound(`${action.id} has no ${tableOf(action)?.param} ${name.slice(0, 100)}.`, nearest);
  }
  const made = readyEnvelope(descriptor);
  rows.set(name, made);
  return made;
}

function descriptorEndpoint(parts: FindParts): Endpoint {
  const described = new WeakMap<ShopAction, Described>();

  function answer(action: ShopAction, request: GatewayRequest): Answer | GatewayError {
    let known = described.get(action);
    if (known === undefined) {
      known = { whole: readyEnvelope(descriptorOf(action)), rows: new Map() };
      described.set(action, known);
    }
    if (request.query.size === 0) return answerWith(known.whole, request);
    const table = tableOf(action);
    const name = table === null ? null : request.query.get(table.param);
    const ready = name === null ? known.whole : rowAnswer(action, known, name, parts);
    return ready instanceof GatewayError ? ready : answerWith(ready, request);
  }

  return {
    ...open("/api/run/{service}/{action}"),
    answer({ request }: Call) {
      const { service = "", action: name = "" } = request.params;
      const id = `${service}/${name}`;
      const action = parts.shop.find(id, EVERYBODY);
      if (action === null) return noSuchAction(id, parts.search);
      const { retires } = action.facts;
      if (retires !== undefined && isGone(retires, parts.clock.epochMs())) return goneError(retires);
      return answer(action, request);
    },
  };
}

function open(path: string) {
  return { method: "GET", path, auth: "none", bodyBytesMax: 0, errors: "envelope" } as const;
}

/** `GET /api/run` and `GET /api/run/{service}/{action}`. */
export function findEndpoints(parts: FindParts): readonly Endpoint[] {
  const index = onShelf(parts, (actions) => readyEnvelope(actions.map(indexRow)));
  return [
    { ...open("/api/run"), answer: ({ request }) => answerWith(index(EVERYBODY), request) },
    descriptorEndpoint(parts),
  ];
}
