// Two sets of paths to an account's data: its own below `/api/v1`, for its primary key, and the operator's below `/admin/v1`.
import type { Answer, EndpointShape, EndpointSpec, GatewayRequest } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { type AdminAccountParts, adminEndpoint, changingAccount, withAccount } from "./admin-accounts.ts";
import { changed } from "./changed.ts";
import { type AccountParts, type Answering, endpoint, type Owner, writing } from "./own-endpoint.ts";

export interface Door {
  readonly below: string;
  /** Any method but GET changes the account. */
  open(
    method: EndpointShape["method"],
    path: string,
    answer: (owner: Owner, request: GatewayRequest) => Promise<Answer>,
  ): EndpointSpec;
}

/** An agent key sees its account's money only through its own row. */
function reading(answer: Answering): Answering {
  return async (call) => {
    if (!call.caller.primary) throw new GatewayError("key_cannot_mint_keys");
    return answer(call);
  };
}

export function ownAccess({ forget }: Pick<AccountParts, "forget">): Door {
  const changing = (change: Answering): Answering =>
    writing((call) =>
      changed(
        () => change(call),
        () => forget(call.caller.payer.accountId),
      ),
    );
  return {
    below: "/api/v1",
    open(method, path, answer) {
      const own: Answering = ({ caller, request }) => answer(caller.payer, request);
      return endpoint(method, path, method === "GET" ? reading(own) : changing(own));
    },
  };
}

export function adminAccess(parts: Pick<AdminAccountParts, "books" | "forget">): Door {
  return {
    below: "/admin/v1/accounts/{id}",
    open(method, path, answer) {
      const of = method === "GET" ? withAccount : changingAccount;
      const found = of(parts, ({ accountId, kind }, { request }) =>
        answer({ accountId, sandbox: kind === "sandbox" }, request),
      );
      return adminEndpoint(method, path, found);
    },
  };
}
