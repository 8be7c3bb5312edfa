// What a model that acts is given: how a round of it is planned, and the catalog whose actions it calls.
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

/** An action as a model is told of it. */
export interface KnownAction {
  /** `<service>/<action>`. */
  readonly id: string;
  readonly service: string;
  readonly action: string;
  readonly description: string;
  /** Of its params. */
  readonly schema: Json;
  readonly effect: "read" | "write";
  /** What one call can cost. */
  readonly nanoMax: Nano;
  /** Why it can be no tool, such as that its work outlives the call; null: it can. */
  readonly unfit: string | null;
  /** What a caller is told who names it: that its key may not call it, or that no vendor of it is configured; null: it can be had. */
  readonly refusal: GatewayError | null;
}

/** For whom actions are looked at. */
export interface ActionsAudience extends CatalogAudience {
  readonly allows: Allowed;
}

/** An action in the place of a vendor's own tool. */
export interface HostedAction {
  readonly about: string;
  /** The one param that a model gives. */
  readonly takes: string;
  readonly action: KnownAction;
  params(asked: string): Json;
  /** What an answer has found. */
  found(data: unknown): readonly Source[];
}

/** The catalog, as a model that acts sees it. */
export interface ActionsCatalog {
  find(id: string, audience: ActionsAudience): KnownAction | GatewayError;
  /** Those of a service, in the order of their names. */
  ofService(service: string, audience: ActionsAudience): readonly KnownAction[];
  /** The most that a call with these params can cost, or what is wrong with them. */
  price(id: string, params: Json, audience: CatalogAudience): Nano | GatewayError;
  /** What serves a tool that vendors run themselves; null: nothing here. */
  hosted(tool: HostedTool, audience: ActionsAudience): HostedAction | null;
  /** Actions that fit some words, in the rows of core/discover. */
  discover(query: string, audience: ActionsAudience): Promise<readonly Json[]>;
}

/** Keeps what actions have brought while the caller runs a function of its own. */
export interface KeptTurns {
  keep(payer: Payer, key: string, turns: readonly NeutralTurn[]): Promise<void>;
  /** Null: nothing is kept under it for this payer. */
  find(payer: Payer, key: string): Promise<readonly NeutralTurn[] | null>;
}

export interface ActingDeps {
  readonly clock: Clock;
  /** Makes the plan of one round. */
  planRound(call: PlanCall, read: ModelRequest): FramedPlan | GatewayError;
  innerCalls(outer: OuterCall): PlannedCalls;
  readonly actions: ActionsCatalog;
  readonly turns: KeptTurns;
  /** The most that an answer may cost where its caller has not said. */
  readonly costNanoMax: Nano;
  onBroken(error: unknown, id: string): void;
}
