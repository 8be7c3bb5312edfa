// A model that acts, wired: how its rounds are planned, and what it sees of the catalog.

import { type CatalogAction, notConfigured } from "../actions/run/action-catalog.ts";
import { quoteCents } from "../actions/run/action-price.ts";
import type { RunDeps } from "../actions/run/deps.ts";
import { indexRow, priceCentsMax } from "../actions/run/descriptor.ts";
import { noSuchAction } from "../actions/run/nearest.ts";
import { paramsSchema, tableOf } from "../actions/run/params-schema.ts";
import { readParams } from "../actions/run/read-call.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { HostedSource, HostedToolsSpec } from "../catalog/hosted-tools.ts";
import { systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { type Json, stringOf } from "../core/json.ts";
import { type Nano, nanoFromCents } from "../core/money.ts";
import type { HostedTool, Source } from "../core/neutral.ts";
import { actingPlan } from "../models/acting/acting-plan.ts";
import type { ActingDeps, ActionsAudience, ActionsCatalog, HostedAction, KnownAction } from "../models/acting/deps.ts";
import { createKeptTurns } from "../models/acting/kept-turns.ts";
import { type ChatDeps, modelPlan } from "../models/chat/model-plan.ts";
import type { ActsPlan } from "../models/chat/wire-endpoints.ts";
import { isCallable, serviceRefusal } from "../money/accounts/allowed.ts";
import type { Records } from "../platform/records/records.ts";
import { atPointer } from "../upstream/json-pointer.ts";
import type { OpenActions } from "./open-actions.ts";

export interface OpenActingParts {
  readonly chat: ChatDeps;
  readonly run: RunDeps;
  readonly actionCatalog: OpenActions;
  readonly records: Records;
  readonly costNanoMax: Nano;
}

const FOUND_MAX = 8;
/** The file in tiers/ that says it. */
const HOSTED_TIER = "hosted";
const HOSTED_RESULTS_MAX = 20;

/** Why it can be no tool of a model. */
function unfitOf({ kind, launches, facts }: CatalogAction): string | null {
  if (kind === "native") return "asks a model itself: name the model instead";
  if (launches !== undefined) return "launches work that outlives the call";
  if (facts.price.needsMaxCost === true) return "has no price before it is called";
  return null;
}

function refusalOf(action: CatalogAction, { allows }: ActionsAudience): GatewayError | null {
  if (!isCallable(allows, action)) return serviceRefusal(allows, action.service, action.action);
  return action.configured ? null : notConfigured(action);
}

function knownOf(action: CatalogAction, audience: ActionsAudience): KnownAction {
  const { id, service, action: name, facts } = action;
  const table = tableOf(action);
  const more = table === null ? "" : ` ${table.param} is one of ${table.count} names, each with further params.`;
  return {
    id,
    service,
    action: name,
    description: facts.description + more,
    schema: paramsSchema(action) as Json,
    effect: facts.effect,
    nanoMax: nanoFromCents(priceCentsMax(action)),
    unfit: unfitOf(action),
    refusal: refusalOf(action, audience),
  };
}

/** The results in an answer, in the words of a tier. */
function foundIn(data: unknown, { listAt, url, title, text }: HostedSource): readonly Source[] {
  const list = atPointer(data, listAt);
  const textAt = (item: unknown, at: string) => stringOf(atPointer(item, at)) ?? "";
  return (Array.isArray(list) ? list.slice(0, HOSTED_RESULTS_MAX) : [])
    .map((item) => ({ url: textAt(item, url), title: textAt(item, title), text: textAt(item, text) }))
    .filter((source) => source.url !== "");
}

function hostedBy(tool: HostedTool, audience: ActionsAudience, { find, tier }: HostedParts): HostedAction | null {
  const spec = tier()?.[tool];
  for (const source of spec?.sources ?? []) {
    const action = find(source.action, audience);
    if (spec === undefined || action instanceof GatewayError) continue;
    if (action.refusal !== null || action.unfit !== null) continue;
    const { about, takes } = spec;
    return {
      about,
      takes,
      action,
      params: (asked) => source.params({ asked }),
      found: (data) => foundIn(data, source),
    };
  }
  return null;
}

/** What serves the tools that vendors run themselves; null: no tier says so. */
function hostedTier(catalog: Catalog): HostedToolsSpec | null {
  const spec = catalog.compositeTiers.get(HOSTED_TIER);
  return spec?.kind === "hosted-tools" ? spec : null;
}

interface HostedParts {
  readonly find: ActionsCatalog["find"];
  readonly tier: () => HostedToolsSpec | null;
}

function catalogOf({ actionCatalog, discovered }: OpenActions, tier: HostedParts["tier"]): ActionsCatalog {
  const catalog: ActionsCatalog = {
    hosted: (tool, audience) => hostedBy(tool, audience, { find: catalog.find, tier }),
    find(id, audience) {
      const action = actionCatalog.find(id, audience);
      return action === null ? noSuchAction(id, actionCatalog, audience) : knownOf(action, audience);
    },
    ofService: (service, audience) =>
      actionCatalog
        .all(audience)
        .filter((action) => action.service === service)
        .map((action) => knownOf(action, audience)),
    price(id, params, audience) {
      const action = actionCatalog.find(id, audience);
      if (action === null) return noSuchAction(id, actionCatalog, audience);
      const read = readParams(action, params);
      if (read instanceof GatewayError) return read;
      return nanoFromCents(quoteCents(action.facts.price, read.params, read.row));
    },
    async discover(query, audience) {
      const found = await discovered(audience, query, FOUND_MAX * 4);
      return found
        .filter(({ action }) => refusalOf(action, audience) === null && action.facts.effect === "read")
        .filter(({ action }) => unfitOf(action) === null)
        .slice(0, FOUND_MAX)
        .map(({ action, row }) => ({ ...indexRow(action), ...(row === null ? {} : { row }) }));
    },
  };
  return catalog;
}

export interface OpenActing {
  readonly acts: ActsPlan;
  /** Whether a tool that vendors run themselves is served to a caller. */
  hosts(tool: HostedTool, audience: ActionsAudience): boolean;
}

/** How a request is planned whose model acts. */
export function openActing({ chat, run, actionCatalog, records, costNanoMax }: OpenActingParts): OpenActing {
  const actions = catalogOf(actionCatalog, () => hostedTier(chat.catalog()));
  const deps: ActingDeps = {
    clock: systemClock,
    planRound: (call, read) => modelPlan(call, read, chat),
    innerCalls: run.innerCalls,
    actions,
    turns: createKeptTurns(records),
    costNanoMax,
    onBroken: run.kernel.onBroken,
  };
  return {
    acts: (call, read, ask) => actingPlan(call, read, ask, deps),
    hosts: (tool, audience) => actions.hosted(tool, audience) !== null,
  };
}
