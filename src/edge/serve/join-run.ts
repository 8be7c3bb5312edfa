// Makes a call part of the run that it names: in headers, as a suffix of its key, in the body's metadata, or by its session. Refuses a name
// that is wrong before anything is held, so that no call runs without the budget that it was given.
import { hash } from "node:crypto";
import { GatewayError } from "../../core/errors.ts";
import { isRecord, type Json, stringOf } from "../../core/json.ts";
import { readJson } from "../../core/json-bytes.ts";
import { getOrMake, makeRoom } from "../../core/maps.ts";
import { centsDown, type Nano, nanoFromCents } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import { jsonText, parseRaw } from "../../core/raw-json.ts";
import { RUN_ID } from "../../core/run.ts";
import { sampleHash } from "../../core/sample-hash.ts";
import type { OpenRun } from "../../money/runs/open-run.ts";
import type { Call } from "./call.ts";
import type { ServeDeps } from "./deps.ts";

// Tells a model what is left of its run's budget, at the end of the last user turn: so the cached prefix stays as it is.

/** The endpoints whose bodies have turns, in any format. */
const WITH_TURNS = /\/(?:chat\/completions|responses|messages)$|ontent$/;

/** How a format writes a user's text at the end of its turns. */
interface Form {
  readonly turns: "messages" | "input" | "contents";
  readonly parts: "content" | "parts";
  part(text: string): Json;
}

const FORMS: readonly Form[] = [
  { turns: "messages", parts: "content", part: (text) => ({ type: "text", text }) },
  { turns: "input", parts: "content", part: (text) => ({ type: "input_text", text }) },
  { turns: "contents", parts: "parts", part: (text) => ({ text }) },
];
/** Turns that a model wrote: a user's turn cannot follow a beginning that it is to continue. */
const OF_MODELS: readonly unknown[] = ["assistant", "model"];

const dollars = (nano: Nano): string => `$${(centsDown(nano) / 100).toFixed(2)}`;

/** A request that may be repeated under its Idempotency-Key must stay the same, so the next call gets the sentence. */
function canTell({ endpoint, request }: Call): boolean {
  return WITH_TURNS.test(endpoint.path) && !request.headers.has("idempotency-key");
}

export function tellModel({ request }: Call, { leftNano, budgetNano }: OpenRun): void {
  const read = readJson(request.body, parseRaw);
  if ("wrong" in read || !isRecord(read.json)) return;
  const { json } = read;
  const form = FORMS.find(({ turns }) => json[turns] !== undefined);
  if (form === undefined) return;
  const sentence = `About ${dollars(leftNano)} of this run's ${dollars(budgetNano)} is left.`;
  const turns = withSentence(json[form.turns], sentence, form);
  if (turns !== null) request.body = Buffer.from(jsonText({ ...json, [form.turns]: turns }, json));
}

/** The turns with the sentence; null: they have no place for it. */
function withSentence(turns: unknown, sentence: string, { parts, part }: Form): unknown {
  if (typeof turns === "string") return `${turns}\n\n${sentence}`;
  const last: unknown = Array.isArray(turns) ? turns.at(-1) : null;
  if (!Array.isArray(turns) || !isRecord(last) || OF_MODELS.includes(last.role)) return null;
  const own = last[parts];
  const isUsers = last.role === "user" || (last.role === undefined && own !== undefined);
  // After the results of tools, the sentence becomes a new turn.
  if (!isUsers) return [...turns, { role: "user", [parts]: [part(sentence)] }];
  const said = typeof own === "string" ? `${own}\n\n${sentence}` : [...(Array.isArray(own) ? own : []), part(sentence)];
  return [...turns.slice(0, -1), { ...last, [parts]: said }];
}

const NAME = "x-tollgate-run";
const BUDGET = "x-tollgate-run-budget-cents";
const PARENT = "x-tollgate-run-parent";
const FIELD = "tollgate_run";
const FIELD_BYTES = Buffer.from(`"${FIELD}"`);
/** Headers in which clients name their session. */
const SESSION_HEADERS = ["session-id", "session_id", "x-session-id", "x-claude-code-session-id"];
/** What stands before the session in a coding agent's `metadata.user_id`. */
const USER_SESSION = "_session_";
/** Fields of a body that name a session, as they look in JSON. */
const SESSION_FIELDS = [Buffer.from('"session_id"'), Buffer.from('"user_id"')];

function bad(param: string, detail: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: `${param}: ${detail}` });
}

const disagree = (param: string) => bad(param, "names another run than the rest of the request");

/** The callers that carry a run, by their callers without it. */
const carriers = new WeakMap<Caller, Map<string, Caller>>();
const CARRIERS_MAX = 1_000;

/** The caller whose credential carries this run. A key that belongs to a run may carry one below it. */
export function carrying(
  caller: Caller | GatewayError,
  runId: string,
  { runs }: Pick<ServeDeps, "runs">,
): Caller | GatewayError | Promise<Caller | GatewayError> {
  if (caller instanceof GatewayError) return caller;
  if (!RUN_ID.test(runId)) return bad("authorization", "what follows the `+` must be the id of a run");
  const { carriedRun: own, payer } = caller;
  if (own === undefined || own === runId) return carrierOf(caller, runId);
  return runs
    .find(payer.accountId, runId)
    .then((run) => (run?.record.ancestors.includes(own) ? carrierOf(caller, runId) : disagree("authorization")));
}

function carrierOf(caller: Caller, runId: string): Caller {
  const known = getOrMake(carriers, caller, () => new Map());
  return getOrMake(known, runId, () => {
    makeRoom(known, CARRIERS_MAX);
    return { ...caller, carriedRun: runId };
  });
}

type Naming = Pick<Call, "request" | "refuse">;

const throwing = (request: Naming["request"]): Naming => ({
  request,
  refuse(error) {
    throw error;
  },
});

/** The caller of a session's call, in the run that the socket's request names. Rejects where that is wrong. */
export async function callerInRun(caller: Caller, request: Naming["request"], deps: ServeDeps): Promise<Caller> {
  const naming = throwing(request);
  const isNamed = [NAME, BUDGET, PARENT].some((name) => request.headers.has(name));
  if (isNamed || caller.carriedRun !== undefined) return (await named(naming, caller, null, deps)).callerIn(caller);
  const run = await ofSession(naming, caller, deps);
  if (run !== null) return run.callerIn(caller);
  if (caller.runRequired === true) throw new GatewayError("run_required");
  return caller;
}

/** The run of the session that the request names, where the caller's key bounds its sessions; null: none. */
function ofSession(naming: Naming, caller: Caller, { runs }: ServeDeps): Promise<OpenRun> | null {
  const { sessionBudgetNano: budgetNano, payer } = caller;
  const session = budgetNano === undefined ? null : sessionOf(naming);
  if (session === null || budgetNano === undefined) return null;
  const id = sessionRun(payer.keyId, session);
  return runs.ofSession(caller, { id, budgetNano, label: session.slice(0, 100) });
}

/** Synchronous for a call without a run. */
export function joinRun(call: Call, deps: ServeDeps): Promise<void> | void {
  const { caller, endpoint, request } = call;
  if (!("plan" in endpoint)) return;
  const { headers } = request;
  const isNamed = headers.has(NAME) || headers.has(BUDGET) || headers.has(PARENT);
  // The hold of the work around it, such as a batch, is in the run already.
  if (deps.paying !== undefined) return;
  const inBody = request.body.includes(FIELD_BYTES) ? takeName(call) : null;
  if (caller === null) {
    if (isNamed || inBody !== null) call.refuse(bad(NAME, "only a caller with a key has runs"));
    return;
  }
  if (!isNamed && inBody === null && caller.carriedRun === undefined) {
    const found = ofSession(call, caller, deps);
    if (found !== null) return found.then((run) => join(call, caller, run, deps));
    if (caller.runRequired === true) call.refuse(new GatewayError("run_required"));
    return;
  }
  return named(call, caller, inBody, deps).then((run) => join(call, caller, run, deps));
}

async function join(call: Call, caller: Caller, run: OpenRun, { runs }: ServeDeps): Promise<void> {
  call.run = run;
  call.record.runId = run.id;
  call.requestHash = sampleHash(call.request.body);
  call.caller = run.callerIn(caller);
  call.audience = call.caller;
  const mark = run.noticeDue;
  if (mark === 0 || !canTell(call)) return;
  if (await runs.notice(run, mark)) tellModel(call, run);
}

/** The run that the request names; opens it where the request has its budget. */
async function named(call: Naming, caller: Caller, inBody: string | null, { runs }: ServeDeps): Promise<OpenRun> {
  const { headers } = call.request;
  const { accountId } = caller.payer;
  const { carriedRun: carried } = caller;
  const [inHeader, cents, parent] = [headers.get(NAME), headers.get(BUDGET), headers.get(PARENT)];
  const id = inHeader ?? carried ?? inBody;
  if (id === null || (inHeader === undefined && (cents !== undefined || parent !== undefined)))
    return call.refuse(bad(cents === undefined ? PARENT : BUDGET, `needs ${NAME} beside it`));
  const isChild = carried !== undefined && carried !== inHeader && parent === carried;
  if (inHeader !== undefined && carried !== undefined && inHeader !== carried && !isChild) call.refuse(disagree(NAME));
  if (inBody !== null && inBody !== id) call.refuse(disagree(`metadata.${FIELD}`));
  if (cents !== undefined && (carried === undefined || isChild))
    return (await runs.open(caller, { id, budgetNano: nanoFromCents(Number(cents)), parent: parent ?? null })).run;
  const run = await runs.get(accountId, id);
  if (cents !== undefined) runs.checkSame(run.record, nanoFromCents(Number(cents)));
  return parent === undefined || run.record.ancestors[0] === parent ? run : call.refuse(disagree(PARENT));
}

/** Throws where a line of a batch names a run: its batch is in one, or in none. */
export function refuseRunInLine(request: Naming["request"]): void {
  if (!request.body.includes(FIELD_BYTES)) return;
  if (takeName(throwing(request)) !== null)
    throw bad(`metadata.${FIELD}`, "cannot be in a line: create the batch in the run");
}

/** Removes the run's name from the body, so that no vendor sees it; null: there was none. */
function takeName(call: Naming): string | null {
  const read = readJson(call.request.body, parseRaw);
  if ("wrong" in read || !isRecord(read.json) || !isRecord(read.json.metadata)) return null;
  const { [FIELD]: id, ...metadata } = read.json.metadata;
  if (id === undefined) return null;
  if (typeof id !== "string" || !RUN_ID.test(id))
    call.refuse(bad(`metadata.${FIELD}`, "must be the id of a run: 1 to 64 letters, digits or `-_.:`"));
  const { metadata: _, ...rest } = read.json;
  const body = Object.keys(metadata).length === 0 ? rest : { ...rest, metadata };
  call.request.body = Buffer.from(jsonText(body, read.json));
  return id;
}

/** The session that a client names; null: none. A `prompt_cache_key` alone may be shared by many sessions. */
function sessionOf({ request }: Naming): string | null {
  for (const name of SESSION_HEADERS) {
    const session = request.headers.get(name);
    if (session) return session;
  }
  if (!SESSION_FIELDS.some((field) => request.body.includes(field))) return null;
  const read = readJson(request.body);
  return "wrong" in read || !isRecord(read.json) ? null : sessionInBody(read.json);
}

function sessionInBody({ session_id: session, metadata }: Json): string | null {
  if (typeof session === "string" && session !== "") return session;
  const user = isRecord(metadata) ? (stringOf(metadata.user_id) ?? "") : "";
  const [, ended] = user.slice(user.lastIndexOf(USER_SESSION)).split(USER_SESSION);
  if (ended !== undefined && /^[\w-]+$/.test(ended)) return ended;
  const read = user.startsWith("{") ? readJson(Buffer.from(user)) : { wrong: "" };
  return "wrong" in read || !isRecord(read.json) ? null : (stringOf(read.json.session_id) ?? null);
}

/** The id of a session's run: its key and its name, hashed where that is long or odd. */
function sessionRun(keyId: string, session: string): string {
  const id = `s.${keyId}.${session}`;
  return RUN_ID.test(id) ? id : `s.${hash("sha256", `${keyId}\n${session}`).slice(0, 40)}`;
}
