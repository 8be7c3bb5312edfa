// One request to a vendor's sidecar process, in place of an HTTP exchange.
import type { WireRequest } from "../build-request.ts";
import type { VendorAnswer } from "../judge-answer.ts";
import { cancelled, failureOfKind, VendorFailure } from "../vendor-failure.ts";
import type { AskedSidecar } from "./sidecar.ts";

export class SidecarExchange {
  readonly #sidecar: AskedSidecar;
  readonly #msMax: number;
  #cancel: ((failure: VendorFailure) => void) | null = null;

  constructor(sidecar: AskedSidecar, msMax: number) {
    this.#sidecar = sidecar;
    this.#msMax = msMax;
  }

  /** Rejects with VendorFailure. */
  async run({ path, body }: WireRequest): Promise<VendorAnswer> {
    const { answer, cancel } = this.#sidecar.ask(path, String(body ?? "null"));
    this.#cancel = cancel;
    const late = { ...failureOfKind("provider_timeout", "the sidecar did not answer in time"), mayHaveRun: true };
    const timer = setTimeout(() => cancel(new VendorFailure(late)), this.#msMax);
    try {
      return await answer;
    } finally {
      clearTimeout(timer);
    }
  }

  abort(): void {
    this.#cancel?.(cancelled());
  }

  /** A sidecar accepts the whole request at once. */
  get accepted(): boolean {
    return this.#cancel !== null;
  }
}
