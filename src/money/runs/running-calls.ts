// The calls that run in this process as parts of runs, so that a stop reaches them.
import type { GatewayError } from "../../core/errors.ts";
import type { OpenRun } from "./open-run.ts";

export interface RunningCall {
  readonly run: OpenRun;
  /** Ends the call: its client gets the error, and it is charged as if the client had left. */
  stop(error: GatewayError): void;
}

export class RunningCalls {
  readonly #calls = new Map<string, Set<RunningCall>>();

  /** Adds a call until the returned function is called. */
  add(call: RunningCall): () => void {
    const { accountId } = call.run.record;
    const calls = this.#calls.get(accountId) ?? new Set();
    this.#calls.set(accountId, calls.add(call));
    return () => {
      calls.delete(call);
      if (calls.size === 0 && this.#calls.get(accountId) === calls) this.#calls.delete(accountId);
    };
  }

  /** An account's calls; null: all. */
  of(accountId: string | null): readonly RunningCall[] {
    const sets = accountId === null ? [...this.#calls.values()] : [this.#calls.get(accountId) ?? []];
    return sets.flatMap((calls) => [...calls]);
  }
}
