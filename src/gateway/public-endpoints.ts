// All public endpoints, in one list.
import { batchEndpoints } from "../actions/batches/batch-endpoints.ts";
import { fileEndpoints } from "../actions/batches/file-endpoints.ts";
import { messageBatchEndpoints } from "../actions/batches/message-batches.ts";
import { signingSecrets } from "../actions/files/signed-links.ts";
import { ownJobsEndpoint } from "../actions/jobs/own-jobs.ts";
import { findEndpoints } from "../actions/run/find-endpoints.ts";
import { runEndpoints } from "../actions/run/run-endpoints.ts";
import { checkRetirements } from "../catalog/retirement.ts";
import type { AdapterSpec } from "../catalog/spec.ts";
import { systemClock } from "../core/clock.ts";
import type { Endpoint, EndpointSpec } from "../core/endpoint.ts";
import { webEndpoints } from "../edge/web/web-endpoints.ts";
import { inChatWire } from "../models/chat/chat-endpoints.ts";
import { envelopeErrors } from "../models/formats/envelope/errors.ts";
import { messagesErrors } from "../models/formats/messages/errors.ts";
import { at } from "../models/formats/paths.ts";
import { accountEndpoints } from "../money/accounts/account-endpoints.ts";
import { healthEndpoint } from "../money/accounts/admin-endpoints.ts";
import { ownProviderKeyEndpoints } from "../money/accounts/shared-endpoints.ts";
import { signupEndpoint } from "../money/accounts/signup.ts";
import { spendEndpoints } from "../money/accounts/spend-endpoints.ts";
import { ownEventEndpoints } from "../money/events/event-endpoints.ts";
import { INFERENCE_SCOPE } from "../money/ledger/model/state.ts";
import { ownRunEndpoints, runNamed } from "../money/runs/run-endpoints.ts";
import type { Config } from "../platform/config.ts";
import { addressWindowKey } from "../platform/limits/request-windows.ts";
import type { OpenCallers } from "./callers.ts";
import type { Foundation } from "./open-foundation.ts";
import { modelEndpoints } from "./open-models.ts";
import type { Work } from "./open-work.ts";
import { ownRequestLogEndpoints } from "./request-log.ts";
import type { Stores } from "./stores.ts";

/** Makes endpoints return errors in our own envelope. */
export function inEnvelope(specs: readonly EndpointSpec[]): Endpoint[] {
  return specs.map((spec) => ({ ...spec, errors: envelopeErrors }));
}

/** Below the language-model path, with errors of the messages format. */
function inMessagesWire(spec: EndpointSpec): Endpoint {
  return { ...spec, ...at(spec.path), errors: messagesErrors };
}

/** What opening an account needs, for the operator or a sign-up. */
export function openingParts(config: Config, { ledger }: Stores) {
  const { inferenceCapNano, requestsPerMinute, inFlightMax } = config;
  return { books: ledger, clock: systemClock, limits: { inferenceCapNano, requestsPerMinute, inFlightMax } };
}

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

/** The secrets that seal accounts' own provider keys, the fee for using them, and the providers that accept them. */
export function providerKeyParts(
  { config, catalog, stores }: Foundation,
  { forget }: OpenCallers,
): Parameters<typeof ownProviderKeyEndpoints>[0] {
  return {
    books: stores.ledger,
    rules: stores.records,
    clock: systemClock,
    forget,
    secrets: () => signingSecrets(config.signingSecret, config.dataDir),
    feePercent: config.ownKeyFeePercent,
    serves: (provider, audience) =>
      catalog
        .current()
        .models(audience)
        .some(({ offers }) => offers.some(({ adapter }) => adapter.id === provider && takesOwnKeys(adapter.spec))),
  };
}

/** False for the operator's own servers and those without keys: they would serve any key for the fee alone. */
function takesOwnKeys({ auth, local, keyOptional, selfHosted }: AdapterSpec): boolean {
  return auth.plain === true && local !== true && keyOptional !== true && selfHosted === undefined;
}

export function runParts({ stores }: Foundation, { callers, unsold }: Work): Parameters<typeof ownRunEndpoints>[0] {
  const { ledger, records } = stores;
  return { runs: callers.runs, records, keys: { books: ledger, rules: records, clock: systemClock, unsold } };
}

function ownAccountEndpoints(foundation: Foundation, work: Work): readonly EndpointSpec[] {
  const { config, stores, failedCalls } = foundation;
  const { callers, anonymousPayers, requestLog, unsold } = work;
  const { ledger, records } = stores;
  const runs = runParts(foundation, work);
  const keys = accountEndpoints({
    books: ledger,
    rules: records,
    clock: systemClock,
    unsold,
    runOf: (caller, request) => runNamed(runs, caller, request),
    failedCalls,
    inferenceScope: INFERENCE_SCOPE,
    forget: callers.forget,
  });
  const log = { stores, log: requestLog, forget: callers.forget };
  const topUp = anonymousPayers?.topUp ?? null;
  return [
    ...keys,
    ...ownRunEndpoints(runs),
    ownJobsEndpoint(records),
    ...ownProviderKeyEndpoints(providerKeyParts(foundation, callers)),
    ...(config.requestLogOwners ? ownRequestLogEndpoints(log) : []),
    ...(topUp === null ? [] : [topUp]),
    ...(config.signup === "open" ? [signupEndpoint(signupParts(config, stores))] : []),
  ];
}

/** Throws where an endpoint retires sooner than allowed. */
export function publicEndpoints(foundation: Foundation, work: Work): readonly Endpoint[] {
  const { config, catalog, stores, url } = foundation;
  const { actionCatalog, run, people, events, jobs } = work;
  const { batchFiles: files } = actionCatalog;
  const batches = { files, records: stores.records, clock: systemClock, calls: work.lines, jobs: () => jobs };
  const { sandbox, pages, signup } = config;
  const site = () => ({ publicUrl: url.get(), sandbox, signup: signup === "open", pages });
  const daily = { actionCatalog: actionCatalog.actionCatalog, clock: systemClock };
  const endpoints = [
    ...runEndpoints(run),
    ...modelEndpoints(foundation, run, actionCatalog),
    ...messageBatchEndpoints({ ...batches, baseUrl: url.get }).map(inMessagesWire),
    ...[...fileEndpoints(batches), ...batchEndpoints(batches), ...spendEndpoints(stores.ledger)].map(inChatWire),
    ...findEndpoints(daily),
    ...webEndpoints({
      ...daily,
      catalog: catalog.current,
      search: actionCatalog.search,
      site,
      figures: foundation.figures,
      payTo: config.x402PayTo,
    }),
    ...(people?.endpoints ?? []),
    ...inEnvelope([
      ...actionCatalog.fileEndpoints,
      ...ownAccountEndpoints(foundation, work),
      ...ownEventEndpoints(events),
      healthEndpoint(),
    ]),
  ];
  checkRetirements(endpoints);
  return endpoints;
}
