// How chat answers look: OpenAI's wire, with what was charged in the last bytes.

import type { Frame, Reply } from "../../../core/endpoint.ts";
import type { GatewayError } from "../../../core/errors.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import type { Candidate, FinalPart, Leg } from "../../../core/route.ts";
import { streamHeaders, traceJson, writeHead } from "../answer-head.ts";
import { errorObject } from "../error-object.ts";
import { usageJson } from "./usage.ts";

export interface ChatFrameOptions {
  readonly completionId: string;
  readonly createdS: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  readonly trace: boolean;
}

class ChatFrame implements Frame {
  readonly keepAlive = { text: ": keep-alive\n\n", headers: streamHeaders };
  readonly #options: ChatFrameOptions;

  constructor(options: ChatFrameOptions) {
    this.#options = options;
  }

  head(reply: Reply, served: Candidate, attempts: readonly Leg[], charge: Charge | null): void {
    writeHead(reply, { served, attempts, charge, stream: this.#options.stream });
  }

  last(final: FinalPart, cost: Cost, charge: Charge, attempts: readonly Leg[]): Uint8Array | string {
    const trace = this.#options.trace ? { tollgate: traceJson(attempts, charge) } : null;
    if (final.kind === "body") {
      const { body } = final;
      if (cost.usage !== null) body.usage = usageJson(cost.usage, charge, cost);
      return JSON.stringify(trace === null ? body : Object.assign(body, trace));
    }
    const withUsage = this.#options.includeUsage && cost.usage !== null;
    if (!withUsage && trace === null) return Buffer.concat([final.tail, DONE]);
    const usage = withUsage && cost.usage !== null ? { usage: usageJson(cost.usage, charge, cost) } : {};
    const chunk = { ...this.#chunk(attempts), choices: [], ...usage, ...trace };
    return Buffer.concat([final.tail, Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`), DONE]);
  }

  broken(error: GatewayError, attempts: readonly Leg[]): string {
    const choices = [{ index: 0, delta: { content: "" }, finish_reason: "error" }];
    const chunk = { ...this.#chunk(attempts), choices, error: errorObject(error) };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }

  /** A chunk of the route that was tried last; a head may have gone out before any was. */
  #chunk(attempts: readonly Leg[]): Record<string, unknown> {
    const { completionId, createdS } = this.#options;
    const model = attempts.at(-1)?.model ?? "";
    return { id: completionId, object: "chat.completion.chunk", created: createdS, model };
  }
}

const DONE = Buffer.from("data: [DONE]\n\n");

export function createChatFrame(options: ChatFrameOptions): Frame {
  return new ChatFrame(options);
}
