// Runs the scripts of a session's adapter, each with its own timeout.

import type { Adapter } from "../../catalog/catalog.ts";
import type { JsonObject } from "../../catalog/said.ts";
import {
  type BoxCommand,
  BoxGone,
  type BoxOutput,
  type NewBox,
  type SessionContext,
  type SessionSpec,
} from "../../catalog/session.ts";
import { failureOfKind, VendorFailure } from "../../upstream/vendor-failure.ts";
import type { SessionsDeps } from "./deps.ts";

const CREATE_MS_MAX = 60_000;
const SHORT_MS_MAX = 15_000;
/** The vendor ends a command itself; we wait this much longer. */
export const COMMAND_MS_MORE = 15_000;
/** Applies to stdout and stderr separately. */
const OUTPUT_CHARS_MAX = 262_144;
const TIMED_OUT = 124;

export interface Asking {
  readonly adapter: Adapter;
  readonly requestId: string;
  readonly sandboxFault: string | null;
  readonly signal: AbortSignal;
}

/** Cuts a text to the maximum length and makes it well-formed. */
function told(text: string): { readonly text: string; readonly isCut: boolean } {
  const isCut = text.length > OUTPUT_CHARS_MAX;
  return { text: (isCut ? text.slice(0, OUTPUT_CHARS_MAX) : text).toWellFormed(), isCut };
}

function outputOf({ stdout, stderr, exit_code, timed_out, truncated }: BoxOutput): BoxOutput {
  const [out, err] = [told(stdout), told(stderr)];
  const isCut = truncated === true || out.isCut || err.isCut;
  return {
    stdout: out.text,
    stderr: err.text,
    exit_code: timed_out === true ? TIMED_OUT : exit_code,
    ...(timed_out === true ? { timed_out } : {}),
    ...(isCut ? { truncated: true as const } : {}),
  };
}

export class SessionVendor {
  readonly #deps: Pick<SessionsDeps, "vendorScript">;

  constructor(deps: Pick<SessionsDeps, "vendorScript">) {
    this.#deps = deps;
  }

  create(asking: Asking, wanted: Omit<NewBox, "minutes">): Promise<JsonObject> {
    const { createMsMax = CREATE_MS_MAX, leaseMinutes } = specOf(asking);
    const box = { ...wanted, minutes: leaseMinutes };
    return this.#script(asking, createMsMax, (spec, context) => spec.create(context, box));
  }

  /** Throws BoxGone as well. */
  async run(asking: Asking, box: JsonObject, command: BoxCommand): Promise<BoxOutput> {
    const msMax = command.timeoutMs + COMMAND_MS_MORE;
    return outputOf(await this.#script(asking, msMax, (spec, context) => spec.run(context, box, command)));
  }

  /** Whether the box exists; if so, extends its life at the vendor. Throws BoxGone or VendorFailure. */
  async keepOpen(asking: Asking, box: JsonObject): Promise<boolean> {
    return this.#script(asking, SHORT_MS_MAX, async (spec, context) => {
      if (!(await spec.isOpen(context, box))) return false;
      await spec.extend?.(context, box, spec.leaseMinutes);
      return true;
    });
  }

  close(asking: Asking, box: JsonObject): Promise<void> {
    return this.#script(asking, SHORT_MS_MAX, (spec, context) => spec.close(context, box));
  }

  closeLabelled(asking: Asking, label: string): Promise<void> {
    return this.#script(asking, SHORT_MS_MAX, (spec, context) => spec.closeLabelled(context, label));
  }

  async #script<T>(
    asking: Asking,
    msMax: number,
    script: (spec: SessionSpec, context: SessionContext) => Promise<T>,
  ): Promise<T> {
    const spec = specOf(asking);
    const order = { ...asking, name: "sessions", msMax };
    try {
      return await this.#deps.vendorScript((context) => script(spec, context), order);
    } catch (error) {
      if (error instanceof VendorFailure || error instanceof BoxGone) throw error;
      // The script got an unexpected answer, so its request may have run.
      throw new VendorFailure({ ...failureOfKind("provider_malformed", String(error)), mayHaveRun: true });
    }
  }
}

/** Throws VendorFailure where the operator has removed the vendor since. */
function specOf({ adapter: { spec, configured } }: Asking): SessionSpec {
  if (spec.sessions === undefined || !configured)
    throw new VendorFailure({ ...failureOfKind("provider_auth_failed", "not configured"), mayHaveRun: false });
  return spec.sessions;
}
