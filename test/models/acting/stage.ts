// A scripted model and search vendor on loopback, behind a real gateway; records the model's input in each round.
import type { ServerResponse } from "node:http";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { startVendor, type VendorRequest } from "../../support/vendor-server.ts";

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

/** The model's output in one round. */
export interface Said {
  readonly text?: string;
  readonly calls?: readonly Call[];
  readonly finish?: string;
  /** Replaces the answer by an error. */
  readonly status?: number;
  /** The error's code. */
  readonly code?: string;
  /** Breaks off after its words. */
  readonly breaks?: true;
  /** Sends its words, and ends when the promise resolves. */
  readonly endsWith?: Promise<void>;
  /** The reported output tokens; ten by default. */
  readonly outputTokens?: number;
}

export const USAGE = { prompt_tokens: 100, completion_tokens: 10 };
export const MODEL = "openai/gpt-5.1";

export interface Stage {
  readonly gateway: TestGateway;
  account(creditCents?: number): Promise<TestAccount>;
  /** Scripts the model's output, round by round; the last repeats forever. */
  says(...rounds: readonly Said[]): void;
  /** The same, computed from the request. */
  thinks(says: (body: Record<string, unknown>) => Said): void;
  /** Sets how a search is answered from now on. */
  finds(answer: (response: ServerResponse, request: VendorRequest) => void): void;
  /** The request bodies of the model's rounds. */
  rounds(): readonly Record<string, unknown>[];
  searches(): readonly VendorRequest[];
  get(path: string, by: TestAccount): Promise<Record<string, unknown>>;
  /** An account's charges with their legs, newest first. */
  charges(by: TestAccount): Promise<readonly Charge[]>;
  /** An account's balance, and how much of it is held. */
  money(by: TestAccount): Promise<{ readonly balance_cents: number; readonly held_cents: number }>;
  stop(): Promise<void>;
}

export interface Charge {
  readonly transaction_id: string;
  readonly endpoint: string;
  readonly charged_nano_usd: number;
  readonly legs: readonly { readonly vendor: string; readonly ok: boolean }[];
}

export const FOUND = {
  web: { results: [{ title: "Tides", url: "https://example.com/tides", description: "Twice a day." }] },
};

function json(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function messageOf({ text, calls = [] }: Said) {
  return {
    role: "assistant",
    content: text ?? null,
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, args }) => ({
            id,
            type: "function",
            function: { name, arguments: typeof args === "string" ? args : JSON.stringify(args) },
          })),
        }),
  };
}

const chunk = (choices: unknown, more: object = {}) =>
  `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices, ...more })}\n\n`;

const usageOf = ({ outputTokens = USAGE.completion_tokens }: Said) => ({ ...USAGE, completion_tokens: outputTokens });

async function stream(response: ServerResponse, said: Said): Promise<void> {
  const { text, calls = [], finish, breaks, endsWith } = said;
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(chunk([{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }]));
  for (const word of text?.match(/\S+\s*/g) ?? [])
    response.write(chunk([{ index: 0, delta: { content: word }, finish_reason: null }]));
  await endsWith;
  if (breaks === true) return void response.socket?.destroySoon();
  for (const [index, { id, name, args }] of calls.entries()) {
    const words = typeof args === "string" ? args : JSON.stringify(args);
    const call = { index, id, type: "function", function: { name, arguments: "" } };
    response.write(chunk([{ index: 0, delta: { tool_calls: [call] }, finish_reason: null }]));
    response.write(
      chunk([{ index: 0, delta: { tool_calls: [{ index, function: { arguments: words } }] }, finish_reason: null }]),
    );
  }
  const reason = finish ?? (calls.length > 0 ? "tool_calls" : "stop");
  response.write(chunk([{ index: 0, delta: {}, finish_reason: reason }]));
  response.end(`${chunk([], { usage: usageOf(said) })}data: [DONE]\n\n`);
}

function whole(response: ServerResponse, said: Said): void {
  const finish = said.finish ?? ((said.calls ?? []).length > 0 ? "tool_calls" : "stop");
  json(response, 200, {
    choices: [{ index: 0, message: messageOf(said), finish_reason: finish }],
    usage: usageOf(said),
  });
}

export async function startStage(environment: Record<string, string> = {}): Promise<Stage> {
  const vendor = await startVendor();
  const gateway = await startTestGateway({
    OPENAI_API_KEY: "sk-test",
    OPENAI_BASE_URL: `${vendor.url}/v1`,
    BRAVE_API_KEY: "brave-test",
    BRAVE_BASE_URL: `${vendor.url}/brave`,
    ...environment,
  });
  let says: (body: Record<string, unknown>) => Said = () => ({ text: "Hello." });
  const find = (response: ServerResponse) => json(response, 200, FOUND);
  let finds: (response: ServerResponse, request: VendorRequest) => void = find;
  vendor.answers((response, request) => {
    if (!request.url.startsWith("/v1/")) return finds(response, request);
    const one = says(request.body as Record<string, unknown>);
    if (one.status !== undefined) {
      const error = { message: "no", ...(one.code === undefined ? {} : { code: one.code }) };
      return json(response, one.status, { error });
    }
    if ((request.body as { stream?: boolean }).stream === true) return void stream(response, one);
    return whole(response, one);
  });
  const asked = (isModel: boolean) => vendor.asked.filter(({ url }) => url.startsWith("/v1/") === isModel);
  const thinks = (decide: typeof says) => {
    says = decide;
    finds = find;
    vendor.asked.length = 0;
  };
  const get = async (path: string, { key }: TestAccount) => {
    const response = await fetch(`${gateway.url}/api/v1${path}`, { headers: { authorization: `Bearer ${key}` } });
    return (await response.json()) as Record<string, unknown>;
  };
  return {
    gateway,
    get,
    async charges(by) {
      const { transactions } = await get("/transactions", by);
      const charges = (transactions as { transaction_id: string; kind: string }[]).filter(
        ({ kind }) => kind === "charge",
      );
      return Promise.all(
        charges.map(async ({ transaction_id: id }) => (await get(`/transactions/${id}`, by)) as unknown as Charge),
      );
    },
    async money(by) {
      const { balance_cents, held_cents } = await get("/account", by);
      return { balance_cents: Number(balance_cents), held_cents: Number(held_cents) };
    },
    account: (creditCents = 10_000) => gateway.account({ kind: "personal", creditCents }),
    says(...rounds) {
      let at = 0;
      thinks(() => rounds[Math.min(at++, rounds.length - 1)] ?? {});
    },
    thinks,
    finds(answer) {
      finds = answer;
    },
    rounds: () => asked(true).map(({ body }) => body as Record<string, unknown>),
    searches: () => asked(false),
    async stop() {
      await gateway.stop();
      await vendor.close();
    },
  };
}
