// What endpoints have in common that an account's own keys call below `/api/v1`.
import type { Clock } from "../../core/clock.ts";
import type { Answer, Call, EndpointShape, EndpointSpec } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import type { FailedCalls } from "../../core/usage-rows.ts";
import type { Unsold } from "./allowed.ts";
import type { Books } from "./books.ts";
import type { RuleRecords } from "./rules.ts";

const BODY_BYTES_MAX = 64 * 1024;

/** What the keys of an account are made and changed with. */
export interface KeyParts {
  readonly books: Books;
  readonly rules: RuleRecords;
  readonly clock: Clock;
  readonly unsold: Unsold;
}

export interface AccountParts extends KeyParts {
  /** Calls that were not charged. */
  readonly failedCalls: FailedCalls;
  /** Where the ledger counts what models cost on a day. */
  readonly inferenceScope: string;
  /** What is remembered of an account's keys must be read again. */
  readonly forget: (accountId: string) => void;
}

/** Whose something is. */
export interface Owner {
  readonly accountId: string;
  readonly sandbox: boolean;
}

export type Answering = (call: Call & { readonly caller: Caller }) => Promise<Answer | GatewayError>;

/** An endpoint of an account's own, for any of its keys. */
export function endpoint(method: EndpointShape["method"], path: string, answer: Answering): EndpointSpec {
  return {
    method,
    path,
    auth: "key",
    cookies: true,
    bodyBytesMax: BODY_BYTES_MAX,
    answer: ({ request, caller }) =>
      caller === null ? new GatewayError("invalid_token") : answer({ request, caller }),
  };
}

/** Changing keys takes the primary key of an account in good standing. */
export function writing(answer: Answering): Answering {
  return async (call) => {
    if (!call.caller.primary) return new GatewayError("key_cannot_mint_keys");
    if (call.caller.frozen) return new GatewayError("account_frozen");
    return answer(call);
  };
}
