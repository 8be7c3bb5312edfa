// core/consult: turns what a caller wants into one call, ready to send; or asks one short question where it cannot.
import { z } from "zod";
import { type LocalAction, type LocalCall, localAction, PaidAnswer } from "../../catalog/local-action.ts";
import type { JsonObject } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import { isRecord, parsedJson } from "../../core/json.ts";
import { ZERO } from "../../core/money.ts";
import type { Payer } from "../../core/plan.ts";
import type { Records } from "../../platform/records/records.ts";
import { answersByRules, type ConsultAnswer, type Told, type ToldAction } from "./consult-by-rules.ts";
import { openConversation, type Said } from "./conversation.ts";

export interface Choice {
  readonly service: string;
  readonly action: string;
  readonly endpoint: string;
  readonly description: string;
  /** JSON Schema. */
  readonly schema: JsonObject;
  readonly required: readonly string[];
  /** Params that are fixed: for a row of a table, the one that names the row. */
  readonly fixed: JsonObject;
  /** How well it fits the text, from 0 to 1. */
  readonly fit: number;
}

export interface ConsultDeps {
  readonly records: Records;
  /** The actions that fit a text best among those that this payer can call. */
  find(words: string, countMax: number, payer: Payer): Promise<readonly Choice[]>;
  /** The most that a call with these params costs, in whole cents; or what is wrong with them, in words. */
  check(choice: Choice, params: JsonObject, payer: Payer): number | string;
}

interface Advice {
  readonly choice: Choice;
  readonly params: JsonObject;
  readonly maxCostCents: number;
}

const PRICE_CENTS = 1;
const MODEL = "core/cheap";
const CHOICES_MAX = 5;
/** Together these limits keep the model's input below what a cent buys at the tier's highest price. */
const SCHEMA_CHARS_MAX = 700;
const ABOUT_CHARS_MAX = 160;
const TOLD_CHARS_MAX = 2_000;
const OUTPUT_TOKENS_MAX = 300;
const MS_MAX = 8_000;
const QUESTION_CHARS_MAX = 200;

const consultParams = z.strictObject({
  intent: z
    .string()
    .max(1_000)
    .regex(/\S/, "must not be blank")
    .trim()
    .describe("What should be done; or the answer to the question that came back"),
  conversation_id: z
    .string()
    .max(64)
    .regex(/^conv_[0-9A-Za-z]+$/, "must be a conversation_id that an answer gave")
    .describe("Of the answer before, to go on with its conversation; it is kept for an hour")
    .optional(),
});
type ConsultParams = z.infer<typeof consultParams>;

const TASK = [
  "You turn what somebody wants into one call of an action. `said` is the conversation, oldest first; `actions` are those that there are, the best first, with how well the search thinks that they fit, from 0 to 1.",
  "Answer with the id of the action that fits best and its params, as the text of a JSON object that keeps to the action's schema.",
  "Ask one short question instead, with action none, only where a required param cannot be known from what was said. Else question is empty.",
  "Where no action does what is wanted, action is none, and question says so and what is there instead.",
].join("\n");
const said = z.strictObject({ question: z.string(), action: z.string(), params: z.string() });

const idOf = ({ service, action, fixed }: Choice) =>
  [`${service}/${action}`, ...Object.values(fixed).map(String)].join(" ");

function schemaFor(choices: readonly Choice[]): JsonObject {
  return {
    type: "object",
    properties: {
      question: { type: "string" },
      action: { type: "string", enum: [...choices.map(idOf), "none"] },
      params: { type: "string" },
    },
    required: ["question", "action", "params"],
    additionalProperties: false,
  };
}

function toldAction(choice: Choice): ToldAction {
  const { description, fit } = choice;
  return { id: idOf(choice), about: description.slice(0, ABOUT_CHARS_MAX), fit, params: toldSchema(choice) };
}

/** A summary of a schema in a few hundred characters: types and descriptions, required params first. */
function toldSchema({ schema, required, fixed }: Choice): string {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const names = [...new Set([...required, ...Object.keys(properties)])].filter((name) => fixed[name] === undefined);
  const lines = names.map((name) => {
    const one = properties[name];
    const { type, enum: values, description, format } = isRecord(one) ? one : {};
    const kind = Array.isArray(values) ? values.slice(0, 8).join("|") : String(format ?? type ?? "json");
    const about = typeof description === "string" ? `: ${description.slice(0, 60)}` : "";
    return `${name}${required.includes(name) ? "*" : ""} ${kind}${about}`;
  });
  return lines.join("\n").slice(0, SCHEMA_CHARS_MAX);
}

class Consult {
  readonly #call: LocalCall;
  readonly #deps: ConsultDeps;

  constructor(call: LocalCall, deps: ConsultDeps) {
    this.#call = call;
    this.#deps = deps;
  }

  async run({ intent, conversation_id: id }: ConsultParams): Promise<object | GatewayError> {
    const { payer } = this.#call;
    const conversation = await openConversation(id ?? null, payer, this.#deps.records);
    if (conversation === null) {
      const detail = "conversation_id: this account has no such conversation; one is kept for an hour.";
      return new GatewayError("not_found", { of: "issued_id", param: "conversation_id", detail });
    }
    const told = [...conversation.said, { by: "caller", text: intent } as const];
    // The first request says most about the intent.
    const words = told
      .flatMap(({ by, text }) => (by === "caller" ? [text] : []))
      .join(" ")
      .slice(0, 500);
    const choices = await this.#deps.find(words, CHOICES_MAX, payer);
    const asked = { said: lastOf(told), actions: choices.map(toldAction) };
    // Ask one question at most; after that, return the best guess.
    const hasAsked = conversation.said.some(({ by }) => by === "us");
    // The sandbox's models are simulated, so their advice would be noise.
    const modelled = payer.sandbox ? null : await this.#byModel(asked, choices);
    const isDone = modelled !== null && !(hasAsked && typeof modelled === "string");
    const found = isDone ? modelled : this.#byRules(asked, choices);
    if (typeof found !== "string") {
      await conversation.keep(told);
      return this.#advice(conversation.id, found);
    }
    await conversation.keep([...told, { by: "us", text: found }]);
    const question = { conversation_id: conversation.id, question: found, service: null, action: null, params: null };
    return new PaidAnswer(question, { paidNano: ZERO, isMiss: true });
  }

  #advice(id: string, { choice, params, maxCostCents }: Advice): object {
    const { service, action, endpoint, description } = choice;
    return {
      conversation_id: id,
      question: null,
      service,
      action,
      endpoint,
      description,
      params,
      max_cost_cents: maxCostCents,
    };
  }

  #checked(choice: Choice, given: JsonObject): Advice | string {
    const params = { ...given, ...choice.fixed };
    const cents = this.#deps.check(choice, params, this.#call.payer);
    return typeof cents === "string" ? cents : { choice, params, maxCostCents: cents };
  }

  /** A call or a question; null where no model answered in the right form, or its params do not fit the action. */
  async #byModel(asked: Told, choices: readonly Choice[]): Promise<Advice | string | null> {
    if (choices.length === 0) return null;
    const answer = await this.#call.chat({
      model: MODEL,
      task: TASK,
      given: { said: asked.said.map((one) => ({ ...one })), actions: asked.actions.map((one) => ({ ...one })) },
      schema: schemaFor(choices),
      outputTokensMax: OUTPUT_TOKENS_MAX,
      msMax: MS_MAX,
    });
    const read = answer.ok ? said.safeParse(answer.json) : null;
    return read?.success === true ? this.#read(read.data, choices) : null;
  }

  /** Interprets an answer: a call that its action accepts, a question, or nothing. */
  #read({ action, params: text, question: asked }: ConsultAnswer, choices: readonly Choice[]): Advice | string | null {
    const question = asked.trim().slice(0, QUESTION_CHARS_MAX);
    const choice = choices.find((one) => idOf(one) === action);
    const params = parsedJson(text);
    const advice = choice === undefined || !isRecord(params) ? "" : this.#checked(choice, params as JsonObject);
    if (typeof advice !== "string") return advice;
    return question === "" ? null : question;
  }

  /** The first valid answer of the rules; their last one is a question. */
  #byRules(asked: Told, choices: readonly Choice[]): Advice | string {
    for (const answer of answersByRules(asked)) {
      const read = this.#read(answer, choices);
      if (read !== null) return read;
    }
    return "What should be done, in other words?";
  }
}

/** The end of a conversation, at most TOLD_CHARS_MAX characters. */
function lastOf(told: readonly Said[]): readonly Said[] {
  let left = TOLD_CHARS_MAX;
  return told
    .toReversed()
    .flatMap(({ by, text }) => {
      const part = text.slice(0, Math.max(0, left));
      left -= part.length;
      return part === "" ? [] : [{ by, text: part }];
    })
    .toReversed();
}

export function consultAction(deps: ConsultDeps): LocalAction {
  return localAction<ConsultParams>({
    service: "core",
    action: "consult",
    asked: "help me choose; what should I call; how would I do this here; not sure what to use",
    description:
      "Says which call does what you want: service, action, params that the action takes, and a max_cost_cents; or asks one short question. Goes on with a conversation_id.",
    category: "core",
    keywords:
      "which action should I use; help me choose; advice; plan a call; what params; which tool fits; which call to make; recommend an action",
    effect: "read",
    params: consultParams,
    // A question in place of an action is free.
    price: { mode: "fixed", cents: PRICE_CENTS, freeOnMiss: true },
    upstreamCentsMax: () => PRICE_CENTS,
    run: (params, call) => new Consult(call, deps).run(params),
    example: { params: { intent: "find recent news about heat pumps" } },
  });
}
