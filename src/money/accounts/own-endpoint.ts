// What the endpoints below `/api/v1` for an account's keys share.
import type { Clock } from "../../core/clock.ts";
import type { Answer, Call, EndpointShape, EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import type { FailedCalls } from "../../core/usage-rows.ts";
import type { Unsold } from "./allowed.ts";
import type { Books } from "./books.ts";
import type { RuleRecords } from "./rules.ts";

const BODY_BYTES_MAX = 64 * 1024;

export interface KeyParts {
  readonly books: Books;
  readonly rules: RuleRecords;
  readonly clock: Clock;
  readonly unsold: Unsold;
}

export interface AccountParts extends KeyParts {
  /** Calls that were not charged. */
  readonly failedCalls: FailedCalls;
  /** The scope in which the ledger counts a day's model costs. */
  readonly inferenceScope: string;
  /** The run that a request names, as answers show it; null: none. */
  readonly runOf?: (caller: Caller, request: Call["request"]) => Promise<Readonly<Record<string, unknown>> | null>;
  /** Drops the cached rows of an account. */
  readonly forget: (accountId: string) => void;
}

export interface Owner {
  readonly accountId: string;
  readonly sandbox: boolean;
}

export type Answering = (call: Call & { readonly caller: Caller }) => Promise<Answer>;

/** An error for something that does not exist; `detail` is a sentence. */
export function missing(of: NonNullable<GatewayError["options"]["of"]>, detail: string): GatewayError {
  return new GatewayError("not_found", { of, detail });
}

export function endpoint(method: EndpointShape["method"], path: string, answer: Answering): EndpointSpec {
  return {
    method,
    path,
    auth: "key",
    cookies: true,
    bodyBytesMax: BODY_BYTES_MAX,
    answer({ request, caller }) {
      if (caller === null) throw new GatewayError("invalid_token");
      return answer({ request, caller });
    },
  };
}

/** Changes require the primary key of an account that is not frozen. */
export function writing(answer: Answering): Answering {
  return async (call) => {
    if (!call.caller.primary) throw new GatewayError("key_cannot_mint_keys");
    if (call.caller.frozen) throw new GatewayError("account_frozen");
    return answer(call);
  };
}
