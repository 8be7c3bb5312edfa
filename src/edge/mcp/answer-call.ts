// One tool call: checks its arguments, calls a gateway endpoint, and returns the result; waits for jobs.

import { createHash } from "node:crypto";
import type { CallToolResult, ClientCapabilities, InputRequiredResult } from "@modelcontextprotocol/server";
import { pause } from "../../core/clock.ts";
import { readFields } from "../../core/field-issues.ts";
import { isRecord } from "../../core/json.ts";
import type { KeptAnswer } from "../serve/kept-reply.ts";
import type { InnerCaller } from "./inner-http.ts";
import type { Leftovers } from "./leftovers.ts";
import { continued, failed, resultOf, wrongArguments } from "./results.ts";
import type { McpDeps } from "./server.ts";
import type { Tool } from "./tools.ts";

const QUESTION = "purchase";
const PARAMS_CHARS_MAX = 500;

/** The state of the question in one call of a client. */
interface Asked {
  /** The client's responses to an earlier question; undefined: none. */
  readonly responses: Readonly<Record<string, unknown>> | undefined;
  readonly state: unknown;
}

/** Whether the client supports forms: one that names no mode supports them (MCP 2025-11-25, elicitation). */
export function canAsk(capabilities: ClientCapabilities | undefined): boolean {
  const { elicitation } = capabilities ?? {};
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** The most that a purchase may cost, in cents; null: it has no limit yet, and is refused for that. */
function mostCents({ buys }: Tool, args: Readonly<Record<string, unknown>>): number | null {
  if (buys === undefined) return null;
  const { max_cost_cents: given } = args;
  if (typeof given === "number") return Math.min(given, buys.centsMax);
  return buys.needsMaxCost ? null : buys.centsMax;
}

/** The question, or the person's refusal; null: proceed. An answer is valid only for the same call with the same arguments. */
export function questionBefore(
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
  asked: Asked,
): InputRequiredResult | CallToolResult | null {
  const cents = mostCents(tool, args);
  if (cents === null) return null;
  const state = createHash("sha256")
    .update(JSON.stringify([tool.title, args]))
    .digest("base64url");
  const answer = asked.state === state ? asked.responses?.[QUESTION] : undefined;
  if (!isRecord(answer)) {
    const told = JSON.stringify(isRecord(args.params) ? args.params : args).slice(0, PARAMS_CHARS_MAX);
    const message = `Buy by ${tool.title}, for ${cents} cents at most? ${told}`;
    const requestedSchema = {
      type: "object" as const,
      properties: { buy: { type: "boolean" as const, title: "Buy it", default: false } },
      required: ["buy"],
    };
    const params = { mode: "form" as const, message, requestedSchema };
    const inputRequests = { [QUESTION]: { method: "elicitation/create" as const, params } };
    return { resultType: "input_required", inputRequests, requestState: state };
  }
  const isYes = answer.action === "accept" && isRecord(answer.content) && answer.content.buy === true;
  return isYes ? null : failed("purchase_declined");
}

const PAYMENT = "x402/payment";
const RECEIPT = "x402/payment-response";

/** A call's payment, as in the HTTP header; the endpoint validates it. */
export function paymentIn(meta: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const payment = meta?.[PAYMENT];
  return payment === undefined ? undefined : Buffer.from(JSON.stringify(payment)).toString("base64");
}

function jsonIn(header: string): Record<string, unknown> {
  const json: unknown = JSON.parse(Buffer.from(header, "base64").toString("utf8"));
  return isRecord(json) ? json : {};
}

/** The challenge as a tool's result; null: nothing is due. */
function askedIn({ asked }: KeptAnswer): CallToolResult | null {
  if (asked === undefined) return null;
  const structuredContent = jsonIn(asked);
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent, isError: true };
}

function withReceipt(result: CallToolResult, { receipt }: KeptAnswer): CallToolResult {
  return receipt === undefined ? result : { ...result, _meta: { [RECEIPT]: jsonIn(receipt) } };
}

/** The polling interval for a job that a client waits for. */
const LOOK_MS = 1_000;

export interface ToolCall {
  readonly tool: Tool;
  readonly args: Record<string, unknown>;
  readonly caller: InnerCaller;
  readonly leftovers: Leftovers;
  /** Reports a job's progress; null: the client does not want it. */
  readonly onProgress: ((done: number, total: number | null, message: string) => Promise<void>) | null;
}

type AnswerDeps = Pick<McpDeps, "callInside" | "clock">;

interface JobState {
  readonly isOver: boolean;
  readonly done: number;
  readonly total: number | null;
  readonly message: string;
}

/** The state of a job, from the envelope of core/result; null: not a job. */
function jobIn({ status, bytes, type }: KeptAnswer): JobState | null {
  if (status !== 200 || !type.includes("json")) return null;
  const envelope: unknown = JSON.parse(bytes.toString("utf8"));
  const job = isRecord(envelope) && isRecord(envelope.data) ? envelope.data : null;
  if (job === null || typeof job.status !== "string") return null;
  const progress = isRecord(job.progress) ? job.progress : {};
  const numbers = [progress.done, progress.total].map((value) => (typeof value === "number" ? value : null));
  const isOver = !["queued", "running", "pending", "processing", "in_progress"].includes(job.status);
  return { isOver, done: numbers[0] ?? 0, total: numbers[1] ?? null, message: job.status };
}

/** Polls a job until it ends or the client's waiting time is over. */
async function waitedFor(call: ToolCall, { callInside, clock }: AnswerDeps): Promise<KeptAnswer> {
  const { tool, args, caller, onProgress } = call;
  const waitMs = Number(args.wait_seconds ?? 0) * 1_000;
  const endMs = clock.elapsedMs() + waitMs;
  for (let told = -1; ; ) {
    const answer = await callInside(tool.call(args), caller);
    const job = jobIn(answer);
    if (job === null || caller.signal.aborted) return answer;
    // Progress must always increase (MCP, progress).
    told = Math.max(job.done, told + 0.001);
    await onProgress?.(told, job.total, job.message);
    const leftMs = endMs - clock.elapsedMs();
    if (job.isOver || leftMs <= 0) return answer;
    await pause(Math.min(LOOK_MS, leftMs), caller.signal);
  }
}

/** Answers a tool call. Errors are returned as results, as the protocol requires. */
export async function answerCall(call: ToolCall, deps: AnswerDeps): Promise<CallToolResult> {
  const { tool, args, caller, leftovers } = call;
  if (tool.params !== undefined) {
    const read = readFields(tool.params, args);
    if (!("data" in read)) {
      const [first] = read;
      return wrongArguments(`${first?.path || "arguments"}: ${first?.message ?? "are not valid"}`);
    }
  }
  const { continuation, job_id } = args;
  if (tool.name === "get_result") {
    if (typeof continuation === "string") return continued(continuation, leftovers);
    if (job_id === undefined) return wrongArguments("job_id: name a job, or a continuation");
    return told(await waitedFor(call, deps), call);
  }
  return told(await deps.callInside(tool.call(args), caller), call);
}

async function told(answer: KeptAnswer, { tool, leftovers }: ToolCall): Promise<CallToolResult> {
  return askedIn(answer) ?? withReceipt(await resultOf(answer, tool.shows, leftovers), answer);
}
