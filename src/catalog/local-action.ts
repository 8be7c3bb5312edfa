// An action that we serve ourselves: a function behind the same price, hold and envelope as a vendor's.
import type { GatewayError } from "../errors.ts";
import type { Caller, GatewayRequest } from "../plan.ts";
import type { ActionFacts, JsonObject, Params } from "./action.ts";

/** What a local action is told beside its params. */
export interface LocalCall {
  readonly caller: Caller;
  readonly request: GatewayRequest;
}

export interface LocalAction<P = Params> extends ActionFacts<P> {
  readonly service: string;
  readonly action: string;
  /** The `data` of the envelope, as JSON can write it; or what the caller is told instead, free of charge. */
  run(params: P, call: LocalCall): unknown | GatewayError | Promise<unknown | GatewayError>;
  readonly example: { readonly params: JsonObject };
}

/** Gives a local action the types of its params; outside of its file they are forgotten. */
export function localAction<P>(spec: LocalAction<P>): LocalAction {
  return spec as unknown as LocalAction;
}
