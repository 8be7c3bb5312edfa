// How a line of a batch is priced and called: the gateway's own endpoints answer it, as they would over HTTP.

import type { PostedLeg } from "../../core/account-rows.ts";
import type { GatewayError } from "../../core/errors.ts";
import { add, type Nano, ZERO } from "../../core/money.ts";
import type { AccountPayer, Caller, Capture, Charge, Held, Release } from "../../core/plan.ts";
import type { TokenUsage } from "../../core/route.ts";
import { postedLegs } from "../../kernel/legs.ts";
import { ParentFunds, type Spend, type Spending } from "../../kernel/parent-funds.ts";
import type { KeptAnswer } from "../../upstream/kept-answer.ts";

/** A call that a line asks for. */
export interface LineCall {
  /** Such as `/v1/chat/completions`. */
  readonly path: string;
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
  readonly caller: Caller;
}

/** The caller of lines that a provider has run: they were admitted before, so no limit of today applies, and its key may be gone. */
export function callerOfDone(payer: AccountPayer, now: Caller | null): Caller {
  return {
    payer,
    sandbox: payer.sandbox,
    primary: false,
    paused: false,
    frozen: false,
    strictBounds: false,
    allows: { services: null, models: null },
    requestsPerMinute: 0,
    inFlightMax: 0,
    inferenceCapNano: ZERO,
    ...(now?.logsCalls && { logsCalls: now.logsCalls }),
  };
}

export interface LineAnswer {
  readonly requestId: string;
  /** 0: it was cut off. */
  readonly status: number;
  /** JSON. */
  readonly text: string;
  /** Whether the same call may succeed later, and how long to wait at least. */
  readonly retry: boolean;
  readonly retryAfterMs: number;
}

/** `native`: a provider's own batch API runs the lines. `inline`: the gateway calls each of them. */
export type BatchMode = "native" | "inline";

/** A line before it runs. */
export interface LineBound {
  /** The most that it can cost at usual prices. */
  readonly nano: Nano;
  /** The providers whose batch APIs can run it, the best first. */
  readonly vendors: readonly string[];
}

/** A line as the request of a provider's batch API. */
export interface NativeLine {
  /** The provider's name for the model. */
  readonly model: string;
  /** Below the provider's origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The model as it is sold now. */
  sold(): string;
}

/** What a provider's batch API has answered to a line. */
export interface NativeAnswer extends KeptAnswer {
  readonly vendor: string;
  readonly model: string;
  /** The model as it was sold when the provider got the line. */
  readonly sold: string;
  /** The price, in percent of the usual one. */
  readonly percent: number;
}

export interface LineCalls {
  /** The current caller for a key; null: the key or its account is gone. */
  callerOf(accountId: string, keyId: string): Promise<Caller | null>;
  /**
   * What a line can cost, or the answer that it would get without being called. Unless `native` is requested, only the provider that a
   * call would try first counts.
   */
  bound(call: LineCall, mode: BatchMode | undefined): Promise<LineBound | LineAnswer>;
  /** The line for a provider's batch API, or the answer that it gets instead. */
  native(call: LineCall, vendor: string): Promise<NativeLine | LineAnswer>;
  /** With `answer`, the provider is not called again. */
  run(call: LineCall, funds: LineFunds, answer?: NativeAnswer | null): Promise<LineAnswer>;
  /** An error in the form of the path's wire. */
  refusal(path: string, error: GatewayError): LineAnswer;
}

/** Spending on what has been done already: it is never refused, and costs at most what is left. */
function spendingOnDone(spend: Spend): Spending {
  return { counted: "price", setAside: () => true, settle: (_, spent) => spend.settle(ZERO, spent) };
}

/** Pays one line from the hold of its part, and remembers what it cost. */
export class LineFunds extends ParentFunds {
  chargedNano: Nano = ZERO;
  usage: TokenUsage | null = null;
  legs: readonly PostedLeg[] = [];
  readonly #spend: Spend;
  readonly #isDone: boolean;

  /** `isDone`: a provider has run the line. */
  constructor(spend: Spend, isDone: boolean) {
    super(isDone ? spendingOnDone(spend) : spend);
    this.#spend = spend;
    this.#isDone = isDone;
  }

  override async capture({ id, amountNano }: Held, capture: Capture): Promise<Charge> {
    const charge = await super.capture({ id, amountNano: this.#isDone ? this.#spend.freeNano : amountNano }, capture);
    this.chargedNano = charge.chargedNano;
    this.usage = capture.cost.usage;
    this.legs = postedLegs(capture.legs);
    return charge;
  }

  override async release(held: Held, release: Release): Promise<void> {
    await super.release(held, release);
    this.legs = [...this.legs, ...postedLegs(release.legs)];
  }
}

/** One leg for each vendor, model and outcome. */
export function summedLegs(legs: readonly PostedLeg[]): readonly PostedLeg[] {
  const sums = new Map<string, PostedLeg>();
  for (const leg of legs) {
    const name = JSON.stringify([leg.vendor, leg.model, leg.reason]);
    const sum = sums.get(name);
    sums.set(
      name,
      sum === undefined
        ? leg
        : {
            ...sum,
            upstreamNano: add(sum.upstreamNano, leg.upstreamNano),
            ms: sum.ms + leg.ms,
            count: sum.count + leg.count,
          },
    );
  }
  return [...sums.values()];
}
