// The free endpoints that describe actions: the index of all, and one action's descriptor. Their bytes are made once.
import { BY_KEY, seenBy } from "../../catalog/catalog.ts";
import { goneError, isGone } from "../../catalog/retirement.ts";
import type { Answer, Call, Endpoint, GatewayRequest } from "../../core/endpoint.ts";
import { getOrMake } from "../../core/maps.ts";
import type { Allowed } from "../../core/plan.ts";
import { eachOf, inSlices, jsonOf, type Steps } from "../../core/slices.ts";
import { callErrors } from "../../models/formats/envelope/errors.ts";
import type { CatalogAction } from "./action-catalog.ts";
import { descriptorOf, indexRow, rowDescriptor, statusOf } from "./descriptor.ts";
import { noSuchAction, notFound } from "./nearest.ts";
import { type DailyCatalog, keptToday, oncePerDay } from "./once-per-day.ts";
import { type TableOf, tableOf } from "./params-schema.ts";
import { answerWith, envelopeOf, type ReadyAnswer, readyAnswer, readyEnvelope } from "./ready-answer.ts";
import { nameIn } from "./table-params.ts";

/** The cached answers for one action: its own descriptor, and those of requested table rows. */
interface Described {
  readonly whole: ReadyAnswer;
  readonly rows: Map<string, ReadyAnswer>;
}

/** The answer for one row, by any accepted name. Cached under its full name, so that there are no more entries than rows. */
function rowAnswer(action: CatalogAction, { rows }: Described, asked: string, table: TableOf) {
  const name = nameIn(table.rows, asked) ?? asked;
  const known = rows.get(name);
  if (known !== undefined) return known;
  const descriptor = rowDescriptor(action, name);
  if (descriptor === null)
    throw notFound(`${action.id} has no ${table.param} ${asked.slice(0, 120)}`, asked, Object.keys(table.rows));
  const made = readyEnvelope(descriptor, BY_KEY);
  rows.set(name, made);
  return made;
}

function descriptorEndpoint(parts: DailyCatalog): Endpoint {
  const described = new WeakMap<CatalogAction, Described>();

  function answer(
    action: CatalogAction,
    request: GatewayRequest,
    allows: Allowed | undefined,
  ): Answer | Promise<Answer> {
    const table = tableOf(action);
    const name = table === null ? null : request.query.get(table.param);
    const status = statusOf(action, allows);
    if (status === "not_allowed") {
      const descriptor = name === null ? descriptorOf(action) : (rowDescriptor(action, name) ?? descriptorOf(action));
      return { status: 200, body: envelopeOf({ ...descriptor, status }), headers: BY_KEY };
    }
    const known = getOrMake(described, action, () => {
      return { whole: readyEnvelope(descriptorOf(action), BY_KEY), rows: new Map() };
    });
    if (request.query.size === 0) return answerWith(known.whole, request);
    const ready = table === null || name === null ? known.whole : rowAnswer(action, known, name, table);
    return answerWith(ready, request);
  }

  return {
    ...open("/api/run/{service}/{action}"),
    answer({ request, caller }: Call) {
      const { service = "", action: name = "" } = request.params;
      const id = `${service}/${name}`;
      const audience = seenBy(caller);
      const action = parts.actionCatalog.find(id, audience);
      if (action === null) throw noSuchAction(id, parts.actionCatalog, audience);
      const { retires } = action.facts;
      if (retires !== undefined && isGone(retires, parts.clock.epochMs())) throw goneError(retires);
      return answer(action, request, caller?.allows);
    },
  };
}

function* indexJson(actions: readonly CatalogAction[], allows?: Allowed): Steps<string> {
  return yield* jsonOf(envelopeOf(yield* eachOf(actions, (action) => indexRow(action, allows))));
}

function open(path: string) {
  return { method: "GET", path, auth: "none", bodyBytesMax: 0, errors: callErrors } as const;
}

/** `GET /api/run` and `GET /api/run/{service}/{action}`. */
export function findEndpoints(parts: DailyCatalog): readonly Endpoint[] {
  const index = oncePerDay(parts, function* (actions) {
    return readyAnswer(yield* indexJson(actions), "application/json", BY_KEY);
  });
  const actionsOf = keptToday(parts, (actions) => actions);
  return [
    {
      ...open("/api/run"),
      async answer({ request, caller }) {
        if (caller === null || caller.allows.services === null) return answerWith(await index(seenBy(caller)), request);
        return { status: 200, body: await inSlices(indexJson(actionsOf(caller), caller.allows)), headers: BY_KEY };
      },
    },
    descriptorEndpoint(parts),
  ];
}
