// Model calls: their dependencies, the endpoints of every format, the tool loop over the catalog's actions, and the operator's guard.
import { signingSecrets } from "../actions/files/signed-links.ts";
import { type CatalogAction, notConfigured } from "../actions/run/action-catalog.ts";
import { quoteCents } from "../actions/run/action-price.ts";
import type { RunDeps } from "../actions/run/deps.ts";
import { indexRow, priceCentsMax } from "../actions/run/descriptor.ts";
import { noSuchAction } from "../actions/run/nearest.ts";
import { paramsSchema, tableOf } from "../actions/run/params-schema.ts";
import { readParams } from "../actions/run/read-call.ts";
import type { Audience, Catalog } from "../catalog/catalog.ts";
import { findUnitModel } from "../catalog/find-model.ts";
import { keptByAudience } from "../catalog/kept-by-audience.ts";
import { modelAnswer, modelsAnswer, pricingAnswer } from "../catalog/price-answers.ts";
import type { HostedSource, HostedToolsSpec } from "../catalog/tier.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint } from "../core/endpoint.ts";
import { GatewayError, refusalIn } from "../core/errors.ts";
import { type Json, stringOf } from "../core/json.ts";
import { nanoFromCents } from "../core/money.ts";
import type { HostedTool, Source } from "../core/neutral.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import type { KernelDeps } from "../kernel/deps.ts";
import { actingPlan } from "../models/acting/acting-plan.ts";
import type { ActingDeps, ActionsAudience, ActionsCatalog, HostedAction, KnownAction } from "../models/acting/deps.ts";
import { createKeptTurns } from "../models/acting/kept-turns.ts";
import { chatEndpoints, modelRows } from "../models/chat/chat-endpoints.ts";
import type { ChatDeps } from "../models/chat/deps.ts";
import { freeCounts } from "../models/chat/free-counts.ts";
import { createKeptAnswers } from "../models/chat/kept-answers.ts";
import { modelPlan } from "../models/chat/model-plan.ts";
import { NO_SEAL, thoughtSeal } from "../models/chat/seal.ts";
import { type ActsPlan, wireEndpoints } from "../models/chat/wire-endpoints.ts";
import { MODEL_WIRES } from "../models/formats/model-wires.ts";
import { createClientSecrets } from "../models/realtime/client-secrets.ts";
import { realtimeEndpoints } from "../models/realtime/endpoints.ts";
import { isCallable, serviceRefusal } from "../money/accounts/allowed.ts";
import { createRequestWindows } from "../platform/limits/request-windows.ts";
import { createGuard, type GuardOptions, guardServer, type Judge } from "../upstream/guard.ts";
import { atPointer } from "../upstream/json-pointer.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import { moderationJudge } from "./moderation-judge.ts";
import type { OpenActions } from "./open-actions.ts";
import type { Foundation } from "./open-foundation.ts";

const CHAT_ATTEMPTS_MAX = 6;
const FOUND_MAX = 8;
const HOSTED_TIER = "hosted";
const HOSTED_RESULTS_MAX = 20;

/** Why a model cannot use the action as a tool; null: it can. */
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

/** The results in an answer, at the path that the tier names. */
function foundIn(data: unknown, { listAt, url, title, text }: HostedSource): readonly Source[] {
  const list = atPointer(data, listAt);
  const textAt = (item: unknown, at: string) => stringOf(atPointer(item, at)) ?? "";
  return (Array.isArray(list) ? list.slice(0, HOSTED_RESULTS_MAX) : [])
    .map((item) => ({ url: textAt(item, url), title: textAt(item, title), text: textAt(item, text) }))
    .filter((source) => source.url !== "");
}

function hostedBy(
  spec: HostedToolsSpec[HostedTool] | undefined,
  audience: ActionsAudience,
  find: ActionsCatalog["find"],
): HostedAction | null {
  for (const source of spec?.sources ?? []) {
    const action = find(source.action, audience);
    if (spec === undefined || action instanceof GatewayError) continue;
    if (action.refusal !== null || action.unfit !== null) continue;
    const { about, takes } = spec;
    const found = (data: unknown) => foundIn(data, source);
    return { about, takes, action, params: (asked) => source.params({ asked }), found };
  }
  return null;
}

/** The actions that serve vendor-hosted tools; null: no tier names any. */
function hostedTier(catalog: Catalog): HostedToolsSpec | null {
  const spec = catalog.compositeTiers.get(HOSTED_TIER);
  return spec?.kind === "hosted-tools" ? spec : null;
}

function catalogOf({ actionCatalog, discovered }: OpenActions, tier: () => HostedToolsSpec | null): ActionsCatalog {
  const catalog: ActionsCatalog = {
    hosted: (tool, audience) => hostedBy(tier()?.[tool], audience, catalog.find),
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

export function chatDeps({ config, catalog, upstream, counter, observer }: Foundation): ChatDeps {
  const secrets = signingSecrets(config.signingSecret, config.dataDir);
  const { firstTokenMsMax, firstTokenMsMaxByTier, lastFirstTokenMsMax, gapMsMax, wholeMsMax } = config;
  const waits = { firstTokenMsMax, firstTokenMsMaxByTier, lastFirstTokenMsMax, gapMsMax, wholeMsMax };
  const { x402Models: sellsAtBound, unaryMsMax: unaryMs, unaryMsPerToken } = config;
  return {
    catalog: catalog.current,
    upstream,
    counter,
    clock: systemClock,
    settings: { ...waits, attemptsMax: CHAT_ATTEMPTS_MAX, sellsAtBound, unaryMs, unaryMsPerToken },
    seals: (payer) => (payer === null ? NO_SEAL : thoughtSeal(secrets, payer.id, observer.sealUnopened)),
    freeWindows: createRequestWindows({ clock: systemClock }),
  };
}

function realtimeSettings({ config, stores }: Foundation) {
  const { realtimeMsMax: openMsMax, realtimeIdleMsMax: idleMsMax } = config;
  const signing = () => signingSecrets(config.signingSecret, config.dataDir);
  const secrets = createClientSecrets({ records: stores.records, clock: systemClock, signing, openMsMax });
  return { openMsMax, idleMsMax, secrets };
}

/** The endpoints of every format, and the lists of models and prices. */
export function modelEndpoints(
  foundation: Foundation,
  run: RunDeps,
  actionCatalog: OpenActions,
  own: Partial<ChatDeps> = {},
): readonly Endpoint[] {
  const { options, config, stores, catalog } = foundation;
  const { current } = catalog;
  const chat = { ...chatDeps(foundation), ...own };
  const models = keptByAudience(modelsAnswer);
  const pricing = keptByAudience(pricingAnswer);
  const answers = {
    models: (audience: Audience) => models(current(), audience),
    model: (name: string, audience: Audience) => modelAnswer(current(), name, audience),
    pricing: (audience: Audience) => pricing(current(), audience),
  };
  const kept = createKeptAnswers(stores.records);
  const actions = catalogOf(actionCatalog, () => hostedTier(current()));
  const acting: ActingDeps = {
    clock: systemClock,
    planRound(call, read) {
      try {
        return modelPlan(call, read, chat);
      } catch (error) {
        return refusalIn(error);
      }
    },
    innerCalls: run.innerCalls,
    actions,
    turns: createKeptTurns(stores.records),
    costNanoMax: config.actingCostNano,
    onBroken: run.kernel.onBroken,
  };
  const acts: ActsPlan = (call, read, ask) => actingPlan(call, read, ask, acting);
  const hosts = (tool: HostedTool, audience: ActionsAudience) => actions.hosted(tool, audience) !== null;
  const host = { seals: chat.seals, epochMs: chat.clock.epochMs, kept, models: modelRows(answers), hosts };
  const served = { chat, acts, host, counts: freeCounts(chat, host) };
  const wires = [...MODEL_WIRES, ...(options.wires ?? [])];
  return [
    ...wires.flatMap((wire) => wireEndpoints(wire, served)),
    ...chatEndpoints(chat, answers),
    ...realtimeEndpoints({ ...chat, ...realtimeSettings(foundation) }),
  ];
}

/** Throws where the model does not moderate. */
function judgeByModel(name: string, foundation: Foundation, kernel: KernelDeps): Judge {
  const { config, catalog } = foundation;
  const search = { catalog: catalog.current(), audience: { sandbox: config.sandbox }, atMs: systemClock.epochMs() };
  try {
    findUnitModel("moderation", name, search);
  } catch (error) {
    throw new Error(`GUARD_MODEL: ${refusalIn(error).message}`);
  }
  return moderationJudge(name, foundation, chatDeps(foundation), kernel);
}

/** The operator's guard: a server, then a moderation model of the catalog, or either; for requests and, if set, for answers. */
export function openGuards(foundation: Foundation, kernel: KernelDeps): Pick<ServeDeps, "guard" | "answerGuard"> {
  const { config, broken, observer, opened } = foundation;
  const { guardUrl: url, guardModel, guardMsMax: msMax, guardOpen: open, proxies } = config;
  const judges: Judge[] = [];
  if (url !== null) {
    // The operator chose the server, so its address may be private.
    const internet = createPublicFetch({ userAgent: "Tollgate-Guard", mayBeInner: true, proxies });
    opened.add(() => internet.close());
    judges.push(guardServer({ url, msMax, internet }));
  }
  if (guardModel !== null) judges.push(judgeByModel(guardModel, foundation, kernel));
  if (judges.length === 0) return {};
  const options: GuardOptions = {
    judges,
    open,
    onAway: (error) => broken(error, "the guard did not answer"),
    onJudged: observer.guardJudged,
  };
  // Separate queues, so that a flood of requests does not delay paid answers.
  return { guard: createGuard(options), ...(config.guardAnswers ? { answerGuard: createGuard(options) } : {}) };
}
