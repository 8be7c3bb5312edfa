// What a wire is in which models are asked: all that differs between one such wire and the next. Types and nothing else.

import type { EndpointSpec, ErrorCodec, GatewayRequest, OverSocket, PlanCall } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import type { Json } from "../../core/json.ts";
import type { HostedTool, ThoughtSeal } from "../../core/neutral.ts";
import type { Audience, Caller, Payer } from "../../core/plan.ts";
import type { ModelRequest } from "./model-request.ts";
import type { PromptShape } from "./prompt-shape.ts";

/** What an answer says of itself, whatever the wire. */
export interface AnswerHead {
  /** The answer's id, in the wire's own form. */
  readonly id: string;
  /** Seconds since the epoch. */
  readonly createdS: number;
  /** The slug of the model that serves it. */
  readonly model: string;
}

/** A kept answer with the whole conversation before it, so that no chain of ids has to be walked. */
export interface KeptAnswer {
  readonly input: readonly unknown[];
  readonly response: Json;
  readonly bytes: number;
}

/** A conversation that a request goes on from. */
export interface Earlier {
  readonly items: readonly unknown[];
  readonly bytes: number;
}

export interface KeptItems {
  readonly byId: ReadonlyMap<string, Json>;
  readonly bytes: number;
}

/** What is kept of answers is its payer's alone: another's id finds nothing, and neither does a call whose payer is not known. */
export interface KeptAnswers {
  find(payer: string | null, id: string): Promise<KeptAnswer | null>;
  /** The conversation up to an answer and that answer; or what a caller is told who names one that is not kept. */
  earlier(payer: string | null, id: string): Promise<Earlier | GatewayError>;
  /** The output items with these ids, as far as they are kept; together they are no longer than one answer may be. */
  findItems(payer: string | null, ids: readonly string[], seal: ThoughtSeal): Promise<KeptItems>;
  /** Keeps the items of an answer. One that is too long is not kept, nor is any while the store is away. */
  keepItems(payer: string, response: Json, seal: ThoughtSeal): Promise<void>;
  /** Keeps an answer with its items. False: it is too long, or the store is away. */
  keep(payer: string, input: readonly unknown[], response: Json, seal: ThoughtSeal): Promise<boolean>;
  /** False: there was none. */
  forget(payer: string, id: string): Promise<boolean>;
}

/** What a row of the list of models says in any wire. */
export interface ModelRow {
  readonly id: string;
  /** Seconds since the epoch. */
  readonly created: number;
  readonly kind: string;
  readonly context_length?: number;
  readonly max_output_tokens?: number | null;
}

/** The models that a caller may ask for, known or not. */
export interface ModelRows {
  all(caller: Caller | null): Promise<readonly ModelRow[]>;
  /** By any name that a call may give it. */
  one(name: string, caller: Caller | null): ModelRow | GatewayError;
}

/** What the gateway gives a wire to read calls with. */
export interface WireHost {
  /** The seal of a payer's thoughts; while the payer is not known, one that seals and opens nothing. */
  readonly seals: (payer: Payer | null) => ThoughtSeal;
  /** Milliseconds since the epoch. */
  readonly epochMs: () => number;
  readonly kept: KeptAnswers;
  readonly models: ModelRows;
  /** Whether we serve a tool that vendors run themselves. */
  hosts(tool: HostedTool, audience: Audience): boolean;
}

/** Where something is served: a path and, for clients whose base address ends otherwise, another. */
export interface WirePaths {
  readonly path: string;
  readonly alias?: string;
}

/** A path at which a model is asked and paid for. */
export interface WireCall extends WirePaths {
  read(call: PlanCall, host: WireHost): ModelRequest | GatewayError | Promise<ModelRequest | GatewayError>;
  /** How it is asked over a WebSocket; absent: it is not. */
  overSocket?(host: WireHost): OverSocket;
}

/** The list of models in a wire's own form, at the path that all wires share. */
export interface WireModels {
  /** Whether a request is one of this wire's clients. */
  isAsked(request: GatewayRequest): boolean;
  list(rows: readonly ModelRow[], query: URLSearchParams): Json | GatewayError;
  one(row: ModelRow): Json;
}

/** A path at which texts become vectors. What it reads and answers is OpenAI's format of embeddings. */
export interface WireEmbeddings extends WirePaths {
  read(call: PlanCall): Json | GatewayError;
  answer(body: Json): Json;
}

/** What a counted body names and is kept here; null: it has not been looked for. */
export interface CountContext {
  readonly seal: ThoughtSeal;
  readonly earlier: Earlier | null;
  readonly named: KeptItems | null;
  /** What the `{name}` parts of the path stood for. */
  readonly params: Readonly<Record<string, string>>;
}

/** The text of a prompt that is to be counted, what is wrong with it, or what must be looked for before it can be read. */
export type CountRead =
  | {
      /** Null: no model is named, so the count is that of our own tokenizer. */
      readonly model: string | null;
      readonly shape: PromptShape;
      readonly text: string;
    }
  | GatewayError
  | { readonly previous: string }
  | { readonly ids: readonly string[] };

/** A path that says how many tokens a prompt has, for free. `read` runs in the counter's thread. */
export interface WireCount extends WirePaths {
  readonly bodyBytesMax: number;
  /** What is wrong with the request beside its body; absent: nothing can be. */
  check?(request: GatewayRequest): GatewayError | null;
  read(bytes: Buffer, context: CountContext): CountRead;
  answer(tokens: number): Json;
}

/** A format in which models are asked: a folder of its own exports one, and the list of wires names it. */
export interface ModelWire {
  /** A dialect of the same name passes bytes, both ways. */
  readonly name: string;
  readonly errors: ErrorCodec;
  readonly calls: readonly WireCall[];
  readonly embeddings?: readonly WireEmbeddings[];
  readonly counts?: readonly WireCount[];
  /** Absent: its clients read the list that is in no wire's form. */
  readonly models?: WireModels;
  /** What else its clients ask for, without a plan. */
  free?(host: WireHost): readonly EndpointSpec[];
}
