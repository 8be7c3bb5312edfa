// The tools that every client sees, in this order: few, so that they leave room in a model's context. Each is one endpoint call.
import { z } from "zod";
import { isRecord } from "../../core/json.ts";
import type { InnerCall } from "./inner-http.ts";

/** A tool as data: what a model sees, and the call that it makes. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** JSON Schema of its arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly annotations: Readonly<Record<string, boolean>>;
  /** Validates the arguments; absent: the called endpoint does. */
  readonly params?: z.ZodType<Record<string, unknown>>;
  call(args: Record<string, unknown>): InnerCall;
  /** The most that a purchase can cost, in cents, and whether the caller must set a limit. Absent: it buys nothing. */
  readonly buys?: { readonly centsMax: number; readonly needsMaxCost: boolean };
  /** The part of the answer that the client receives; default: all of it. */
  readonly shows?: "chat";
}

const READ = { readOnlyHint: true, openWorldHint: false };
const PAID = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true };

const action = z
  .string()
  .max(200)
  .regex(/^[\w.-]+\/[\w.-]+$/, "must be `<service>/<action>`, such as brave/search")
  .describe("`<service>/<action>`");
const maxCost = z.number().min(0).describe("Refuse what could cost more").optional();
const idempotencyKey = z.string().min(1).max(255).describe("Repeats get the first answer, uncharged").optional();
const provider = z
  .string()
  .regex(/^[\w-]{1,60}$/, "must be a service, such as e2b")
  .describe("The service of its create_session");
const sessionId = z.string().min(1).max(100);

/** What every paid call accepts besides its own arguments. */
const BOUNDS = { max_cost_cents: maxCost, idempotency_key: idempotencyKey };
const WITH_BOUNDS = z.looseObject(BOUNDS);
const BOUND_PROPERTIES = z.toJSONSchema(WITH_BOUNDS, { io: "input" }).properties ?? {};

function boundHeaders({ max_cost_cents: cents, idempotency_key: key }: Record<string, unknown>) {
  const headers: Record<string, string> = {};
  if (typeof cents === "number") headers["x-tollgate-max-cost-cents"] = String(cents);
  // Quoted, so that a key that begins or ends with a quote stays unchanged.
  if (typeof key === "string") headers["idempotency-key"] = `"${key}"`;
  return headers;
}

/** A call of an action, with the cost limit and the idempotency key that any call may have. */
export function actionCall(id: string, params: unknown, bounds: Record<string, unknown>): InnerCall {
  return { method: "POST", path: `/api/run/${id}`, body: params ?? {}, headers: boundHeaders(bounds) };
}

interface ToolSpec<Shape extends z.ZodRawShape> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly annotations: Tool["annotations"];
  readonly shape: Shape;
  readonly shows?: "chat";
  call(args: z.infer<z.ZodObject<Shape>>): InnerCall;
}

function schemaOf(params: z.ZodType): Tool["inputSchema"] {
  // State explicitly that any object is allowed: schema checkers report a bare schema as a mistake.
  const override = ({ jsonSchema }: { jsonSchema: Record<string, unknown> }) => {
    const { additionalProperties: more } = jsonSchema;
    if (isRecord(more) && Object.keys(more).length === 0) jsonSchema.additionalProperties = true;
  };
  const { $schema: _, ...schema } = z.toJSONSchema(params, { io: "input", override }) as Record<string, unknown>;
  return schema;
}

function tool<Shape extends z.ZodRawShape>({ shape, call, ...words }: ToolSpec<Shape>): Tool {
  const params = z.strictObject(shape);
  let inputSchema: Tool["inputSchema"] | undefined;
  return {
    ...words,
    // Built lazily: the gateway starts faster.
    get inputSchema() {
      inputSchema ??= schemaOf(params);
      return inputSchema;
    },
    params: params as unknown as z.ZodType<Record<string, unknown>>,
    call: (args) => call(args as z.infer<z.ZodObject<Shape>>),
  };
}

export const RUN_ACTION = "run_action";

/** The tools before the typed actions. */
export const TOOLS: readonly Tool[] = [
  tool({
    name: "search_actions",
    title: "Find actions",
    description:
      "Finds paid actions, models and endpoints by what they do, best first, with prices and required params. Free.",
    annotations: READ,
    shape: {
      query: z.string().min(1).max(500).describe("What should be done, in a few words"),
      limit: z.number().int().min(1).max(50).optional(),
    },
    call: (args) => ({ method: "POST", path: "/api/run/core/discover", body: args }),
  }),
  tool({
    name: "describe_action",
    title: "Describe an action",
    description: "The params (JSON Schema), price and an example of one action. Free.",
    annotations: READ,
    shape: { action },
    call: ({ action: id }) => ({ method: "GET", path: `/api/run/${id}` }),
  }),
  tool({
    name: RUN_ACTION,
    title: "Run an action",
    description:
      "Runs an action and pays for it from the balance. A failed run costs nothing. Long work answers with a job_id: ask get_result.",
    annotations: PAID,
    shape: { action, params: z.looseObject({}).describe("As describe_action tells").optional(), ...BOUNDS },
    call: ({ action: id, params, ...options }) => actionCall(id, params, options),
  }),
  tool({
    name: "get_result",
    title: "Get a result",
    description: "The state or result of a job, or the next part of an answer that was cut. Free.",
    annotations: READ,
    shape: {
      job_id: z.string().min(1).max(200).optional(),
      wait_seconds: z.number().int().min(0).max(50).describe("Wait so long for the end of the job").optional(),
      continuation: z.string().min(1).max(200).describe("As a cut answer names it").optional(),
    },
    call: ({ job_id }) => ({ method: "POST", path: "/api/run/core/result", body: { job_id } }),
  }),
  tool({
    name: "get_balance",
    title: "Balance",
    description: "What the account, this key and its run have left. Free.",
    annotations: READ,
    shape: {},
    call: () => ({ method: "GET", path: "/api/v1/account" }),
  }),
  tool({
    name: "start_run",
    title: "Start a run",
    description: "Opens a budget for a part of the work. `<key>+<run id>` as a key spends from it. Free.",
    annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: false },
    shape: {
      budget_cents: z.number().int().min(1),
      label: z.string().min(1).max(100).optional(),
      parent: z.string().max(64).describe("The run that bounds it").optional(),
    },
    call: (args) => ({ method: "POST", path: "/api/v1/runs", body: args }),
  }),
  tool({
    name: "stop_run",
    title: "Stop a run",
    description: "Ends a run for good, with its calls, its jobs and the runs below it. Free.",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    shape: { run_id: z.string().regex(/^[\w.:-]{1,64}$/, "must be the id of a run") },
    call: ({ run_id: id }) => ({ method: "POST", path: `/api/v1/runs/${id}/stop`, body: {} }),
  }),
  tool({
    name: "session",
    title: "Use a session",
    description: "Runs a shell command, or code, in a session that run_action `<provider>/create_session` opened.",
    annotations: PAID,
    shape: {
      provider,
      session_id: sessionId,
      command: z.string().optional(),
      code: z.string().optional(),
      language: z.enum(["python", "javascript", "bash"]).optional(),
      ...BOUNDS,
    },
    call({ provider: service, max_cost_cents, idempotency_key, ...params }) {
      return actionCall(`${service}/session`, params, { max_cost_cents, idempotency_key });
    },
  }),
  tool({
    name: "close",
    title: "Close a session",
    description: "Ends a session and its charges.",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: true },
    shape: { provider, session_id: sessionId },
    call: ({ provider: service, ...params }) => actionCall(`${service}/close`, params, {}),
  }),
];

/** Comes after the typed actions. */
export const ASK_MODEL: Tool = tool({
  name: "ask_model",
  title: "Ask a model",
  description: "Asks a language model, by tier (core/cheap, core/mid, core/best) or by slug.",
  annotations: PAID,
  shape: {
    prompt: z.string().min(1),
    model: z.string().max(200).optional(),
    system: z.string().optional(),
    max_tokens: z.number().int().min(1).optional(),
    ...BOUNDS,
  },
  shows: "chat",
  call({ prompt, model = "core/cheap", system, max_tokens, ...bounds }) {
    const first = system === undefined ? [] : [{ role: "system", content: system }];
    const messages = [...first, { role: "user", content: prompt }];
    return {
      method: "POST",
      path: "/api/llm/v1/chat/completions",
      body: { model, messages, max_tokens },
      headers: boundHeaders(bounds),
    };
  },
});

/** Whether an action makes a purchase for the caller, as its descriptor says. */
function buysOf({ category, effect, price }: Readonly<Record<string, unknown>>): Pick<Tool, "buys"> {
  if (category !== "commerce" || effect !== "write" || !isRecord(price)) return {};
  const centsMax = Number(price.max_cents ?? price.cents ?? 0);
  return centsMax > 0 ? { buys: { centsMax, needsMaxCost: price.max_cost_required === true } } : {};
}

/** An action as a tool with its own name and schema, from its descriptor; free actions take no bounds. */
export function actionTool(id: string, name: string, descriptor: Readonly<Record<string, unknown>>): Tool {
  const { description, params, effect } = descriptor;
  const schema = isRecord(params) ? params : {};
  const own = isRecord(schema.properties) ? schema.properties : {};
  // An action with a param of the same name takes it itself.
  const added = Object.entries(BOUND_PROPERTIES).filter(([bound]) => !Object.hasOwn(own, bound));
  return {
    name,
    title: id,
    description: String(description),
    inputSchema: Object.assign({}, schema, { properties: { ...own, ...Object.fromEntries(added) } }),
    annotations: effect === "read" ? { readOnlyHint: true, openWorldHint: true } : PAID,
    params: WITH_BOUNDS,
    ...buysOf(descriptor),
    call(args) {
      const taken = added.map(([bound]) => bound);
      const [bounds, rest] = [{} as Record<string, unknown>, {} as Record<string, unknown>];
      for (const [argument, value] of Object.entries(args))
        (taken.includes(argument) ? bounds : rest)[argument] = value;
      return actionCall(id, rest, bounds);
    },
  };
}
