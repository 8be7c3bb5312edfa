// A judge of the operator's guard that is a catalog model: called in process as by /moderations, on the path of every call. No account
// pays: its cost is the operator's, and counted separately.

import { requestInside } from "../actions/run/request-inside.ts";
import { GatewayError } from "../core/errors.ts";
import { transactionIdOf } from "../core/ids.ts";
import { isRecord } from "../core/json.ts";
import type { Funds, Payer, Plan } from "../core/plan.ts";
import type { KernelDeps } from "../kernel/deps.ts";
import { execute } from "../kernel/execute.ts";
import { upstreamOf } from "../kernel/legs.ts";
import { WholeAnswer } from "../kernel/whole-answer.ts";
import type { ChatDeps } from "../models/chat/deps.ts";
import { unitPlan } from "../models/chat/unit-plan.ts";
import { moderations } from "../models/chat/units/moderations.ts";
import type { Guarded, Judge } from "../upstream/guard.ts";
import type { Foundation } from "./open-foundation.ts";
import { shownText } from "./shown-text.ts";

/** Longer texts are judged in overlapping pieces, so that nothing can hide at a boundary. */
const PIECE_CHARS = 50_000;
const SHARED_CHARS = 500;
const PIECES_MAX = 32;

/** Null: the text is too long to judge. */
function piecesOf(text: string): readonly string[] | null {
  const step = PIECE_CHARS - SHARED_CHARS;
  const count = Math.max(1, Math.ceil((text.length - SHARED_CHARS) / step));
  if (count > PIECES_MAX) return null;
  return Array.from({ length: count }, (_, at) => text.slice(at * step, at * step + PIECE_CHARS));
}

/** The names of the flagged categories; empty: none. */
function foundIn(results: unknown): readonly string[] {
  const flagged = (Array.isArray(results) ? results : []).filter((one) => isRecord(one) && one.flagged === true);
  const names = flagged.flatMap(({ categories }) =>
    isRecord(categories) ? Object.keys(categories).filter((name) => categories[name] === true) : [],
  );
  return flagged.length > 0 && names.length === 0 ? ["unfit"] : [...new Set(names)];
}

/** The operator's own funds: nothing is held or charged. */
const OPERATORS: Funds = {
  reserve: async () => new GatewayError("internal_error"),
  capture: async () => new GatewayError("internal_error"),
  release: async () => {},
  balance: async () => null,
  charged: async () => null,
};

export function moderationJudge(model: string, foundation: Foundation, chat: ChatDeps, kernel: KernelDeps): Judge {
  const { clock } = kernel;
  // Runs for every request, so an account's limit of free calls per minute must not apply.
  const endpoint = { ...moderations, freePerMinute: Number.MAX_SAFE_INTEGER };

  function planOf(input: readonly string[], { requestId, sandbox }: Guarded): Plan {
    const sent = { model, input };
    const inside = { id: requestId, path: "/api/llm/v1/moderations", startedMs: clock.elapsedMs() };
    const request = requestInside(inside, undefined);
    const audience = { sandbox, payer: null, allows: { services: null, models: null }, strictBounds: false };
    const made = unitPlan(endpoint, { sent, files: [], fingerprinted: null }, { request, audience }, chat);
    return { ...made.plan, hold: { kind: "none" }, wholeMsMax: foundation.config.guardMsMax };
  }

  return async (asked) => {
    const pieces = piecesOf(shownText(asked.body));
    const tooLong = `It has more than the ${PIECE_CHARS * PIECES_MAX} characters that can be judged.`;
    if (pieces === null) return { action: "refuse", reason: tooLong };
    if (pieces.every((piece) => piece.trim() === "")) return { action: "pass" };
    const { requestId, sandbox } = asked;
    const payer: Payer = { id: "acct:operator", sandbox };
    const own = { id: transactionIdOf(requestId), payer, funds: OPERATORS, parent: null, signal: null };
    const plan = planOf(pieces, asked);
    const call = { ...own, deadlineMs: null, reader: new WholeAnswer() };
    const { final, error, legs } = await execute(plan, call, kernel);
    if (!sandbox) foundation.observer.guardCost(plan.asked, upstreamOf(legs));
    if (error !== null) throw error;
    const body = final?.kind === "body" ? final.body : {};
    if (!Array.isArray(body.results)) throw new Error("the model's answer has no results");
    const found = foundIn(body.results);
    return found.length === 0 ? { action: "pass" } : { action: "refuse", reason: `Found in it: ${found.join(", ")}.` };
  };
}
