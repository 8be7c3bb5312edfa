// Funds from an account's balance: one atomic ledger operation admits a call or returns the exact refusal, and one ends its hold.
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
import { costBeside, costOf, postedLegs, upstreamOf } from "./legs.ts";
import { giveBackRates, type TakenRates, takeRates } from "./minute-rates.ts";
import { isShort, overCeiling, refusal, room, shortError, TEMPORARY_SECONDS } from "./refused-hold.ts";
import { type CallWindows, countedWindow, WINDOW_SECONDS } from "./windows.ts";

/** Leases of this process's open holds, renewed until released. */
export interface Leases {
  keep(hold: HoldRef): void;
  release(hold: HoldRef): void;
  /** Releases a hold that the ledger failed to end, as soon as possible. */
  abandon?(hold: HoldRef): void;
}

export interface LedgerFundsDeps {
  readonly ledger: Ledger;
  readonly leases: Leases;
  readonly clock: Clock;
  /** The id of this process as owner of its holds. */
  readonly owner: string;
  readonly leaseMs: number;
  /** The ledger counts paid calls in the account's rate window, across all processes. */
  readonly countsPaidCalls?: boolean;
  readonly observer: Pick<Observer, "ledgerTook" | "unpaid">;
  /** Counts the rates of keys and groups; left out where callers have none. */
  readonly rates?: CallRates;
  /** The windows of each hold beyond the ledger's own limits. */
  readonly windows: CallWindows;
  /** Called when a ceiling or the cap refuses a call outright: no candidate fitted at any bound. */
  overCeiling?(refused: OverCeiling): void;
  forget(accountId: string): void;
}

export interface PaidRequest {
  readonly requestId: string;
  /** Equal for equal requests, in a run. */
  readonly requestHash?: string | undefined;
  /** Receives the account's remaining requests, where the ledger counts them. */
  readonly rateLimit: { learn(window: WindowState): void };
}

/** The balance, a ceiling, the cap or any budget of the call can be the tightest bound. */
const BOUNDS = 8;
const IDEMPOTENCY_KEEP_MS = 24 * 3_600_000;

/** The ledger's last answer for a hold of this amount; `route` is null where it is the plan's. */
interface Fitted {
  readonly outcome: ReserveOutcome;
  readonly amountNano: Nano;
  readonly route: Route | null;
}

function isRunOver(outcome: ReserveOutcome): boolean {
  return outcome.outcome === "window_full" && outcome.code === "run_budget_exceeded";
}

type NotHeld = Exclude<ReserveOutcome, { readonly outcome: "held" }>;

/** Pays the calls of one caller from its account, within what its key may spend. */
export class LedgerFunds implements Funds {
  readonly #deps: LedgerFundsDeps;
  #caller: Caller;
  readonly #request: PaidRequest;
  /** By call id; null where none was taken. */
  #taken: Map<string, TakenRates> | null = null;

  constructor(deps: LedgerFundsDeps, caller: Caller, request: PaidRequest) {
    this.#deps = deps;
    this.#caller = caller;
    this.#request = request;
  }

  /** Holds the most that the plan can cost. If short, tries its tighter bound, then only the candidates that the free money pays for. */
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

  /** Returns the tokens that the call reserved and did not use. */
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
        const fitted = await this.#fittedOrRaised(plan, request, outcome);
        ({ outcome } = fitted);
        route = fitted.route ?? route;
        request = { ...request, amountNano: fitted.amountNano };
      }
      if (outcome.outcome === "held" && outcome.runLeftNano !== undefined) this.#caller.run?.learn(outcome.runLeftNano);
      this.#deps.observer.ledgerTook("reserve", clock.elapsedMs() - fromMs);
      const window = countedWindow(outcome, this.#caller.requestsPerMinute);
      if (window !== null) this.#request.rateLimit.learn(window);
      if (outcome.outcome !== "held") return this.#notHeld(outcome, plan, request);
      // The job that continues the work renews a kept hold; a call's hold lives as long as its process.
      if (plan.hold.kind === "call") leases.keep(request);
      const { amountNano } = request;
      return route === null ? { id, amountNano } : { id, amountNano, route };
    } catch (cause) {
      const told = cause instanceof GatewayError ? cause : null;
      // The quote's error, not the ledger's: nothing is held, and a repeat may be wrong.
      if (told !== null && told.code !== "ledger_unavailable") return told;
      // If it is unknown whether the hold was placed, a void releases it or keeps it from being placed late.
      if (told?.options.nothingDone !== true) ledger.void(request, "reserve failed").catch(() => {});
      return new GatewayError("ledger_unavailable", { cause, retryAfterSeconds: TEMPORARY_SECONDS });
    }
  }

  /** As `#fitted`; where a run's budget is too small for anything, and its rules say so, waits for a larger one. */
  async #fittedOrRaised(plan: Plan, request: ReserveRequest, refused: ReserveOutcome): Promise<Fitted> {
    const fitted = await this.#fitted(plan, request, refused);
    const { outcome } = fitted;
    const run = isRunOver(outcome) ? ((await this.#caller.run?.larger()) ?? null) : null;
    if (run === null) return fitted;
    this.#caller = { ...this.#caller, run };
    const windows = this.#deps.windows.of(this.#caller, plan.tags ?? []);
    const raised = { ...request, windows, nowMs: this.#deps.clock.epochMs() };
    const again = await this.#deps.ledger.reserve(raised);
    return isShort(again)
      ? this.#fittedOrRaised(plan, raised, again)
      : { outcome: again, amountNano: request.amountNano, route: null };
  }

  /** After a refusal for lack of money, tries less: the tighter bound, then without candidates that cost more than is free. */
  async #fitted({ quote }: Plan, request: ReserveRequest, refused: ReserveOutcome): Promise<Fitted> {
    const { ledger } = this.#deps;
    let { amountNano } = request;
    let outcome = refused;
    let route: Route | null = null;
    // Refuse an empty account before counting tokens.
    if (isShort(outcome) && quote.tighten !== null && room(outcome).freeNano > ZERO) {
      const tighter = await quote.tighten();
      if (tighter < amountNano) {
        amountNano = tighter;
        outcome = await ledger.reserve({ ...request, amountNano });
      }
    }
    for (let bound = 0; bound < BOUNDS && isShort(outcome); bound++) {
      const { freeNano } = room(outcome);
      // Only the refusal says how much other calls of the run hold.
      const shared = isRunOver(outcome) ? await quote.share?.(freeNano) : null;
      const within = shared ?? quote.within?.(freeNano) ?? null;
      if (within === null || within.nano >= amountNano) break;
      amountNano = within.nano;
      route = within.route;
      outcome = await ledger.reserve({ ...request, amountNano });
    }
    return { outcome, amountNano, route };
  }

  #notHeld(outcome: NotHeld, plan: Plan, { amountNano, nowMs }: ReserveRequest): Repeated | GatewayError {
    if (outcome.outcome === "idempotency_done") return { replayOf: outcome.holdId };
    // A kept hold stays open while its work runs; its launch was answered long ago.
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
        legs: postedLegs(legs, this.#request.requestHash),
        beside: costBeside(legs),
        tags,
      });
      this.#deps.observer.ledgerTook("post", clock.elapsedMs() - fromMs);
      if (posted.outcome === "posted" || posted.outcome === "spooled") {
        const { chargedNano, chargedCents, absorbedNano, balanceNano } = posted;
        if (posted.runLeftNano !== undefined) this.#caller.run?.learn(posted.runLeftNano);
        if (posted.strict === true || posted.marked === true) this.#deps.forget(hold.accountId);
        if (posted.marked === true) this.#caller.run?.marked();
        this.#noteUnpaid(chargedNano, costOf(legs));
        const absorbReason = absorbedNano > 0 ? "usage_above_hold" : null;
        return { transactionId: id, chargedNano, chargedCents, absorbedNano, absorbReason, balanceNano };
      }
      // The hold ended before the answer did, so it cannot be charged late: its money is free again and the cost is ours.
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

  /** The amount to hold where the plan may take a share; null where it takes its full cost. A refusal reports what is left of the cap. */
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
    if (this.#caller.run !== undefined) bounds.push(this.#caller.run.leftNano);
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
      // Work that outlives its request is not a call in flight: it has its own slots.
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
      // A call ends with its process; whatever is uncharged by then is never charged.
      unwritten: kept === null,
      isNew: kept === null,
      nowMs: clock.epochMs(),
      ...(countsPaidCalls ? { window: { limit: requestsPerMinute, seconds: WINDOW_SECONDS } } : null),
    };
  }

  /** Scoped per payer and key, so that no caller sees another's answers. */
  #idempotency(plan: Plan): ReserveRequest["idempotency"] {
    if (plan.idempotency === null) return null;
    const { key, fingerprint } = plan.idempotency;
    return { key: `${this.#caller.payer.keyId} ${key}`, fingerprint, keepMs: IDEMPOTENCY_KEEP_MS };
  }
}
