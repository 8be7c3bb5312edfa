// The free answers about actions: the index of all, and the descriptor of one, their bytes made once.
import { BY_KEY, seenBy } from "../catalog/audience.ts";
import { goneError, isGone } from "../catalog/retirement.ts";
import type { Answer, Call, Endpoint, GatewayRequest } from "../endpoint.ts";
import { GatewayError } from "../errors.ts";
import { callErrors } from "../wires/envelope/errors.ts";
import type { CatalogAction } from "./action-catalog.ts";
import { descriptorOf, indexRow, rowDescriptor } from "./descriptor.ts";
import { noSuchAction, notFound } from "./nearest.ts";
import { type DailyCatalog, oncePerDay } from "./once-per-day.ts";
import { type TableOf, tableOf } from "./params-schema.ts";
import { answerWith, type ReadyAnswer, readyEnvelope } from "./ready-answer.ts";
import { nameIn } from "./table-params.ts";

/** The descriptors of one action: its own, and those of the rows of its table that were asked for. */
interface Described {
  readonly whole: ReadyAnswer;
  readonly rows: Map<string, ReadyAnswer>;
}

/** The answer about one row, by any name that a call may give it; kept by its own name, of which there are not more than rows. */
function rowAnswer(action: CatalogAction, { rows }: Described, asked: string, table: TableOf) {
  const name = nameIn(table.rows, asked) ?? asked;
  const known = rows.get(name);
  if (known !== undefined) return known;
  const descriptor = rowDescriptor(action, name);
  if (descriptor === null) {
    return notFound(`${action.id} has no ${table.param} ${asked.slice(0, 120)}`, asked, Object.keys(table.rows));
  }
  const made = readyEnvelope(descriptor, BY_KEY);
  rows.set(name, made);
  return made;
}

function descriptorEndpoint(parts: DailyCatalog): Endpoint {
  const described = new WeakMap<CatalogAction, Described>();

  function answer(action: CatalogAction, request: GatewayRequest): Answer | GatewayError | Promise<Answer> {
    let known = described.get(action);
    if (known === undefined) {
      known = { whole: readyEnvelope(descriptorOf(action), BY_KEY), rows: new Map() };
      described.set(action, known);
    }
    if (request.query.size === 0) return answerWith(known.whole, request);
    const table = tableOf(action);
    const name = table === null ? null : request.query.get(table.param);
    const ready = table === null || name === null ? known.whole : rowAnswer(action, known, name, table);
    return ready instanceof GatewayError ? ready : answerWith(ready, request);
  }

  return {
    ...open("/api/run/{service}/{action}"),
    answer({ request, caller }: Call) {
      const { service = "", action: name = "" } = request.params;
      const id = `${service}/${name}`;
      const audience = seenBy(caller);
      const action = parts.actionCatalog.find(id, audience);
      if (action === null) return noSuchAction(id, parts.actionCatalog, audience);
      const { retires } = action.facts;
      if (retires !== undefined && isGone(retires, parts.clock.epochMs())) return goneError(retires);
      return answer(action, request);
    },
  };
}

function open(path: string) {
  return { method: "GET", path, auth: "none", bodyBytesMax: 0, errors: callErrors } as const;
}

/** `GET /api/run` and `GET /api/run/{service}/{action}`. */
export function findEndpoints(parts: DailyCatalog): readonly Endpoint[] {
  const index = oncePerDay(parts, (actions) => readyEnvelope(actions.map(indexRow), BY_KEY));
  return [
    { ...open("/api/run"), answer: ({ request, caller }) => answerWith(index(seenBy(caller)), request) },
    descriptorEndpoint(parts),
  ];
}
