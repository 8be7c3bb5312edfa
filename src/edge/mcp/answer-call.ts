// One tool call: checks its arguments, calls a gateway endpoint, and returns the result; waits for jobs.
import type { CallToolResult } from "@modelcontextprotocol/server";
import { type Clock, pause } from "../../core/clock.ts";
import { readFields } from "../../core/field-issues.ts";
import { isRecord } from "../../core/json.ts";
import type { CallInside, InnerAnswer, InnerCaller } from "./inner-http.ts";
import type { Leftovers } from "./leftovers.ts";
import { continued, resultOf, wrongArguments } from "./results.ts";
import type { Tool } from "./tools.ts";

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
function askedIn({ asked }: InnerAnswer): CallToolResult | null {
  if (asked === undefined) return null;
  const structuredContent = jsonIn(asked);
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent, isError: true };
}

function withReceipt(result: CallToolResult, { receipt }: InnerAnswer): CallToolResult {
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

export interface AnswerDeps {
  readonly callInside: CallInside;
  readonly clock: Clock;
}

interface JobState {
  readonly isOver: boolean;
  readonly done: number;
  readonly total: number | null;
  readonly message: string;
}

/** The state of a job, from the envelope of core/result; null: not a job. */
function jobIn({ status, bytes, type }: InnerAnswer): JobState | null {
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
async function waitedFor(call: ToolCall, { callInside, clock }: AnswerDeps): Promise<InnerAnswer> {
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

async function told(answer: InnerAnswer, { tool, leftovers }: ToolCall): Promise<CallToolResult> {
  return askedIn(answer) ?? withReceipt(await resultOf(answer, tool.shows, leftovers), answer);
}
