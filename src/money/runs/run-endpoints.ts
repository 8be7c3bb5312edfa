// Runs over HTTP: an account's own below `/api/v1`, any account's below `/admin/v1`.
import { z } from "zod";
import type { Answer, EndpointSpec, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { centsDown, nanoFromCents, usdText, ZERO } from "../../core/money.ts";
import type { Caller } from "../../core/plan.ts";
import { RUN_ID } from "../../core/run.ts";
import { adminAccess } from "../accounts/account-access.ts";
import { fewAtATime } from "../accounts/few-at-a-time.ts";
import { createKey, newKeySchema } from "../accounts/keys.ts";
import { pageSchema } from "../accounts/list-pages.ts";
import { type Answering, endpoint, type KeyParts } from "../accounts/own-endpoint.ts";
import { readBody, readQuery } from "../accounts/read-body.ts";
import { isoTime } from "../accounts/rows.ts";
import { badField, timeField } from "../accounts/rule-fields.ts";
import { budgetField, readRunRules, runRuleFields, runRulesRow } from "../accounts/run-rules.ts";
import { mintRunId } from "../accounts/secrets.ts";
import { billCsv, billOf, billSchema, idsOf } from "./bill.ts";
import type { OpenRun } from "./open-run.ts";
import { childrenOf, listRuns, type RunRecord, type RunRecords } from "./run-record.ts";
import { noSuchRun, type Runs, withinCeiling } from "./runs.ts";

export interface RunParts {
  readonly runs: Runs;
  readonly records: RunRecords;
  readonly keys: KeyParts;
}

const runId = z.string().regex(RUN_ID, "must be 1 to 64 letters, digits or `-_.:`");
const newRunSchema = z.strictObject({
  id: runId.optional(),
  budget_cents: budgetField,
  label: z.string().trim().min(1, "must not be empty").max(100, "must have at most 100 characters").nullish(),
  parent: runId.nullish(),
  expires_at: timeField.nullish(),
  key: z.boolean("must be true or false").optional(),
  ...runRuleFields,
});
const changeSchema = z.strictObject({ budget_cents: budgetField.optional(), ...runRuleFields });

/** Whose run it is, and who asks: the account's caller, or null for the operator. */
interface Asked {
  readonly accountId: string;
  readonly caller: Caller | null;
  readonly request: GatewayRequest;
}

/** Agent keys see the runs that they opened, credentials that carry a run see it and those below it. */
function sees(caller: Caller | null, { id, ancestors, keyId }: RunRecord): boolean {
  if (caller === null) return true;
  const { primary, carriedRun, payer } = caller;
  if (carriedRun !== undefined) return carriedRun === id || ancestors.includes(carriedRun);
  return primary || keyId === payer.keyId;
}

async function seen(runs: Runs, { accountId, caller }: Omit<Asked, "request">, id: string): Promise<OpenRun> {
  const run = await runs.find(accountId, id);
  if (run === null || !sees(caller, run.record)) throw noSuchRun(id);
  return run;
}

function statusOf(
  { stoppedId, expiresAtMs, leftNano }: OpenRun,
  nowMs: number,
): "open" | "spent" | "expired" | "stopped" {
  if (stoppedId !== null) return "stopped";
  if (expiresAtMs <= nowMs) return "expired";
  return leftNano === ZERO ? "spent" : "open";
}

/** A run as answers show it, without its children. Its sums include those of the runs below it. */
function runRow(run: OpenRun, nowMs: number) {
  const { record } = run;
  return {
    id: record.id,
    label: record.label,
    key_id: record.keyId,
    status: statusOf(run, nowMs),
    budget_cents: centsDown(record.budgetNano),
    budget_nano_usd: record.budgetNano,
    spent_nano_usd: run.spentNano,
    held_nano_usd: run.heldNano,
    absorbed_nano_usd: run.absorbedNano,
    remaining_usd: usdText(run.leftNano),
    parent: record.ancestors[0] ?? null,
    created_at: isoTime(record.createdAtMs),
    expires_at: isoTime(run.expiresAtMs),
    stopped: run.stoppedId !== null,
    stopped_at: record.stoppedAtMs === null ? null : isoTime(record.stoppedAtMs),
    ...runRulesRow(record.rules),
  };
}

export interface RunShown extends ReturnType<typeof runRow> {
  readonly children: readonly RunShown[];
}

async function shownRun(parts: RunParts, { record: { accountId, id } }: OpenRun): Promise<RunShown> {
  const { runs, records, keys } = parts;
  const [run, ids] = await runs.listing.run(accountId, () =>
    Promise.all([runs.read(accountId, id), childrenOf(records, accountId, id)]),
  );
  if (run === null) throw noSuchRun(id);
  const found = await fewAtATime(ids, (child) => runs.listing.run(accountId, () => runs.find(accountId, child)));
  const children = await fewAtATime(
    found.filter((child) => child !== null),
    (child) => shownRun(parts, child),
  );
  return { ...runRow(run, keys.clock.epochMs()), children };
}

/** The run that a request carries or names in its header, without its children; null: none. */
export async function runNamed({ runs, keys }: RunParts, caller: Caller, { headers }: GatewayRequest) {
  const id = headers.get("x-tollgate-run") ?? caller.carriedRun;
  const run = id === undefined ? null : await runs.read(caller.payer.accountId, id);
  return run === null ? null : runRow(run, keys.clock.epochMs());
}

async function billAnswer(parts: RunParts, run: OpenRun, { query }: GatewayRequest): Promise<Answer> {
  const { books } = parts.keys;
  const asked = readQuery(billSchema, query);
  const shown = await shownRun(parts, run);
  const runs = { accountId: run.record.accountId, runIds: idsOf(shown) };
  if (asked.format === "csv") return billCsv(books, runs, asked);
  return { status: 200, body: { ...shown, ...(await billOf(books, runs, asked)) } };
}

async function openRun(parts: RunParts, caller: Caller, body: z.output<typeof newRunSchema>): Promise<Answer> {
  const { runs, keys } = parts;
  const { accountId } = caller.payer;
  if (caller.frozen) throw new GatewayError("account_frozen");
  if (caller.paused) throw new GatewayError("key_paused");
  const { id = mintRunId(), label = null, expires_at: expiresAtMs = null } = body;
  // Null is as good as absent: a credential in a run opens runs below it alone.
  const parent = body.parent ?? caller.carriedRun ?? null;
  if (body.key === true && (!caller.primary || caller.carriedRun !== undefined))
    throw new GatewayError("key_cannot_mint_keys");
  if (expiresAtMs !== null && expiresAtMs <= keys.clock.epochMs())
    throw badField("expires_at", "must be in the future");
  if (parent !== null) await seen(runs, { accountId, caller }, parent);
  const asked = { id, budgetNano: nanoFromCents(body.budget_cents), label, parent, expiresAtMs };
  const { run, isNew } = await runs.open(caller, { ...asked, rules: readRunRules(body) });
  if (!sees(caller, run.record)) throw new GatewayError("run_exists", { detail: { run: id } });
  const shown = await shownRun(parts, run);
  if (body.key !== true) return { status: isNew ? 201 : 200, body: shown };
  const key = newKeySchema.parse({ label: label ?? id, expires_at: isoTime(run.expiresAtMs) });
  const made = await createKey(keys, { accountId, sandbox: caller.sandbox }, key, run.id);
  return { status: 201, body: { ...shown, key: made.body } };
}

/** What both APIs do. `name`: the path parameter of a run. */
function handlers({ runs, records, keys }: RunParts, name: string) {
  const idOf = ({ request }: Asked) => request.params[name] ?? "";
  const parts = { runs, records, keys };
  const shown = async (run: OpenRun): Promise<Answer> => ({ status: 200, body: await shownRun(parts, run) });
  return {
    async list({ accountId, caller, request }: Asked): Promise<Answer> {
      const { limit, cursor = null } = readQuery(pageSchema, request.query);
      const page = await listRuns(records, accountId, limit, cursor);
      const own = page.runs.filter((run) => sees(caller, run));
      const found = await fewAtATime(own, ({ id }) => runs.listing.run(accountId, () => runs.read(accountId, id)));
      const rows = found.flatMap((run) => (run === null ? [] : [runRow(run, keys.clock.epochMs())]));
      return { status: 200, body: { runs: rows, next_cursor: page.next } };
    },
    show: async (asked: Asked) => billAnswer(parts, await seen(runs, asked, idOf(asked)), asked.request),
    async change(asked: Asked): Promise<Answer> {
      const { accountId, caller, request } = asked;
      const id = idOf(asked);
      await seen(runs, asked, id);
      if (caller?.carriedRun === id) throw new GatewayError("key_cannot_mint_keys", { of: "run" });
      const body = readBody(changeSchema, request.body);
      const { budget_cents: cents } = body;
      const change = (run: RunRecord): RunRecord => ({
        ...run,
        budgetNano: cents === undefined ? run.budgetNano : withinCeiling(caller, cents),
        rules: { ...run.rules, ...readRunRules(body) },
      });
      return shown(await runs.change(accountId, id, change));
    },
    async stop(asked: Asked): Promise<Answer> {
      const { record } = await seen(runs, asked, idOf(asked));
      return shown(await runs.stop(record.accountId, record.id));
    },
  };
}

export function ownRunEndpoints(parts: RunParts): EndpointSpec[] {
  const act = handlers(parts, "id");
  const own = (next: (asked: Asked) => Promise<Answer>): Answering => {
    return ({ request, caller }) => next({ request, caller, accountId: caller.payer.accountId });
  };
  return [
    endpoint("POST", "/api/v1/runs", async ({ request, caller }) =>
      openRun(parts, caller, readBody(newRunSchema, request.body)),
    ),
    endpoint("GET", "/api/v1/runs", own(act.list)),
    endpoint("GET", "/api/v1/runs/{id}", own(act.show)),
    endpoint("PATCH", "/api/v1/runs/{id}", own(act.change)),
    endpoint("POST", "/api/v1/runs/{id}/stop", own(act.stop)),
  ];
}

export function adminRunEndpoints(parts: RunParts, accounts: Parameters<typeof adminAccess>[0]): EndpointSpec[] {
  const act = handlers(parts, "run");
  const { below, open } = adminAccess(accounts);
  const operators = (next: (asked: Asked) => Promise<Answer>): Parameters<typeof open>[2] => {
    return ({ accountId }, request) => next({ accountId, request, caller: null });
  };
  return [
    open("GET", `${below}/runs`, operators(act.list)),
    open("GET", `${below}/runs/{run}`, operators(act.show)),
    open("PATCH", `${below}/runs/{run}`, operators(act.change)),
    open("POST", `${below}/runs/{run}/stop`, operators(act.stop)),
  ];
}
