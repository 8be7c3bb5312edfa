// The clients of a simulation: they call, leave, read slowly, and retry with the same key until they have their answer.

import type { Endpoint, FramedPlan, GatewayRequest } from "../../src/core/endpoint.ts";
import { nano } from "../../src/core/money.ts";
import type { Charge, Plan } from "../../src/core/plan.ts";
import { ladder } from "../../src/kernel/routes/ladder.ts";
import { retrying } from "../../src/kernel/routes/retrying.ts";
import { chatErrors } from "../../src/models/formats/chat-completions/wire.ts";
import { createMemoryReply, type MemoryReply } from "../support/memory-reply.ts";
import type { World } from "./network.ts";
import type { GatewayProcess } from "./process.ts";
import { type CallPlan, tokenOf } from "./scenario.ts";
import type { Upstream } from "./upstream.ts";
import { OUTSIDE, type Owner } from "./virtual-time.ts";

const TRIES_MAX = 4;
const NO_MORE_AFTER_MS = 400_000;
const WHOLE_MS_MAX = 150_000;
const PATH = "/paid";

/** The last bytes of a good answer. */
export interface Told {
  readonly charge: Charge;
  /** The number of the vendor's answer; null in a stream. */
  readonly answer: number | null;
}

/** One request of a client, and what it saw of its answer. */
export interface Try {
  readonly call: CallPlan;
  readonly requestId: string;
  readonly holdId: string;
  readonly owner: Owner;
  readonly gateway: number;
  readonly reply: MemoryReply;
  readonly fromMs: number;
  /** When the pipeline finished it. */
  toMs: number;
  /** The client left before the end. */
  left: boolean;
  /** The pipeline has finished it. */
  handled: boolean;
  /** The whole answer; null where there was none. */
  told: Told | null;
  /** The code of the error, where there was one. */
  code: string | null;
}

/** Final errors: a repeat of the request would get the same. */
const FINAL = ["outcome_unknown", "idempotency_mismatch", "replay_unavailable", "upstream_rejected"];

export class Clients {
  readonly tries: Try[] = [];
  readonly #world: World;
  readonly #gateways: readonly GatewayProcess[];
  readonly #upstream: Upstream;

  constructor(world: World, gateways: readonly GatewayProcess[], upstream: Upstream) {
    this.#world = world;
    this.#gateways = gateways;
    this.#upstream = upstream;
  }

  /** Runs a call: resolves when its client has its answer, or has given up. */
  async live(call: CallPlan): Promise<void> {
    await this.#world.time.sleep(call.atMs, OUTSIDE);
    await Promise.all([this.#insist(call, 0), ...(call.twice ? [this.#insist(call, 1)] : [])]);
  }

  async #insist(call: CallPlan, twin: number): Promise<void> {
    const { time, chance } = this.#world;
    for (let attempt = 0; attempt < TRIES_MAX; attempt++) {
      const gateway = this.#gateways[call.gateways[attempt + twin] ?? 0];
      if (gateway?.serves) {
        const tried = await this.#try(call, gateway, { attempt, name: `${call.id}-${twin}-${attempt}` });
        const isOver = tried.told !== null || FINAL.includes(tried.code ?? "") || call.idempotencyKey === null;
        if (isOver) return;
      }
      await time.sleep(chance.between(500, 25_000), OUTSIDE);
      if (time.nowMs > NO_MORE_AFTER_MS) return;
    }
  }

  async #try(
    call: CallPlan,
    gateway: GatewayProcess,
    { attempt, name }: { attempt: number; name: string },
  ): Promise<Try> {
    const { time, faults } = this.#world;
    const { owner } = gateway;
    const [requestId, holdId] = [`req_${name}`, `tx_${name}`];
    const reply = createMemoryReply();
    const tried: Try = {
      ...{ call, requestId, holdId, owner, reply, gateway: this.#gateways.indexOf(gateway) },
      ...{ fromMs: time.nowMs, toMs: Number.POSITIVE_INFINITY },
      left: false,
      handled: false,
      told: null,
      code: null,
    };
    this.tries.push(tried);
    const request: GatewayRequest = {
      ...{ id: requestId, method: "POST", path: PATH, query: new URLSearchParams(), params: {} },
      headers: new Map([["authorization", tokenOf(call)]]),
      ...{ body: Buffer.from("{}"), address: "127.0.0.1", startedMs: time.nowMs },
    };
    time.after(0, owner, () => {
      void gateway.serve(request, this.#endpoint(tried), reply).then(() => {
        tried.handled = true;
        tried.toMs = time.nowMs;
      });
    });
    for (const fault of faults) {
      if (!("attempt" in fault) || fault.call !== call.id || fault.attempt !== attempt) continue;
      time.after(fault.afterMs, owner, () => {
        if (fault.kind === "slow") reply.fill();
        else if (!reply.closed) {
          tried.left = true;
          reply.leave();
        }
      });
      if (fault.kind === "slow") time.after(fault.afterMs + fault.forMs, owner, () => reply.room());
    }
    await Promise.race([reply.ended, this.#death(owner)]);
    if (!tried.left && owner.alive) read(tried);
    return tried;
  }

  #death(owner: Owner): Promise<void> {
    const { time } = this.#world;
    return new Promise((resolve) => {
      const look = () => (owner.alive ? void time.after(1_000, OUTSIDE, look) : resolve());
      look();
    });
  }

  #endpoint(tried: Try): Endpoint {
    const plan = () => this.#plan(tried);
    return { method: "POST", path: PATH, auth: "key", bodyBytesMax: 1_000, errors: chatErrors, plan };
  }

  #plan({ call, holdId, left: _, ...tried }: Try): FramedPlan {
    const { effect, streamed, finishes, idempotencyKey, holdNano, tightNano } = call;
    const isLeft = () => tried.reply.closed;
    const plan: Plan = {
      operation: "run",
      asked: "maker/thing",
      effect,
      streamed,
      hold: { kind: "call" },
      whilePaused: false,
      maxCostNano: null,
      slots: [],
      quote: {
        nano: nano(holdNano),
        tighten: tightNano === null ? null : () => Promise.resolve(nano(tightNano)),
        affordable: () => ({}),
        upstreamNano: () => nano(holdNano),
      },
      inference: false,
      idempotency: idempotencyKey === null ? null : { key: idempotencyKey, fingerprint: `call ${call.id}` },
      route: ladder(this.#upstream.candidates(call, holdId, isLeft).map(retrying)),
      wholeMsMax: WHOLE_MS_MAX,
      attemptsMax: 4,
      failedStatus: 502,
      timedOutStatus: 504,
      whenCallerLeaves: finishes ? "finish" : "abort",
      cost(_served, { upstreamCostNano }) {
        const chargeNano = nano(upstreamCostNano ?? 0);
        return { chargeNano, upstreamNano: chargeNano, usage: null, estimated: false, priceVersion: "1" };
      },
      prepare: null,
    };
    return {
      plan,
      keepAliveMs: null,
      frame: {
        head() {},
        last: (final, _cost, charge) => {
          const answer = final.kind === "body" ? final.body.answer : null;
          return `\n${JSON.stringify({ charge, answer })}`;
        },
        broken: (error) => `\n${JSON.stringify({ error: { code: error.code } })}`,
        keepAlive: null,
      },
    };
  }
}

/** Reads an answer that has ended. */
function read(tried: Try): void {
  if (tried.reply.cutOff) return;
  const text = tried.reply.text();
  const said = JSON.parse(text.slice(text.indexOf("{"))) as Told & { readonly error?: { readonly code: string } };
  if (said.error === undefined) tried.told = said;
  else tried.code = said.error.code;
}
