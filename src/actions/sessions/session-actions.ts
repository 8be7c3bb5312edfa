// The actions of an adapter's sessions: create_session launches the job, session runs a command, close ends it.

import { z } from "zod";
import type { Adapter } from "../../catalog/catalog.ts";
import { type LocalAction, type LocalCall, localAction } from "../../catalog/local-action.ts";
import { exactlyOne, goesWith } from "../../catalog/params-rules.ts";
import {
  type BoxCommand,
  BoxGone,
  SESSION_LANGUAGES,
  type SessionLanguage,
  type SessionSpec,
} from "../../catalog/session.ts";
import { GatewayError } from "../../core/errors.ts";
import { jobIdOf, requestIdOf } from "../../core/ids.ts";
import { minutesAt, NANO_PER_CENT, nanoFromCents } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import { failureError } from "../../kernel/failure-error.ts";
import { labelOf } from "../../upstream/run-script.ts";
import { VendorFailure } from "../../upstream/vendor-failure.ts";
import { isOver, type JobRecord } from "../jobs/job-record.ts";
import { COMMANDS_MAX } from "./commands.ts";
import type { SessionsDeps } from "./deps.ts";
import { firstHold } from "./meter.ts";
import { SESSION_JOB, type SessionParts, type SessionStart } from "./session-kind.ts";
import { dropSession, findSession, jobIdOfSession, putSession, sessionIdOf } from "./session-record.ts";
import { COMMAND_MS_MORE } from "./vendor.ts";

const OPEN_MAX = 10;
const ENVS_MAX = 64;
const ENV_CHARS_MAX = 32_768;
/** Linux accepts no argument above 128 KiB, and the text is sent as base64. */
const TEXT_BYTES_MAX = 65_536;
const TIMEOUT_SECONDS_MAX = 300;
const TIMEOUT_SECONDS = 60;
/** Time for our own work around a vendor script. */
const MS_MORE = 5_000;
const CREATE_MS_MAX = 60_000;
/** How long a close waits for the session to end; after that it answers `closing`. */
const CLOSED_MS_MAX = 15_000;
const LOOK_MS = 100;

const SAMPLE_ID = "ses_4dHNJZmUtq8Lw2cYxQe7R";

const sessionId = z
  .string()
  .regex(/^ses_[0-9A-Za-z]{1,60}$/, "must be the session_id that create_session answered")
  .describe("The session_id that create_session answered");

interface CreateParams {
  readonly template?: string | undefined;
  readonly envs?: Readonly<Record<string, string>> | undefined;
}

/** The hourly price of a vCPU where our own cost allows it. */
const USUAL_CENTS_PER_VCPU = 5;

function priceText({ vcpus, memoryGb, metered, centsPerHour, madeOf, minutesMax }: SessionSpec): string {
  const when = metered === "open" ? "for each started minute until close" : "for minutes in which a command runs";
  const hours = minutesMax % 60 === 0 ? `${minutesMax / 60} h` : `${minutesMax} min`;
  const isUsual = centsPerHour <= vcpus * USUAL_CENTS_PER_VCPU;
  const why = madeOf ?? (isUsual ? "5 for a vCPU" : "what the vendor takes of us, and a tenth");
  return `${vcpus} vCPU, ${memoryGb} GB; ${String(Number(centsPerHour.toFixed(4)))} cents an hour (${why}), ${when}, at most ${hours}`;
}

function noSuchSession(id: string): GatewayError {
  const detail = `session_id: this account has no session ${id.slice(0, 80)}.`;
  return new GatewayError("not_found", { of: "issued_id", param: "session_id", detail });
}

const ENDED = z.object({ ended: z.string(), minutes: z.number() });

function closedView({ id, end, chargedCents }: JobRecord) {
  const ended = ENDED.safeParse(end?.result);
  const how = ended.success ? ended.data : { ended: "lost" };
  return { session_id: sessionIdOf(id), status: "closed" as const, ...how, session_cents: chargedCents };
}

/** A payer's session at one provider, or the error for the caller. */
async function sessionOf(
  id: string,
  { payer, provider }: { readonly payer: Payer; readonly provider: string },
  { jobs }: SessionsDeps,
): Promise<JobRecord | GatewayError> {
  const job = await jobs().find(jobIdOfSession(id), payer);
  const isThere = job !== null && job.kind === SESSION_JOB && job.state !== "launching";
  return isThere && (job.start as SessionStart).provider === provider ? job : noSuchSession(id);
}

/** The params of a create: one of the vendor's templates, or a language, which sets the default for code. */
function createParams({ templates = [], languages }: SessionSpec): z.ZodType<CreateParams> {
  const envs = z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/), z.string().max(ENV_CHARS_MAX))
    .refine((given) => Object.keys(given).length <= ENVS_MAX, `has more than ${ENVS_MAX} names`)
    .refine((given) => JSON.stringify(given).length <= ENV_CHARS_MAX, `has more than ${ENV_CHARS_MAX} characters`)
    .optional()
    .describe("Environment variables of everything that runs there");
  const names = [...new Set([...templates, ...languages])];
  const template = z.enum(names).default(names[0] ?? "");
  return z.strictObject({ template: template.describe("What the machine comes with"), envs });
}

function createAction(adapter: Adapter, spec: SessionSpec, { deps, vendor }: SessionParts): LocalAction {
  const { id: provider } = adapter;
  const { records, clock } = deps;
  const { createMsMax = CREATE_MS_MAX } = spec;
  const { metered, centsPerHour, upstreamCentsPerHour, minutesMax } = spec;
  const rates = { centsPerHour, upstreamCentsPerHour, minutesMax };
  const minute = minutesAt(nanoFromCents(centsPerHour), 1) / NANO_PER_CENT;
  const whole = minutesAt(nanoFromCents(centsPerHour), minutesMax) / NANO_PER_CENT;
  return localAction({
    service: provider,
    action: "create_session",
    description: `${spec.description} Goes on between calls until it is closed: ${priceText(spec)}. max_cost_cents bounds the whole session.`,
    category: "compute",
    keywords: "sandbox; run code; shell; virtual machine; stateful session; code interpreter",
    asked:
      "run code; a sandbox for scripts; execute python, node, javascript, bash; a linux machine; a computer in the cloud; virtual server; a terminal; shell; try out untrusted code safely; install packages; compile; container; ssh; playground; test a program; compute something with pandas; temporary vm; dev environment",
    effect: "write",
    params: createParams(spec),
    price: {
      mode: "ranged",
      cents: whole,
      minCents: minute,
      unit: "session",
      quoteCents: () => firstHold(rates) / NANO_PER_CENT,
    },
    provider,
    msMax: createMsMax + MS_MORE,
    launches: {
      job: SESSION_JOB,
      inFlightMax: OPEN_MAX,
      onExpire: "post-accrued",
      chained: true,
      start: (_, maxCostNano): SessionStart => ({ ...rates, provider, metered, maxCostNano }),
    },
    async run({ template: wanted = null, envs: given = {} }, call) {
      const [usual = null] = spec.templates ?? [];
      const template = wanted !== null && spec.templates?.includes(wanted) ? wanted : usual;
      const jobId = jobIdOf(call.id);
      const session = { adapterId: provider, sandbox: call.payer.sandbox, label: labelOf(jobId), box: null };
      const told = { ...session, template: wanted, openedAtMs: null };
      // First record what outlives this process: a box whose create got no answer is found by its label.
      await putSession(records, jobId, told);
      const box = await vendor
        .create(askingOf(adapter, call), { template, envs: given, label: told.label })
        .catch(async (error: unknown) => {
          const nothingMade = error instanceof VendorFailure && error.failure.mayHaveRun === false;
          if (nothingMade) await dropSession(records, jobId);
          throw error;
        });
      await putSession(records, jobId, { ...told, box, openedAtMs: Math.floor(clock.epochMs()) });
      const { vcpus, memoryGb } = spec;
      return {
        session_id: sessionIdOf(jobId),
        status: "open",
        vcpus,
        memory_gb: memoryGb,
        cents_per_hour: centsPerHour,
        minutes_max: minutesMax,
      };
    },
    example: { params: {} },
  });
}

function askingOf(adapter: Adapter, { id, signal, sandboxFault }: LocalCall) {
  return { adapter, requestId: requestIdOf(id), sandboxFault, signal };
}

/** Turns a box's failure into the caller's error. Thrown, it would suspend the route because of one box. */
function toldOf(error: unknown, action: string): GatewayError {
  if (!(error instanceof VendorFailure)) throw error;
  return failureError({ asked: action, failedStatus: 500, timedOutStatus: 500 }, [error.failure], []);
}

function runAction(adapter: Adapter, spec: SessionSpec, parts: SessionParts): LocalAction {
  const { deps, vendor, commands } = parts;
  const { id: provider } = adapter;
  const timeout = z
    .int()
    .min(1)
    .max(TIMEOUT_SECONDS_MAX)
    .default(TIMEOUT_SECONDS)
    .describe("Seconds after which it is ended");
  const language = z.enum(spec.languages).optional().describe(`Of code. Default ${spec.languages[0]}`);
  const text = z
    .string()
    .min(1)
    .refine((given) => Buffer.byteLength(given) <= TEXT_BYTES_MAX, `has more than ${TEXT_BYTES_MAX} bytes`);
  return localAction({
    service: provider,
    action: "session",
    description: `Runs a shell command, or code in ${spec.languages.join(", ")}, in an open session and answers what it printed. Free beside the session's minutes.`,
    category: "compute",
    keywords: "run code; exec; shell command; code interpreter; sandbox",
    asked: "run a command in my machine; execute this script in the sandbox; type into the shell; run python there",
    effect: "write",
    params: z
      .strictObject({
        session_id: sessionId,
        command: text.optional().describe("A line for a shell"),
        code: text.optional().describe("A program"),
        language,
        timeout,
      })
      .check(exactlyOne("command", "code"), goesWith("language", "code")),
    price: { mode: "fixed", cents: 0 },
    provider,
    msMax: TIMEOUT_SECONDS_MAX * 1_000 + COMMAND_MS_MORE + MS_MORE,
    async run({ session_id: id, command, code, language: named, timeout: seconds }, call) {
      const { payer } = call;
      const job = await sessionOf(id, { payer, provider }, deps);
      if (job instanceof GatewayError) return job;
      const session = isOver(job) ? null : await findSession(deps.records, job.id);
      if (session === null || session.box === null) return closedError(job);
      const standing = await deps.ledger.standing(job.hold);
      if (standing === "paused") return new GatewayError("key_paused");
      if (standing === "frozen") return new GatewayError("account_frozen");
      if (standing === "unknown_key") return closedError(job);
      const asked: BoxCommand = {
        language: command === undefined ? (named ?? languageOf(session.template, spec)) : null,
        text: command ?? code ?? "",
        timeoutMs: seconds * 1_000,
      };
      if (!(await commands.begin(job.id, call.id, asked.timeoutMs + COMMAND_MS_MORE)))
        return new GatewayError("session_busy", { detail: { limit: COMMANDS_MAX } });
      let isAnswered = false;
      try {
        const output = await vendor.run(askingOf(adapter, call), session.box, asked);
        isAnswered = true;
        return output;
      } catch (error) {
        if (!(error instanceof BoxGone)) return toldOf(error, `${provider}/session`);
        await deps.jobs().cancel(job.id, payer);
        return new GatewayError("session_closed", { detail: "its vendor has it no more" });
      } finally {
        await commands.end(job.id, call.id, isAnswered);
      }
    },
    example: { params: { session_id: SAMPLE_ID, command: "echo hello" } },
  });
}

/** The language of code without a `language`: the session's template where that names a language, else the first. */
function languageOf(template: string | null, { languages }: SessionSpec): SessionLanguage {
  return SESSION_LANGUAGES.find((one) => one === template && languages.includes(one)) ?? languages[0];
}

function closedError(job: JobRecord): GatewayError {
  const view = closedView(job);
  const detail = isOver(job) ? `it ended by ${view.ended}` : "it is being closed";
  return new GatewayError("session_closed", { detail, ...(isOver(job) ? { data: view } : {}) });
}

function closeAction(adapter: Adapter, { deps }: SessionParts): LocalAction {
  const { id: provider } = adapter;
  const { jobs, wait, clock } = deps;
  return localAction({
    service: provider,
    action: "close",
    description:
      "Closes a session; a second time it says the same. It is charged up to that moment, and what it held beyond that is free again. Free.",
    category: "compute",
    keywords: "end session; stop sandbox; terminate; destroy machine",
    asked: "close the sandbox; shut down the machine; stop the vm; end the session; I am done with the linux machine",
    effect: "write",
    params: z.strictObject({ session_id: sessionId }),
    price: { mode: "fixed", cents: 0 },
    provider,
    async run({ session_id: id }, { payer, signal }) {
      const found = await sessionOf(id, { payer, provider }, deps);
      if (found instanceof GatewayError) return found;
      let job: JobRecord | null = isOver(found) ? found : await jobs().cancel(found.id, payer);
      const untilMs = clock.elapsedMs() + CLOSED_MS_MAX;
      while (job !== null && !isOver(job) && clock.elapsedMs() < untilMs && !signal.aborted) {
        await wait(LOOK_MS, signal);
        job = await jobs().find(found.id, payer);
      }
      return job !== null && isOver(job) ? closedView(job) : { session_id: id, status: "closing" };
    },
    example: { params: { session_id: SAMPLE_ID } },
  });
}

export function sessionActions(adapter: Adapter, parts: SessionParts): readonly LocalAction[] {
  const { sessions: spec } = adapter.spec;
  if (spec === undefined) return [];
  return [createAction(adapter, spec, parts), runAction(adapter, spec, parts), closeAction(adapter, parts)];
}
