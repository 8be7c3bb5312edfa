// Everything that callers can ask for, in one list.

import { signingSecrets } from "../actions/files/signed-links.ts";
import { ownJobsEndpoint } from "../actions/jobs/own-jobs.ts";
import type { RunDeps } from "../actions/run/deps.ts";
import { findEndpoints } from "../actions/run/find-endpoints.ts";
import { runEndpoints } from "../actions/run/run-endpoints.ts";
import type { Audience } from "../catalog/catalog.ts";
import { keptByAudience } from "../catalog/kept-by-audience.ts";
import { modelAnswer, modelsAnswer, pricingAnswer } from "../catalog/price-answers.ts";
import { checkRetirements } from "../catalog/retirement.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint, EndpointSpec } from "../core/endpoint.ts";
import type { FailedCalls } from "../core/usage-rows.ts";
import { webEndpoints } from "../edge/web/web-endpoints.ts";
import { chatEndpoints, inChatWire, modelRows } from "../models/chat/chat-endpoints.ts";
import { freeCounts } from "../models/chat/free-counts.ts";
import { createKeptAnswers } from "../models/chat/kept-answers.ts";
import type { ChatDeps } from "../models/chat/model-plan.ts";
import { NO_SEAL, thoughtSeal } from "../models/chat/seal.ts";
import type { TokenCounters } from "../models/chat/token-counter.ts";
import { wireEndpoints } from "../models/chat/wire-endpoints.ts";
import { envelopeErrors } from "../models/formats/envelope/errors.ts";
import { MODEL_WIRES } from "../models/formats/model-wires.ts";
import type { ModelWire } from "../models/formats/wire.ts";
import { accountEndpoints } from "../money/accounts/account-endpoints.ts";
import { healthEndpoint } from "../money/accounts/admin-endpoints.ts";
import type { Unsold } from "../money/accounts/allowed.ts";
import { ownProviderKeyEndpoints } from "../money/accounts/provider-key-endpoints.ts";
import { signupEndpoint } from "../money/accounts/signup.ts";
import { spendEndpoints } from "../money/accounts/spend-endpoints.ts";
import { type EventParts, ownEventEndpoints } from "../money/events/event-endpoints.ts";
import { INFERENCE_SCOPE } from "../money/ledger/model/state.ts";
import type { Config } from "../platform/config.ts";
import { addressWindowKey } from "../platform/limits/address-window-key.ts";
import { createRequestWindows } from "../platform/limits/request-windows.ts";
import type { Observer } from "../platform/observe/observer.ts";
import type { RequestLog } from "../platform/observe/request-log.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { openActing } from "./open-acting.ts";
import type { OpenActions } from "./open-actions.ts";
import type { OpenCallers } from "./open-callers.ts";
import type { OpenCatalog } from "./open-catalog.ts";
import { providerKeyParts } from "./provider-keys.ts";
import { ownRequestLogEndpoints } from "./request-log-endpoints.ts";
import type { Stores } from "./stores.ts";

const CHAT_ATTEMPTS_MAX = 6;

export interface PublicEndpointsParts {
  readonly config: Config;
  readonly stores: Stores;
  readonly catalog: OpenCatalog;
  readonly actionCatalog: OpenActions;
  readonly callers: OpenCallers;
  readonly upstream: Upstream;
  readonly counter: TokenCounters;
  readonly observer: Observer;
  readonly run: RunDeps;
  readonly unsold: Unsold;
  /** Wires beside those of the list. */
  readonly wires: readonly ModelWire[];
  readonly topUp: EndpointSpec | null;
  readonly failedCalls: FailedCalls;
  readonly requestLog: RequestLog;
  readonly oauth: readonly Endpoint[];
  readonly events: EventParts;
  readonly publicUrl: () => string;
}

/** Endpoints of parts that know no wire. */
export function inEnvelope(specs: readonly EndpointSpec[]): Endpoint[] {
  return specs.map((spec) => ({ ...spec, errors: envelopeErrors }));
}

/** What opening an account needs, whether the operator opens it or a caller signs up. */
export function openingParts(config: Config, { ledger }: Stores) {
  const { inferenceCapNano, requestsPerMinute, inFlightMax } = config;
  return { books: ledger, clock: systemClock, limits: { inferenceCapNano, requestsPerMinute, inFlightMax } };
}

/** What opening one without the operator needs. */
export function signupParts(config: Config, stores: Stores) {
  const { signupCreditPerDay: creditPerDay, signupsPerAddressPerHour: perAddress } = config;
  return {
    ...openingParts(config, stores),
    counts: stores.records,
    creditPerDay,
    perAddress,
    addressKey: addressWindowKey,
  };
}

function chatSettings(config: Config) {
  return {
    firstTokenMsMax: config.firstTokenMsMax,
    firstTokenMsMaxByTier: config.firstTokenMsMaxByTier,
    lastFirstTokenMsMax: config.lastFirstTokenMsMax,
    gapMsMax: config.gapMsMax,
    wholeMsMax: config.wholeMsMax,
    attemptsMax: CHAT_ATTEMPTS_MAX,
    sellsAtBound: config.x402Models,
    unaryMs: config.unaryMsMax,
    unaryMsPerToken: config.unaryMsPerToken,
  };
}

/** What calls of models need, whichever part makes them. */
export function chatDeps({
  config,
  catalog,
  upstream,
  counter,
  observer,
}: Pick<PublicEndpointsParts, "config" | "catalog" | "upstream" | "counter" | "observer">): ChatDeps {
  const secrets = signingSecrets(config.signingSecret, config.dataDir);
  return {
    catalog: catalog.current,
    upstream,
    counter,
    clock: systemClock,
    settings: chatSettings(config),
    seals: (payer) => (payer === null ? NO_SEAL : thoughtSeal(secrets, payer.id, observer.sealUnopened)),
    freeWindows: createRequestWindows({ clock: systemClock }),
  };
}

function modelEndpoints(parts: PublicEndpointsParts, deps: ChatDeps) {
  const { current } = parts.catalog;
  const models = keptByAudience(modelsAnswer);
  const pricing = keptByAudience(pricingAnswer);
  const answers = {
    models: (audience: Audience) => models(current(), audience),
    model: (name: string, audience: Audience) => modelAnswer(current(), name, audience),
    pricing: (audience: Audience) => pricing(current(), audience),
  };
  const kept = createKeptAnswers(parts.stores.records);
  const { acts, hosts } = openActing({
    chat: deps,
    run: parts.run,
    actionCatalog: parts.actionCatalog,
    records: parts.stores.records,
    costNanoMax: parts.config.actingCostNano,
  });
  const host = { seals: deps.seals, epochMs: deps.clock.epochMs, kept, models: modelRows(answers), hosts };
  const served = { chat: deps, acts, host, counts: freeCounts(deps, host) };
  const wires = [...MODEL_WIRES, ...parts.wires];
  return [...wires.flatMap((wire) => wireEndpoints(wire, served)), ...chatEndpoints(deps, answers)];
}

function ownAccountEndpoints(parts: PublicEndpointsParts): readonly EndpointSpec[] {
  const { config, stores, callers, unsold, topUp, failedCalls } = parts;
  const { ledger, records } = stores;
  const keys = accountEndpoints({
    books: ledger,
    rules: records,
    clock: systemClock,
    unsold,
    failedCalls,
    inferenceScope: INFERENCE_SCOPE,
    forget: callers.forget,
  });
  const providers = ownProviderKeyEndpoints(providerKeyParts(parts, callers));
  const log = { stores, log: parts.requestLog, forget: callers.forget };
  const own = [
    ...keys,
    ownJobsEndpoint(records),
    ...providers,
    ...(config.requestLogOwners ? ownRequestLogEndpoints(log) : []),
    ...(topUp === null ? [] : [topUp]),
  ];
  if (config.signup !== "open") return own;
  return [...own, signupEndpoint(signupParts(config, stores))];
}

/** Throws where one of them retires sooner than it may. */
export function publicEndpoints(parts: PublicEndpointsParts): readonly Endpoint[] {
  const { config, catalog, actionCatalog, run, publicUrl } = parts;
  const site = () => ({ publicUrl: publicUrl(), sandbox: config.sandbox, signup: config.signup === "open" });
  const daily = { actionCatalog: actionCatalog.actionCatalog, clock: systemClock };
  const models = chatDeps(parts);
  const endpoints = [
    ...runEndpoints(run),
    ...modelEndpoints(parts, models),
    ...spendEndpoints(parts.stores.ledger).map(inChatWire),
    ...findEndpoints(daily),
    ...webEndpoints({
      ...daily,
      catalog: catalog.current,
      search: actionCatalog.search,
      site,
      payTo: config.x402PayTo,
    }),
    ...parts.oauth,
    ...inEnvelope([
      ...actionCatalog.fileEndpoints,
      ...ownAccountEndpoints(parts),
      ...ownEventEndpoints(parts.events),
      healthEndpoint(),
    ]),
  ];
  checkRetirements(endpoints);
  return endpoints;
}
