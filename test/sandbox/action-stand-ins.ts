// Small vendors that the sandbox mocks: every way to send a key, to send params and to poll.

import type { ActionSpec } from "../../src/catalog/action.ts";
import {
  type AdapterSpec,
  action,
  basic,
  bearer,
  keyHeader,
  keyHeaders,
  keyInBody,
  keyInQuery,
  noAuth,
  z,
} from "../../src/catalog/adapter.ts";
import type { RequestSpec } from "../../src/catalog/request-spec.ts";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import type { Vendors } from "../../src/sandbox/action-vendors.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { defineStandIn, put, refuse, textAt } from "../../src/sandbox/stand-in.ts";
import { type RawAnswer, rawCall } from "./raw-client.ts";

const facts = {
  description: "For tests.",
  category: "search",
  price: { mode: "fixed", cents: 1 },
  upstreamCents: 1,
} as const;

function read(spec: Partial<ActionSpec> & Pick<ActionSpec, "request" | "example">): ActionSpec {
  return action({ ...facts, effect: "read", params: z.looseObject({}), ...spec });
}

export const JOB = "job_5f2a9c1e7b";
const RENDER = "0b7e5d8e-6f0c-4a57-9d8a-3f2d0c1b4a5e";

const acme: AdapterSpec = {
  name: "Acme",
  docs: "none",
  origin: "https://api.acme.test/v2",
  origins: { queue: "https://queue.acme.test" },
  auth: bearer,
  headers: { "acme-version": "3" },
  rules: [
    { at: "/error", empty: false, means: "provider_server_error" },
    { status: 422, at: "/code", is: ["KEY_BAD", "KEY_OLD"], means: "provider_auth_failed" },
    {
      status: 400,
      at: "/detail",
      matches: /^(?:credit|balance) (?:spent|exhausted)$/i,
      sample: "credit spent",
      means: "provider_billing",
    },
  ],
  actions: {
    search: read({
      request: { method: "POST", path: "/search" },
      rules: [{ at: "/results", empty: true, means: "miss" }],
      example: { params: { query: "coins" }, answers: [{ results: [{ title: "Coins" }], total: 1 }] },
    }),
    page: read({
      request: { method: "GET", path: "/pages/{name}/raw?format={format}" },
      answer: { kind: "text", as: "html" },
      example: { params: { name: "a b", format: "html" }, answers: ["<p>A page.</p>"] },
    }),
    archived: read({
      request: { method: "GET", path: "/web/{url...}" },
      example: { params: { url: "https://example.com/a/b" }, answers: [{ found: true }] },
    }),
    create: read({
      request: { method: "POST", path: "/jobs" },
      issues: [
        { kind: "job", at: "/id" },
        { kind: "part", at: "/parts" },
        { kind: "number", at: "/number" },
        { kind: "pin", at: "/pin" },
      ],
      example: {
        params: {},
        answers: [
          {
            id: JOB,
            url: `https://api.acme.test/v2/jobs/${JOB}`,
            parts: ["part-aa", "part-bb"],
            number: 7,
            pin: "k9x2",
            ticket: { pin: "k9x2", says: "not k9x2x" },
            of: 7,
          },
        ],
      },
    }),
    status: read({
      request: { method: "GET", path: "/jobs/{id}", names: { part: "part_id" } },
      requires: [
        { kind: "job", param: "id" },
        { kind: "part", param: "part" },
      ],
      example: {
        params: { id: JOB, part: "part-aa" },
        answers: [{ job: { id: JOB, part: "part-aa" }, state: "done" }],
      },
    }),
    boot: read({
      request: { method: "POST", path: "/boxes" },
      issues: [{ kind: "box", at: "/box" }],
      example: { params: {}, answers: [{ box: "box_3d5e7f9a1b", state: "on" }] },
    }),
    put: read({
      request: { method: "POST", path: "/boxes/{box}/files" },
      requires: [{ kind: "box", param: "box" }],
      example: { params: { box: "box_3d5e7f9a1b" }, answers: [{ ok: true }] },
    }),
    get: read({
      request: { method: "GET", path: "/boxes/{box}/files/{name}" },
      example: { params: { box: "box_3d5e7f9a1b", name: "a" }, answers: [{ ok: true }] },
    }),
    box: read({
      request: { method: "GET", path: "/boxes/{box}" },
      example: { params: { box: "box_3d5e7f9a1b" }, answers: [{ box: "box_3d5e7f9a1b", state: "on" }] },
      requires: [{ kind: "box", param: "box" }],
    }),
    halt: read({
      request: { method: "DELETE", path: "/boxes/{box}" },
      requires: [{ kind: "box", param: "box" }],
      example: { params: { box: "box_3d5e7f9a1b" }, answers: [{ ok: true }] },
    }),
    remember: read({
      request: { method: "POST", path: "/remember", names: { who: "user/name" } },
      callerIds: ["who"],
      example: { params: { who: "someone" }, answers: [{ kept: true, user: "someone" }] },
    }),
    render: read({
      request: { method: "POST", path: "/render", origin: "queue" },
      steps: [
        { request: { method: "GET", path: "/render/{/id}", origin: "queue" }, when: { at: "/late", is: true } },
        {
          request: { method: "GET", path: "/render/{/id}", origin: "queue" },
          until: { at: "/status", is: "COMPLETED" },
          everyMs: 10,
        },
        { request: { method: "GET", path: "", pathAt: "/result_url", origin: "queue" } },
      ],
      example: {
        params: { prompt: "a coin" },
        answers: [
          { id: RENDER, status: "IN_QUEUE" },
          { id: RENDER, status: "COMPLETED", result_url: `https://queue.acme.test/render/${RENDER}/result?as=json` },
          { image: `https://cdn.acme.test/${RENDER}.png` },
        ],
      },
      issues: [{ kind: "render", at: "/id" }],
    }),
  },
};

/** Acme's boxes store what is put into them. */
const standIn = defineStandIn({
  actions: {
    boot(call) {
      const seconds = call.sent("seconds");
      const endsAfterS = seconds === undefined ? undefined : Number(seconds);
      call.keep("box", textAt(call.answer, "/box"), { state: "on" }, { endsAfterS });
      return call.answer;
    },
    put(call) {
      call.use("box", { ended: refuse(410, { gone: true }) });
      const [box, name] = [call.text("box"), call.text("name")];
      if (call.find("file", `${box} ${name}`) !== undefined) return refuse(409);
      call.keep("file", `${box} ${name}`, {}, { owner: ["box", box] });
      return call.answer;
    },
    get(call) {
      call.use("file", { id: `${call.text("box")} ${call.text("name")}` });
      return call.answer;
    },
    box(call) {
      const { state } = call.use("box", { evenEnded: true });
      return put(call.answer, { "/state": state });
    },
    halt(call) {
      call.use("box");
      call.change("box", { state: "off" });
      call.end("box");
      return call.answer;
    },
  },
});

function vendor(auth: AdapterSpec["auth"], request: RequestSpec): AdapterSpec {
  const ask = read({ request, example: { params: {}, answers: [{ good: true }] } });
  return { name: "Small", docs: "none", origin: "https://small.test", auth, actions: { ask } };
}

/** By adapter id, as the gateway passes them in. */
export const VENDORS: Vendors = new Map(
  Object.entries({
    acme,
    named: vendor(keyHeader("X-Key"), { method: "GET", path: "/ask" }),
    paired: vendor(keyHeaders(["X-Id", "X-Secret"], { kind: "pair" }), { method: "GET", path: "/ask" }),
    basic: vendor(basic, { method: "POST", path: "/ask", send: "form" }),
    asked: vendor(keyInQuery("key"), { method: "GET", path: "/ask" }),
    inside: vendor(keyInBody("clientKey"), { method: "POST", path: "/ask" }),
    open: vendor(noAuth, { method: "POST", path: "/ask", send: "form" }),
    polite: { ...vendor(noAuth, { method: "GET", path: "/ask" }), contact: "polite" as const },
  }).map(([id, spec]) => {
    const file = id === "acme" ? { name: "acme.sandbox.ts", load: async () => standIn } : null;
    return [id, { spec, table: null, standIn: file }];
  }),
);

/** The table's row is in the path. */
const table = {
  paint: { method: "POST", path: "/models/paint", summary: "", params: {} },
  sizes: { method: "GET", path: "/sizes/{of}", summary: "", params: {} },
  lists: { method: "POST", path: "/lists", summary: "", params: {}, body: "items" },
} as const;
export const TABLED: Vendors = new Map([
  [
    "many",
    {
      spec: {
        ...vendor(noAuth, { method: "POST", path: "" }),
        actions: {
          any: read({
            request: { method: "POST", path: "" },
            table: { param: "endpoint" },
            example: { params: {}, answers: [{ good: true }] },
          }),
          post: read({
            request: { method: "POST", path: "" },
            table: { param: "endpoint", method: "POST" },
            example: { params: {}, answers: [{ good: true }] },
          }),
        },
      },
      table,
      standIn: null,
    },
  ],
]);

export interface Asked {
  readonly adapter?: string;
  readonly action: string;
  readonly step?: number;
  readonly fault?: string;
  readonly method?: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly call?: string;
}

/** A sandbox with these vendors, and how the gateway calls it. */
export async function startStandIns() {
  const sandbox = await startSandbox({
    dialects: STAND_INS,
    host: "127.0.0.1",
    port: 0,
    adapters: () => new Map([...VENDORS, ...TABLED]),
  });
  let calls = 0;
  const ask = (asked: Asked): Promise<RawAnswer> => {
    const { adapter = "acme", action: name, step = 0, method = "POST", body } = asked;
    calls += 1;
    const key: Record<string, string> =
      adapter === "acme"
        ? { authorization: "Bearer sandbox", "acme-version": "3", "content-type": "application/json" }
        : {};
    return rawCall({
      url: `${sandbox.url}/${adapter}${asked.path}`,
      method,
      body: body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body),
      headers: {
        ...key,
        "x-tollgate-sandbox-action": name,
        "x-tollgate-sandbox-step": String(step),
        "x-request-id": asked.call ?? `req-${calls}`,
        ...(asked.fault === undefined ? {} : { "x-tollgate-sandbox-fault": asked.fault }),
        ...asked.headers,
      },
    });
  };
  const search = (fault?: string, more: Partial<Asked> = {}) =>
    ask({
      action: "search",
      path: "/search",
      body: { query: "x" },
      ...(fault === undefined ? {} : { fault }),
      ...more,
    });
  return { sandbox, ask, search };
}

export function json(answer: RawAnswer): Record<string, unknown> {
  return JSON.parse(answer.body) as Record<string, unknown>;
}
