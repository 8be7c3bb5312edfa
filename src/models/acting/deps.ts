// The dependencies of the tool loop: how to plan a round, and the catalog of actions.
import type { Audience as CatalogAudience } from "../../catalog/catalog.ts";
import type { Clock } from "../../core/clock.ts";
import type { FramedPlan, PlanCall } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { Nano } from "../../core/money.ts";
import type { HostedTool, NeutralTurn, Source } from "../../core/neutral.ts";
import type { Allowed, Payer } from "../../core/plan.ts";
import type { OuterCall, PlannedCalls } from "../../kernel/inner-call.ts";
import type { ModelRequest } from "../formats/model-request.ts";

export interface KnownAction {
  /** `<service>/<action>`. */
  readonly id: string;
  readonly service: string;
  readonly action: string;
  readonly description: string;
  /** The JSON Schema of its params. */
  readonly schema: Json;
  readonly effect: "read" | "write";
  /** The most that one call can cost. */
  readonly nanoMax: Nano;
  /** Why it cannot be a tool, such as work that outlives the call; null: it can. */
  readonly unfit: string | null;
  /** The error for a caller who names it: the key may not call it, or no vendor of it is configured; null: it is available. */
  readonly refusal: GatewayError | null;
}

/** The audience that actions are looked up for. */
export interface ActionsAudience extends CatalogAudience {
  readonly allows: Allowed;
}

/** An action that replaces a vendor's built-in tool. */
export interface HostedAction {
  readonly about: string;
  /** The one param that the model supplies. */
  readonly takes: string;
  readonly action: KnownAction;
  params(asked: string): Json;
  found(data: unknown): readonly Source[];
}

export interface ActionsCatalog {
  find(id: string, audience: ActionsAudience): KnownAction | GatewayError;
  /** A service's actions, by name. */
  ofService(service: string, audience: ActionsAudience): readonly KnownAction[];
  /** The most that a call with these params can cost, or an error in the params. */
  price(id: string, params: Json, audience: CatalogAudience): Nano | GatewayError;
  /** The action that replaces a vendor's built-in tool; null where there is none. */
  hosted(tool: HostedTool, audience: ActionsAudience): HostedAction | null;
  /** Actions that match a query, as rows of core/discover. */
  discover(query: string, audience: ActionsAudience): Promise<readonly Json[]>;
}

/** Stores action results while the caller runs one of its own functions. */
export interface KeptTurns {
  keep(payer: Payer, key: string, turns: readonly NeutralTurn[]): Promise<void>;
  /** Null where this payer has nothing stored under it. */
  find(payer: Payer, key: string): Promise<readonly NeutralTurn[] | null>;
}

export interface ActingDeps {
  readonly clock: Clock;
  planRound(call: PlanCall, read: ModelRequest): FramedPlan | GatewayError;
  innerCalls(outer: OuterCall): PlannedCalls;
  readonly actions: ActionsCatalog;
  readonly turns: KeptTurns;
  /** The most that an answer may cost where the caller sets no limit. */
  readonly costNanoMax: Nano;
  onBroken(error: unknown, id: string): void;
}
