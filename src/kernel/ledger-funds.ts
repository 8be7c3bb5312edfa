// Funds from an account's balance: one atomic ledger operation lets a call in or says exactly why not, and one ends its hold.
import type { Clock } from "../core/clock.ts";
import { GatewayError } from "../core/errors.ts";
import { least, minus, type Nano, ZERO } from "../core/money.ts";
import type { Caller, Capture, Charge, Funds, Held, Plan, Release, Repeated, Within } from "../core/plan.ts";
import type { Route, TokenUsage } from "../core/route.ts";
import type { OverCeiling } from "../money/events/refusals.ts";
import type { HoldRef, Ledger, ReserveOutcome, ReserveRequest } from "../money/ledger/model/ledger.ts";
import type { CallRates } from "../platform/limits/call-rates.ts";
import type { WindowState } from "../platform/limits/request-windows.ts";
import type { Observer } from "../platform/observe/observer.ts";
import { countedWindow, WINDOW_SECONDS } from "./counted-window.ts";
import { costBeside, costOf, postedLegs, upstreamOf } from "./legs.ts";
import { giveBackRates, type TakenRates, takeRates } from "./minute-rates.ts";
import { isShort, overCeiling, refusal, room, shortError, TEMPORARY_SECONDS } from "./refused-hold.ts";
import type { CallWindows } from "./windows.ts";

/** Leases of this process's running holds: renewed until released. */
export interface Leases {
  keep(hold: HoldRef): void;
  release(hold: HoldRef): void;
  /** What the ledger did not end is freed as soon as it can be. */
  abandon?(hold: HoldRef): void;
}

/** What all calls that an account pays for share. */
export interface LedgerFundsDeps {
  readonly ledger: Ledger;
  readonly leases: Leases;
  readonly clock: Clock;
  /** This process, as the owner of its holds. */
  readonly owner: string;
  readonly leaseMs: number;
  /** The ledger counts paid calls against the account's window, for all processes together. */
  readonly countsPaidCalls?: boolean;
  readonly observer: Pick<Observer, "ledgerTook" | "unpaid">;
  /** Where rates of keys and groups are counted; left out: callers have none. */
  readonly rates?: CallRates;
  /** What holds bring to be counted in beside what the ledger bounds itself. */
  readonly windows: CallWindows;
  /** Hears of calls that a ceiling or the cap has refused for good: none of their candidates fitted, at no bound. Left out: it is not told. */
  overCeiling?(refused: OverCeiling): void;
  /** What is remembered of an account no longer holds. */
  forget(accountId: string): void;
}

/** The request that is paid for. */
export interface PaidRequest {
  readonly requestId: string;
  /** Learns how many requests the account has left, where the ledger counts them. */
  readonly rateLimit: { learn(window: WindowState): void };
}

/** A balance, a ceiling, a cap and the budgets that a call is under can each be what leaves the least. */
const BOUNDS = 8;
const IDEMPOTENCY_KEEP_MS = 24 * 3_600_000;

/** What the ledger has said last of a hold, of so much; the route is null where it is the plan's. */
interface Fitted {
  readonly outcome: ReserveOutcome;
  readonly amountNano: Nano;
  readonly route: Route | null;
}

type NotHeld = Exclude<ReserveOutcome, { readonly outcome: "held" }>;

/** The calls of one caller, paid by its account within what its key may spend. */
export class LedgerFunds implements Funds {
  readonly #deps: LedgerFundsDeps;
  readonly #caller: Caller;
  readonly #request: PaidRequest;
  /** By the call's id; null: none was taken. */
  #taken: Map<string, TakenRates> | null = null;

  constructor(deps: LedgerFundsDeps, caller: Caller, request: PaidRequest) {
    this.#deps = deps;
    this.#caller = caller;
    this.#request = request;
  }

  /**
   * Places the hold for the most the plan can cost. Where that is refused for want of money, the plan's tighter bound is asked for and
   * tried once; after that, those of its candidates that what is free pays for.
   */
  reserve(plan: Plan, id: string, parent: string | null): Promise<Held | Repeated | GatewayError> {
    const { rates } = this.#deps;
    if (rates === undefined || this.#caller.rates === undefined) return this.#hold(plan, id, parent);
    return this.#holdWithin(rates, plan, id, parent);
  }

  async #holdWithin(rates: CallRates, plan: Plan, id: string, parent: string | null) {
    const taken = await takeRates(this.#caller, plan, rates);
    if (taken instanceof GatewayError) return taken;
    const held = await this.#hold(plan, id, parent);
    if (taken === null) return held;
    if ("amountNano" in held) {
      this.#taken ??= new Map();
      this.#taken.set(id, taken);
    } else giveBackRates(taken, this.#caller.payer.accountId, rates, "none");
    return held;
  }

  /** Of the tokens that the call could use, those that it did not. */
  #giveBack(id: string, used: TokenUsage | null): void {
    const taken = this.#taken?.get(id);
    const { rates } = this.#deps;
    if (taken === undefined || rates === undefined) return;
    this.#taken?.delete(id);
    giveBackRates(taken, this.#caller.payer.accountId, rates, used);
  }

  async #hold(plan: Plan, id: string, parent: string | null): Promise<Held | Repeated | GatewayError> {
    const { ledger, leases, clock } = this.#deps;
    const fromMs = clock.elapsedMs();
    let request = this.#reserveRequest(plan, id, parent);
    let route: Route | null = null;
    try {
      const share = plan.quote.share === undefined ? null : await this.#shareOf(plan);
      if (share !== null) {
        ({ route } = share);
        request = { ...request, amountNano: share.nano };
      }
      let outcome = await ledger.reserve(request);
      if (isShort(outcome)) {
        const fitted = await this.#fitted(plan, request, outcome);
        ({ outcome } = fitted);
        route = fitted.route ?? route;
        request = { ...request, amountNano: fitted.amountNano };
      }
      this.#deps.observer.ledgerTook("reserve", clock.elapsedMs() - fromMs);
      const window = countedWindow(outcome, this.#caller.requestsPerMinute);
      if (window !== null) this.#request.rateLimit.learn(window);
      if (outcome.outcome !== "held") return this.#notHeld(outcome, plan, request);
      // A kept hold is renewed by the job that goes on with it; a call's hold lives as long as its process.
      if (plan.hold.kind === "call") leases.keep(request);
      const { amountNano } = request;
      return route === null ? { id, amountNano } : { id, amountNano, route };
    } catch (cause) {
      // Where it is not known whether the hold was placed, a void releases it, or keeps it from being placed late.
      const nothingDone = cause instanceof GatewayError && cause.options.nothingDone;
      if (!nothingDone) ledger.void(request, "reserve failed").catch(() => {});
      return new GatewayError("ledger_unavailable", { cause, retryAfterSeconds: TEMPORARY_SECONDS });
    }
  }

  /** Tries again for less what was refused for want of money: by the tighter bound, then without the candidates that cost more than is free. */
  async #fitted({ quote }: Plan, request: ReserveRequest, refused: ReserveOutcome): Promise<Fitted> {
    const { ledger } = this.#deps;
    let { amountNano } = request;
    let outcome = refused;
    let route: Route | null = null;
    // An account that has nothing at all is refused before anything is counted.
    if (isShort(outcome) && quote.tighten !== null && room(outcome).freeNano > ZERO) {
      const tighter = await quote.tighten();
      if (tighter < amountNano) {
        amountNano = tighter;
        outcome = await ledger.reserve({ ...request, amountNano });
      }
    }
    for (let bound = 0; bound < BOUNDS && isShort(outcome); bound++) {
      const within = quote.within?.(room(outcome).freeNano) ?? null;
      if (within === null || within.nano >= amountNano) break;
      amountNano = within.nano;
      route = within.route;
      outcome = await ledger.reserve({ ...request, amountNano });
    }
    return { outcome, amountNano, route };
  }

  #notHeld(outcome: NotHeld, plan: Plan, { amountNano, nowMs }: ReserveRequest): Repeated | GatewayError {
    if (outcome.outcome === "idempotency_done") return { replayOf: outcome.holdId };
    // A kept hold is open for as long as its work runs, and its launch was answered long ago.
    if (outcome.outcome === "idempotency_in_progress" && plan.hold.kind === "kept") return { replayOf: outcome.holdId };
    if (!isShort(outcome)) return refusal(outcome, nowMs);
    if (outcome.outcome !== "insufficient") this.#deps.overCeiling?.(overCeiling(outcome, this.#caller.payer));
    const { budgets } = this.#caller;
    const asked = { plan, amount: amountNano, nowMs };
    return shortError(outcome, budgets === undefined ? asked : { ...asked, budgets });
  }

  async capture({ id }: Held, { cost, served, legs, tags = [] }: Capture): Promise<Charge> {
    const { ledger, leases, clock } = this.#deps;
    const hold = this.#refOf(id);
    const fromMs = clock.elapsedMs();
    try {
      const posted = await ledger.post({
        accountId: hold.accountId,
        holdId: hold.holdId,
        amountNano: cost.chargeNano,
        upstreamNano: upstreamOf(legs),
        absorbReason: "usage_above_hold",
        provider: served.provider,
        served: served.model,
        usage: cost.usage,
        estimated: cost.estimated,
        priceVersion: cost.priceVersion,
        legs: postedLegs(legs),
        beside: costBeside(legs),
        tags,
      });
      this.#deps.observer.ledgerTook("post", clock.elapsedMs() - fromMs);
      if (posted.outcome === "posted" || posted.outcome === "spooled") {
        const { chargedNano, chargedCents, absorbedNano, balanceNano } = posted;
        if (posted.strict === true || posted.marked === true) this.#deps.forget(hold.accountId);
        this.#noteUnpaid(chargedNano, costOf(legs));
        const absorbReason = absorbedNano > 0 ? "usage_above_hold" : null;
        return { transactionId: id, chargedNano, chargedCents, absorbedNano, absorbReason, balanceNano };
      }
      // The hold had ended before the answer did, and cannot be charged late: its money is free again, so the cost is ours.
      return {
        transactionId: id,
        chargedNano: ZERO,
        chargedCents: 0,
        absorbedNano: cost.chargeNano,
        absorbReason: `hold_${posted.outcome}`,
        balanceNano: null,
      };
    } catch (error) {
      leases.abandon?.(hold);
      throw error;
    } finally {
      leases.release(hold);
      this.#giveBack(id, cost.usage);
    }
  }

  async release({ id }: Held, { reason, keyFate, legs }: Release): Promise<void> {
    const { ledger, leases, clock } = this.#deps;
    const hold = this.#refOf(id);
    const upstreamNano = costOf(legs);
    const fromMs = clock.elapsedMs();
    try {
      const { outcome } = await ledger.void(hold, reason, { keyFate, upstreamNano });
      if (outcome === "voided") this.#noteUnpaid(ZERO, upstreamNano);
      this.#deps.observer.ledgerTook("void", clock.elapsedMs() - fromMs);
    } catch (error) {
      leases.abandon?.(hold);
      throw error;
    } finally {
      leases.release(hold);
      this.#giveBack(id, null);
    }
  }

  #noteUnpaid(chargedNano: Nano, costNano: Nano): void {
    if (!this.#caller.payer.sandbox) this.#deps.observer.unpaid(chargedNano, costNano);
  }

  async balance(): Promise<Nano | null> {
    const account = await this.#deps.ledger.account(this.#caller.payer.accountId);
    return account === null ? null : minus(account.grantedNano, account.spentNano);
  }

  /** What the plan takes where it may take a part of what is free; null: all that it costs. What is left of the cap, its refusal says. */
  async #shareOf({ quote, maxCostNano, inference }: Plan): Promise<Within | null> {
    if (quote.share === undefined) return null;
    const { accountId, keyId } = this.#caller.payer;
    const [account, key] = await Promise.all([
      this.#deps.ledger.account(accountId),
      this.#deps.ledger.key(accountId, keyId),
    ]);
    if (account === null || key === null) return null;
    const bounds = [minus(minus(account.grantedNano, account.spentNano), account.heldNano)];
    if (key.ceilingNano !== null) bounds.push(minus(minus(key.ceilingNano, key.periodSpentNano), key.periodHeldNano));
    if (inference) bounds.push(this.#caller.inferenceCapNano);
    const share = await quote.share(bounds.reduce(least));
    return share !== null && (maxCostNano === null || share.nano <= maxCostNano) ? share : null;
  }

  async charged(id: string): Promise<Charge | null> {
    const [posting, balanceNano] = await Promise.all([
      this.#deps.ledger.transaction(this.#caller.payer.accountId, id),
      this.balance(),
    ]);
    if (posting === null) return null;
    const { transactionId, amountNano: chargedNano, chargedCents, absorbedNano, absorbReason } = posting;
    return { transactionId, chargedNano, chargedCents, absorbedNano, absorbReason, balanceNano };
  }

  #refOf(holdId: string): HoldRef {
    return { accountId: this.#caller.payer.accountId, holdId };
  }

  #reserveRequest(plan: Plan, id: string, parentId: string | null): ReserveRequest {
    const { owner, leaseMs, clock, countsPaidCalls, windows } = this.#deps;
    const { payer, inFlightMax, requestsPerMinute } = this.#caller;
    const kept = plan.hold.kind === "kept" ? plan.hold : null;
    const inFlight = { scope: "account", max: inFlightMax, code: "concurrency_limit" } as const;
    return {
      accountId: payer.accountId,
      holdId: id,
      keyId: payer.keyId,
      parentId,
      amountNano: plan.quote.nano,
      // What outlives its request is no call in flight: it has slots of its own.
      slots: kept === null ? [inFlight, ...plan.slots] : plan.slots,
      inference: plan.inference,
      windows: windows.of(this.#caller, plan.tags ?? kept?.tags ?? []),
      owner: kept?.owner ?? owner,
      leaseMs: kept?.leaseMs ?? leaseMs,
      onExpire: kept?.onExpire ?? "void",
      requestId: this.#request.requestId,
      operation: plan.operation,
      asked: plan.asked,
      effect: plan.effect,
      idempotency: this.#idempotency(plan),
      // A call ends with its process; what it has not been charged for by then is never charged.
      unwritten: kept === null,
      nowMs: clock.epochMs(),
      ...(countsPaidCalls ? { window: { limit: requestsPerMinute, seconds: WINDOW_SECONDS } } : null),
    };
  }

  /** The header's value counts per payer and key: no caller meets another's answers. */
  #idempotency(plan: Plan): ReserveRequest["idempotency"] {
    if (plan.idempotency === null) return null;
    const { key, fingerprint } = plan.idempotency;
    return { key: `${this.#caller.payer.keyId} ${key}`, fingerprint, keepMs: IDEMPOTENCY_KEEP_MS };
  }
}
