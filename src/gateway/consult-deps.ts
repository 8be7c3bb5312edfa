// What core/consult needs of the catalog: which actions match a query, whether an action accepts given params, and its cost.

import type { Choice, ConsultDeps } from "../actions/composites/consult.ts";
import { quoteCents } from "../actions/run/action-price.ts";
import { descriptorOf, rowDescriptor } from "../actions/run/descriptor.ts";
import { requiredParams, tableOf } from "../actions/run/params-schema.ts";
import { readParams } from "../actions/run/read-call.ts";
import type { JsonObject } from "../catalog/said.ts";
import { GatewayError } from "../core/errors.ts";
import { centsUp, nanoFromCents } from "../core/money.ts";
import type { Payer } from "../core/plan.ts";
import type { Records } from "../platform/records/records.ts";
import type { Discovered, OpenActions } from "./open-actions.ts";

/** Never suggested: a caller who asks which action to call does not want another one that asks. */
const OWN = new Set(["core/consult", "core/discover", "core/result", "core/cancel", "core/supersearch"]);
/** Searches this multiple of the wanted number, since some results cannot be called. */
const LOOKED_THROUGH = 5;

function choiceOf({ action, row, covered }: Discovered): Choice | null {
  const descriptor = row === null ? descriptorOf(action) : rowDescriptor(action, row);
  if (descriptor === null) return null;
  const { service, action: name, endpoint, description, params } = descriptor;
  const table = tableOf(action);
  const fixed = row === null || table === null ? {} : { [table.param]: row };
  const schema = params as JsonObject;
  return {
    service,
    action: name,
    endpoint,
    description,
    schema,
    required: requiredParams(params),
    fixed,
    fit: Math.round(covered * 100) / 100,
  };
}

export function consultDeps(records: Records, actions: () => OpenActions): ConsultDeps {
  return {
    records,
    async find(words, countMax, payer) {
      const found = await actions().discovered(payer, words, countMax * LOOKED_THROUGH);
      return found
        .filter(({ action }) => action.configured && !OWN.has(action.id))
        .flatMap((one) => choiceOf(one) ?? [])
        .slice(0, countMax);
    },
    check({ service, action: name }, params, payer: Payer) {
      const action = actions().actionCatalog.find(`${service}/${name}`, payer);
      if (action === null) return "there is no such action";
      const read = readParams(action, params);
      if (read instanceof GatewayError) return read.message;
      return centsUp(nanoFromCents(quoteCents(action.facts.price, read.params, read.row)));
    },
  };
}
