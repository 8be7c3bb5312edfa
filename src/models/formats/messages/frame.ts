// How answers in the messages wire begin, break and end, with what was charged in their usage.
import type { Frame, Reply } from "../../../core/endpoint.ts";
import type { GatewayError } from "../../../core/errors.ts";
import { isRecord } from "../../../core/json.ts";
import type { Charge, Cost } from "../../../core/plan.ts";
import { jsonText } from "../../../core/raw-json.ts";
import type { Candidate, FinalPart, Leg } from "../../../core/route.ts";
import { streamHeaders, traceJson, writeHead } from "../answer-head.ts";
import { errorJson } from "./errors.ts";
import { usageJson } from "./usage.ts";

export interface MessagesFrameOptions {
  readonly stream: boolean;
  readonly trace: boolean;
  readonly requestId: string;
}

const STOP = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';

class MessagesFrame implements Frame {
  /** A comment: an event before `message_start` would be one that clients do not expect. */
  readonly keepAlive = { text: ": keep-alive\n\n", headers: streamHeaders };
  readonly #options: MessagesFrameOptions;

  constructor(options: MessagesFrameOptions) {
    this.#options = options;
  }

  head(reply: Reply, served: Candidate, attempts: readonly Leg[], charge: Charge | null): void {
    writeHead(reply, { served, attempts, charge, stream: this.#options.stream });
  }

  /** A stream's tail is open inside of the usage of its last event; what is there already stays before our counts. */
  last(final: FinalPart, cost: Cost, charge: Charge, legs: readonly Leg[]): Uint8Array | string {
    const usage = cost.usage === null ? {} : usageJson(cost.usage, charge, cost);
    const trace = this.#options.trace ? { tollgate: traceJson(legs, charge) } : null;
    if (final.kind === "body") {
      const { body } = final;
      body.usage = { ...(isRecord(body.usage) ? body.usage : {}), ...usage };
      return jsonText(trace === null ? body : Object.assign(body, trace));
    }
    const told = trace === null ? "" : `,${JSON.stringify(trace).slice(1, -1)}`;
    return Buffer.concat([final.tail, Buffer.from(`${JSON.stringify(usage).slice(1)}${told}}\n\n${STOP}`)]);
  }

  broken(error: GatewayError): string {
    return `event: error\ndata: ${JSON.stringify(errorJson(error, this.#options.requestId))}\n\n`;
  }
}

export function createMessagesFrame(options: MessagesFrameOptions): Frame {
  return new MessagesFrame(options);
}
