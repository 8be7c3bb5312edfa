// The operator's guard: a server of the operator's, a model of the catalog that moderates, or both; over requests, and over answers where wanted.
import { findUnitModel } from "../catalog/find-model.ts";
import { systemClock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import type { ServeDeps } from "../edge/serve/deps.ts";
import type { KernelDeps } from "../kernel/deps.ts";
import { createGuard, type GuardOptions, type Judge } from "../upstream/guard.ts";
import { guardServer } from "../upstream/guard-server.ts";
import { createPublicFetch } from "../upstream/public-fetch.ts";
import { moderationJudge } from "./moderation-judge.ts";
import type { Foundation } from "./open-foundation.ts";
import { chatDeps } from "./public-endpoints.ts";

export interface OpenGuards {
  readonly doors: Pick<ServeDeps, "guard" | "answerGuard">;
  close(): void;
}

/** Throws where the model is none that moderates. */
function judgeByModel(name: string, foundation: Foundation, kernel: KernelDeps): Judge {
  const { config, catalog, observer } = foundation;
  const found = findUnitModel("moderation", name, {
    catalog: catalog.current(),
    audience: { sandbox: config.sandbox },
    atMs: systemClock.epochMs(),
  });
  if (found instanceof GatewayError) throw new Error(`GUARD_MODEL: ${found.message}`);
  const onCost = observer.guardCost;
  return moderationJudge({ model: name, msMax: config.guardMsMax, chat: chatDeps(foundation), kernel, onCost });
}

/** The server is the operator's, so it may be an inner one. It is asked first: the model judges what it has made of a request. */
export function openGuards(foundation: Foundation, kernel: KernelDeps): OpenGuards {
  const { config, broken, observer } = foundation;
  const { guardUrl: url, guardModel, guardMsMax: msMax, guardOpen: open, proxies } = config;
  const internet = url === null ? null : createPublicFetch({ userAgent: "Tollgate-Guard", mayBeInner: true, proxies });
  const judges: Judge[] = [];
  if (url !== null && internet !== null) judges.push(guardServer({ url, msMax, internet }));
  if (guardModel !== null) judges.push(judgeByModel(guardModel, foundation, kernel));
  if (judges.length === 0) return { doors: {}, close() {} };
  const options: GuardOptions = {
    judges,
    open,
    onAway: (error) => broken(error, "the guard did not answer"),
    onJudged: observer.guardJudged,
  };
  // Each has its own room: a flood of requests keeps no answer waiting that is paid for already.
  const doors = config.guardAnswers
    ? { guard: createGuard(options), answerGuard: createGuard(options) }
    : { guard: createGuard(options) };
  return { doors, close: () => internet?.close() };
}
