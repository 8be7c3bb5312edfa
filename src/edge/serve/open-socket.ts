// Lets a caller with a valid key open a socket, which counts as one request. Each message on it is admitted separately.
import type { Endpoint, GatewayRequest, SessionGrant } from "../../core/endpoint.ts";
import { GatewayError, refusalIn } from "../../core/errors.ts";
import { transactionIdOf } from "../../core/ids.ts";
import type { AnswerReader, Caller, Ended, Plan } from "../../core/plan.ts";
import { execute, refusedCall } from "../../kernel/execute.ts";
import { keyPays } from "../../kernel/key-pays.ts";
import { callerOf, fromElsewhere, grantOf, tooMany } from "./admit.ts";
import type { ServeDeps } from "./deps.ts";
import { callerInRun } from "./join-run.ts";
import { note } from "./note.ts";
import { type LetIn, whileGood } from "./still-good.ts";

/** The logged status of a request that became a socket (RFC 9110, 15.2.2). */
const SWITCHING_PROTOCOLS = 101;

export interface Opened {
  readonly accountId: string;
  readonly socketsMax: number;
  readonly session: Admitted & { pay(requestId: string, plan: Plan, reader: AnswerReader): Promise<Ended> };
  /** Checks the key every second, and calls `ended` while the key could not open a socket, until the returned function is called. */
  watch(ended: () => void): () => void;
}

/** Any page may open a socket: only a key authenticates it, and cookies are ignored. A payment pays for a single call, so not here. */
export function openSocket(request: GatewayRequest, endpoint: Endpoint, deps: ServeDeps): Opened | Promise<Opened> {
  if (deps.draining()) throw new GatewayError("draining", { retryAfterSeconds: 1 });
  const known = callerOf(request, endpoint, deps);
  const granting = orThrow(grantOf(request, endpoint));
  const opened = (caller: Caller | GatewayError, grant: SessionGrant | GatewayError | null) =>
    counted(request, endpoint, { caller: orThrow(caller), grant: orThrow(grant) }, deps);
  if (granting === null && !(known instanceof Promise)) return opened(known, null);
  return Promise.all([known, granting]).then(([caller, grant]) => opened(caller, grant));
}

function orThrow<Value>(value: Value | GatewayError): Value {
  if (value instanceof GatewayError) throw value;
  return value;
}

interface Admitted {
  readonly caller: Caller;
  readonly grant: SessionGrant | null;
}

function counted(request: GatewayRequest, endpoint: Endpoint, { caller, grant }: Admitted, deps: ServeDeps): Opened {
  const elsewhere = fromElsewhere(caller, request);
  if (elsewhere !== null) throw elsewhere;
  endpoint.overSession?.check(request, caller, grant);
  const { payer, sandbox, requestsPerMinute, inFlightMax } = caller;
  const { accountId, keyId } = payer;
  const state = deps.takeWindow("account", accountId, requestsPerMinute);
  if (!state.allowed) throw tooMany(state);
  const { id: requestId, method, startedMs } = request;
  const record = deps.observer.begin({ requestId, method, startedMs });
  const known = { endpoint: endpoint.path, status: SWITCHING_PROTOCOLS, accountId, keyId, sandbox };
  deps.observer.end(Object.assign(record, known));
  const letIn = { request, endpoint, caller };
  return {
    accountId,
    socketsMax: inFlightMax,
    session: { caller, grant, pay: (id, plan, reader) => payInSession(letIn, deps, { id, plan, reader }) },
    watch: (ended) => whileGood(letIn, deps, ended),
  };
}

const UNCOUNTED = { learn: () => {} };

/** Runs a plan of a session as a call with its own record, for the caller as the key's rules now are. Never rejects. */
async function payInSession(
  { request, endpoint, caller: first }: LetIn,
  deps: ServeDeps,
  { id, plan, reader }: { readonly id: string; readonly plan: Plan; readonly reader: AnswerReader },
): Promise<Ended> {
  const { payer, sandbox } = first;
  const { method } = request;
  const record = deps.observer.begin({ requestId: id, method, startedMs: deps.clock.elapsedMs() });
  const { accountId, keyId } = payer;
  const { operation, asked, streamed, tags = [] } = plan;
  Object.assign(record, { endpoint: endpoint.path, accountId, keyId, sandbox, operation, asked, streamed, tags });
  const transactionId = transactionIdOf(id);
  let ended: Ended;
  try {
    const known = await callerOf(request, endpoint, deps);
    const caller = known instanceof GatewayError ? known : await callerInRun(known, request, deps).catch(refusalIn);
    const paying =
      caller instanceof GatewayError ? caller : keyPays(plan, caller, { requestId: id, rateLimit: UNCOUNTED }, deps);
    ended =
      paying instanceof GatewayError
        ? refusedCall(transactionId, paying)
        : await execute(
            plan,
            { id: transactionId, ...paying, parent: null, signal: null, deadlineMs: null, reader },
            deps,
          );
  } catch (cause) {
    deps.onBroken(cause, id);
    ended = refusedCall(transactionId, new GatewayError("internal_error", { cause }));
  }
  note(ended, record);
  record.status = ended.error?.status ?? 200;
  record.code = ended.error?.code ?? null;
  deps.observer.end(record);
  return ended;
}
