// The calls of a composite: limits each to the remaining time, and records it for the caller.
import type { InnerAnswer, LocalCall, WantedCall } from "../../catalog/local-action.ts";
import type { JsonObject } from "../../catalog/said.ts";
import type { Clock } from "../../core/clock.ts";
import type { Payer } from "../../core/plan.ts";
import type { CallMade } from "./call-made.ts";
import type { SkipReason } from "./pages/read-rung.ts";

export interface CallRecord extends CallMade<Skipped> {
  readonly facet: string;
  /** The flat price includes the calls. */
  readonly charged_cents: 0;
  readonly results?: number;
  readonly error?: string;
}

type Skipped = SkipReason | "not_possible" | "lost_race" | "upstream_bound" | "out_of_time";

export interface SourceDeps {
  readonly clock: Clock;
  isConfigured(action: string, payer: Payer): boolean;
}

const CALL_MS_MAX = 20_000;
/** With less time left, no call begins. */
const LEFT_MS_MIN = 500;

export class SourceCalls {
  readonly records: CallRecord[] = [];
  readonly #call: LocalCall;
  readonly #deps: SourceDeps;
  /** On `clock.elapsedMs()`. */
  readonly untilMs: number;

  /** `msMax` is for all calls together. */
  constructor(call: LocalCall, deps: SourceDeps, msMax: number) {
    this.#call = call;
    this.#deps = deps;
    this.untilMs = deps.clock.elapsedMs() + msMax;
  }

  isConfigured(action: string): boolean {
    return this.#deps.isConfigured(action, this.#call.payer);
  }

  skip(facet: string, action: string, skipped: Skipped): null {
    this.records.push({ ...named(facet, action), ok: false, charged_cents: 0, latency_ms: 0, skipped });
    return null;
  }

  /** Null where the call was not made, which is recorded. */
  async ask(facet: string, action: string, params: JsonObject): Promise<InnerAnswer | null> {
    if (!this.isConfigured(action)) return this.skip(facet, action, "not_configured");
    return this.#made(facet, [{ action, params }]);
  }

  /** Asks both at once; returns the first answer. */
  async race(facet: string, wanted: readonly WantedCall[]): Promise<InnerAnswer | null> {
    const answer = await this.#made(facet, wanted);
    if (answer?.ok) {
      for (const { action } of wanted) if (action !== answer.action) this.skip(facet, action, "lost_race");
    }
    return answer;
  }

  async #made(facet: string, wanted: readonly WantedCall[]): Promise<InnerAnswer | null> {
    const name = wanted.map(({ action }) => action).join(",");
    const leftMs = this.untilMs - this.#deps.clock.elapsedMs();
    if (leftMs < LEFT_MS_MIN) return this.skip(facet, name, "out_of_time");
    const msMax = Math.min(CALL_MS_MAX, leftMs);
    const answer = await this.#call.race(wanted.map((one) => ({ ...one, msMax })));
    // This is our own bound on the cost of a flat price, not a failure of the source.
    if (!answer.ok && answer.error.code === "over_budget") return this.skip(facet, name, "upstream_bound");
    const { ok, id, ms } = answer;
    this.records.push({
      ...named(facet, ok ? answer.action : name),
      ok,
      charged_cents: 0,
      latency_ms: Math.round(ms),
      transaction_id: id,
      ...(ok ? {} : { error: answer.error.code }),
    });
    return answer;
  }

  /** Records a fetch of our own, which is not a vendor's call. */
  noteOwn(own: {
    readonly facet: string;
    /** In the form of an action's id. */
    readonly action: string;
    readonly id: string | null;
    readonly ms: number;
    readonly results: number;
  }): void {
    const { facet, action, id, ms, results } = own;
    this.records.push({
      ...named(facet, action),
      ok: results > 0,
      charged_cents: 0,
      latency_ms: Math.round(ms),
      results,
      ...(id === null ? {} : { transaction_id: id }),
    });
  }

  count(id: string, results: number): void {
    const at = this.records.findIndex(({ transaction_id }) => transaction_id === id);
    const record = this.records[at];
    if (record !== undefined) this.records[at] = { ...record, results };
  }
}

function named(facet: string, name: string) {
  const [provider = "", action = ""] = name.includes(",") ? [name, "race"] : name.split("/");
  return { facet, provider, action };
}
