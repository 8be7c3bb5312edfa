// One call in the responses wire, as bytes; every answer must conform to the open specification.
import { readFileSync } from "node:fs";
import { Ajv2020 } from "ajv/dist/2020.js";
import { expect } from "vitest";

export type Json = Record<string, unknown>;

interface Schema {
  readonly events: readonly string[];
  readonly schemas: Readonly<Record<string, { properties: { type?: { enum: readonly string[] } } }>>;
}

const FILE = new URL("../fixtures/open-responses/schema.json", import.meta.url);
const schema = JSON.parse(readFileSync(FILE, "utf8")) as Schema;
const ajv = new Ajv2020({ strict: false, allErrors: true });
ajv.addSchema(schema, "open-responses");
const EVENTS = new Map(schema.events.map((name) => [schema.schemas[name]?.properties.type?.enum[0] ?? "", name]));
/** OpenAI's own items, which the open specification leaves to vendors. */
const ITEMS_BEYOND = new Set(["custom_tool_call", "image_generation_call"]);

/** The violations of an object of the specification; empty where there are none. */
export function flaws(name: string, value: unknown): readonly string[] {
  const valid = ajv.getSchema(`open-responses#/schemas/${name}`);
  if (valid === undefined) throw new Error(`no schema of ${name}`);
  return valid(value)
    ? []
    : (valid.errors ?? []).map(({ instancePath, message }) => `${name}${instancePath} ${message}`);
}

/** The parts of the object that the specification covers: without OpenAI's own tools and items. */
function known(response: Json): Json {
  const list = (value: unknown) => (Array.isArray(value) ? (value as Json[]) : []);
  const choice = response.tool_choice as Json | string;
  return {
    ...response,
    tools: list(response.tools).filter(({ type }) => type === "function"),
    output: list(response.output).filter(({ type }) => !ITEMS_BEYOND.has(String(type))),
    ...(typeof choice === "object" && choice.type === "custom" ? { tool_choice: "auto" } : {}),
  };
}

export function expectResponse(response: Json): void {
  expect(flaws("ResponseResource", known(response))).toEqual([]);
}

function expectEvent(event: Json): void {
  const name = EVENTS.get(String(event.type));
  const item = event.item as Json | undefined;
  if (name === undefined) expect(String(event.type)).toMatch(/^response\.custom_tool_call_input\.(delta|done)$/);
  else if (item !== undefined && ITEMS_BEYOND.has(String(item.type))) expect(item.id).toBeTruthy();
  else if (event.response !== undefined)
    expect(flaws(name, { ...event, response: known(event.response as Json) })).toEqual([]);
  else expect(flaws(name, event)).toEqual([]);
}

/** The order that clients require: numbers without a gap, one open item at a time, deltas only for open items. */
export function expectOrder(events: readonly Json[]): void {
  expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => at));
  const ids = new Set<unknown>();
  let open: unknown = null;
  for (const event of events) {
    const item = event.item as Json | undefined;
    if (event.type === "response.output_item.added") {
      expect(open).toBeNull();
      expect(event.output_index).toBe(ids.size);
      expect(ids.has(item?.id)).toBe(false);
      expect(item?.id).toBeTruthy();
      ids.add(item?.id);
      open = item?.id;
    } else if (event.type === "response.output_item.done") {
      expect(item?.id).toBe(open);
      open = null;
    } else if (event.item_id !== undefined) {
      expect(event.item_id).toBe(open);
      expect(event.output_index).toBe(ids.size - 1);
    }
  }
}

/** The events in a stream's text, each validated. `done`: it ends as a stream of this wire does. */
export function eventsOf(text: string): { readonly events: Json[]; readonly done: boolean } {
  const pieces = text.split("\n\n").filter((piece) => piece !== "" && !piece.startsWith(":"));
  const done = pieces.at(-1) === "data: [DONE]";
  const events = (done ? pieces.slice(0, -1) : pieces).map((piece) => {
    const [name, data, ...more] = piece.split("\n");
    expect(more).toEqual([]);
    const event = JSON.parse(data?.replace(/^data: /, "") ?? "") as Json;
    expect(name).toBe(`event: ${event.type}`);
    expectEvent(event);
    return event;
  });
  return { events, done };
}

export interface SeenResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly events: readonly Json[];
  /** The response object, from the last event or the body. */
  readonly response: Json;
  readonly error: Json | null;
  readonly done: boolean;
}

export interface Asking {
  readonly url: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export async function callResponses({ url, key, headers }: Asking, body: Json, path = ""): Promise<SeenResponse> {
  const answer = await fetch(`${url}/api/llm/v1/responses${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  const seen = { status: answer.status, headers: answer.headers, error: null, done: true };
  if (answer.headers.get("content-type") === "text/event-stream") {
    const { events, done } = eventsOf(text);
    expectOrder(events);
    return { ...seen, events, done, response: (events.at(-1)?.response ?? {}) as Json };
  }
  const json = JSON.parse(text) as Json;
  if (answer.status !== 200) return { ...seen, events: [], response: {}, error: json.error as Json };
  if (json.object === "response") expectResponse(json);
  return { ...seen, events: [], response: json };
}

export function typesOf(events: readonly Json[]): readonly string[] {
  return events.map(({ type }) => String(type).replace(/^response\./, ""));
}

export function outputOf({ response }: Pick<SeenResponse, "response">): readonly Json[] {
  return response.output as Json[];
}
