// The interface of a format: everything that differs between formats. Types only.

import type { EndpointSpec, ErrorCodec, GatewayRequest, OverSocket, PlanCall } from "../../core/endpoint.ts";
import type { Json } from "../../core/json.ts";
import type { HostedTool, ThoughtSeal } from "../../core/neutral.ts";
import type { Audience, Caller, Payer } from "../../core/plan.ts";
import type { ModelRequest } from "./model-request.ts";
import type { PromptShape } from "./prompt-text.ts";

export interface AnswerHead {
  /** The answer's id, in the format's own form. */
  readonly id: string;
  readonly createdS: number;
  /** The slug of the serving model. */
  readonly model: string;
}

/** A stored answer with the whole conversation before it, so that no chain of ids must be followed. */
export interface KeptAnswer {
  readonly input: readonly unknown[];
  readonly response: Json;
  readonly bytes: number;
}

export interface Earlier {
  readonly items: readonly unknown[];
  readonly bytes: number;
}

export interface KeptItems {
  readonly byId: ReadonlyMap<string, Json>;
  readonly bytes: number;
}

/** Stored answers belong to their payer: other payers and anonymous calls find nothing. */
export interface KeptAnswers {
  find(payer: string | null, id: string): Promise<KeptAnswer | null>;
  /** The conversation up to and including an answer; an error if it is not stored. */
  earlier(payer: string | null, id: string): Promise<Earlier>;
  /** The stored output items with these ids; in total no longer than one answer may be. */
  findItems(payer: string | null, ids: readonly string[], seal: ThoughtSeal): Promise<KeptItems>;
  /** Stores the items of an answer, unless it is too long or the store is unavailable. */
  keepItems(payer: string, response: Json, seal: ThoughtSeal): Promise<void>;
  /** Stores an answer with its items. False: it is too long, or the store is unavailable. */
  keep(payer: string, input: readonly unknown[], response: Json, seal: ThoughtSeal): Promise<boolean>;
  /** False: not found. */
  forget(payer: string, id: string): Promise<boolean>;
}

export interface ModelRow {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly kind: string;
  readonly context_length?: number;
  readonly max_output_tokens?: number | null;
}

/** The models that a caller may use. */
export interface ModelRows {
  all(caller: Caller | null): Promise<readonly ModelRow[]>;
  /** Accepts any name that calls accept. Throws for an unknown one. */
  one(name: string, caller: Caller | null): ModelRow;
}

/** What the gateway provides to a format for reading calls. */
export interface WireHost {
  /** The seal for a payer's thoughts; while the payer is unknown, it neither seals nor opens anything. */
  readonly seals: (payer: Payer | null) => ThoughtSeal;
  readonly epochMs: () => number;
  readonly kept: KeptAnswers;
  readonly models: ModelRows;
  /** True if the gateway serves this tool in the vendor's place. */
  hosts(tool: HostedTool, audience: Audience): boolean;
}

/** A path and, for clients with another base URL, an alias. */
export interface WirePaths {
  readonly path: string;
  readonly alias?: string;
}

export interface WireCall extends WirePaths {
  /** Throws where the request is wrong, as the other readers here do. */
  read(call: PlanCall, host: WireHost): ModelRequest | Promise<ModelRequest>;
  /** The same over a WebSocket; absent: not offered. */
  overSocket?(host: WireHost): OverSocket;
}

/** The list of models in a format, at the path that all formats share. */
export interface WireModels {
  isAsked(request: GatewayRequest): boolean;
  list(rows: readonly ModelRow[], query: URLSearchParams): Json;
  one(row: ModelRow): Json;
}

/** An embeddings path. `read` and `answer` translate to and from OpenAI's format. */
export interface WireEmbeddings extends WirePaths {
  read(call: PlanCall): Json;
  answer(body: Json): Json;
}

/** The stored answers and items that the body refers to; null: not looked up yet. */
export interface CountContext {
  readonly seal: ThoughtSeal;
  readonly earlier: Earlier | null;
  readonly named: KeptItems | null;
  /** The values of the path's `{name}` parts. */
  readonly params: Readonly<Record<string, string>>;
}

/** The text to count, or the references to look up first. */
export type CountRead =
  | {
      /** Null: the request names no model, so our own tokenizer counts. */
      readonly model: string | null;
      readonly shape: PromptShape;
      readonly text: string;
    }
  | { readonly previous: string }
  | { readonly ids: readonly string[] };

/** A free token count of a prompt. `read` runs in the counter's thread. */
export interface WireCount extends WirePaths {
  readonly bodyBytesMax: number;
  /** Checks the request apart from its body; absent: no check. */
  check?(request: GatewayRequest): unknown;
  read(bytes: Buffer, context: CountContext): CountRead;
  answer(tokens: number): Json;
}

/** A format: each folder exports one, and the list of formats includes it. */
export interface ModelWire {
  /** Vendors with a dialect of this name exchange unchanged bytes with the caller. */
  readonly name: string;
  readonly errors: ErrorCodec;
  readonly calls: readonly WireCall[];
  readonly embeddings?: readonly WireEmbeddings[];
  readonly counts?: readonly WireCount[];
  /** Absent: its clients read the gateway's own list. */
  readonly models?: WireModels;
  /** Other endpoints that its clients use, without a plan. */
  free?(host: WireHost): readonly EndpointSpec[];
}
