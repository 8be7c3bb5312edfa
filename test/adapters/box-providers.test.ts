// Four machine vendors, each over real sockets in its own wire format: results of commands, possible faults, and refusals.
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import e2b from "../../adapters/e2b.ts";
import runloop from "../../adapters/runloop.ts";
import sprites from "../../adapters/sprites.ts";
import vercel from "../../adapters/vercel-sandbox.ts";
import type { AdapterSpec } from "../../src/catalog/adapter.ts";
import type { JsonObject } from "../../src/catalog/said.ts";
import { BoxGone } from "../../src/catalog/session.ts";
import { connectFrame } from "../../src/upstream/connect-frames.ts";
import { VendorFailure } from "../../src/upstream/vendor-failure.ts";
import { type BoxBench, KEY, openBoxBench } from "../support/box-bench.ts";
import { socketFrame } from "../support/box-vendor.ts";

const SECRET = "a-word-of-the-caller";
const specs: Readonly<Record<string, AdapterSpec>> = { e2b, runloop, sprites, "vercel-sandbox": vercel };
const ids = Object.keys(specs);
const benches = new Map<string, BoxBench>();

beforeAll(async () => {
  for (const [id, spec] of Object.entries(specs)) benches.set(id, await openBoxBench(id, spec));
});
afterAll(async () => {
  for (const one of benches.values()) await one.close();
});

function bench(id: string): BoxBench {
  const found = benches.get(id);
  if (found === undefined) throw new Error(`no ${id}`);
  return found;
}

let boxes = 0;
function create(at: BoxBench, envs: Readonly<Record<string, string>> = {}): Promise<JsonObject> {
  return at.create(`tg-${String(++boxes).padStart(24, "0")}`, envs);
}

async function thrownBy(asked: Promise<unknown>): Promise<unknown> {
  return asked.then(
    () => null,
    (error: unknown) => error,
  );
}

async function kindOf(asked: Promise<unknown>): Promise<string> {
  const error = await thrownBy(asked);
  return error instanceof VendorFailure ? error.failure.kind : String(error);
}

/** Where each vendor's command is sent, how the answer to it begins, and how a piece of output is encoded. */
const WIRES: Readonly<
  Record<string, { readonly run: RegExp; begin(to: ServerResponse | Socket): void; piece(text: Buffer): Buffer }>
> = {
  e2b: {
    run: /Process\/Start/,
    begin: (to) => headed(to, "application/connect+json").write(connectFrame('{"event":{"start":{"pid":7}}}')),
    piece: (text) => connectFrame(JSON.stringify({ event: { data: { stdout: text.toString("base64") } } })),
  },
  sprites: { run: /\/exec/, begin: () => {}, piece: (text) => socketFrame(Buffer.concat([Buffer.from([1]), text])) },
  "vercel-sandbox": {
    run: /\/cmd\?/,
    begin: (to) => headed(to, "application/x-ndjson").write('{"command":{"id":"cmd_9","exitCode":null}}\n'),
    piece: (text) => Buffer.concat([Buffer.from('{"stream":"stdout","data":"'), text, Buffer.from('"}\n')]),
  },
};
const streaming = Object.keys(WIRES);

function headed(to: ServerResponse | Socket, type: string): ServerResponse | Socket {
  if ("writeHead" in to) to.writeHead(200, { "content-type": type });
  return to;
}

function wire(id: string) {
  const found = WIRES[id];
  if (found === undefined) throw new Error(`${id} streams nothing`);
  return found;
}

describe.each(ids)("a machine of %s", (id) => {
  it("runs commands with its variables until it is closed, and is closed twice", async () => {
    const at = bench(id);
    at.vendor.prints("hello", { stdout: "hello\n" });
    const box = await create(at, { TOKEN: "it's" });
    expect(await at.run(box, `echo hello ${SECRET}`)).toEqual({ stdout: "hello\n", stderr: "", exit_code: 0 });
    expect(at.vendor.commands.at(-1)).toMatchObject({ language: null, text: `echo hello ${SECRET}` });
    expect(await at.scripted((context) => at.sessions.isOpen(context, box))).toBe(true);
    await at.scripted(async (context) => at.sessions.extend?.(context, box, 20));
    for (const _ of [1, 2]) await at.scripted((context) => at.sessions.close(context, box));
    expect(await at.scripted((context) => at.sessions.isOpen(context, box))).toBe(false);
    expect(await thrownBy(at.run(box, "ls"))).toBeInstanceOf(BoxGone);
  });

  it.each([
    ["python", "print('it''s')"],
    ["javascript", 'console.log("$HOME `x`")'],
    ["bash", "echo $((1+1))"],
  ] as const)("runs code of %s as it was written", async (language, text) => {
    const at = bench(id);
    const box = await create(at);
    await at.run(box, text, { language });
    const expected = language === "bash" ? [null, "bash"] : [language];
    expect(at.vendor.commands.at(-1)?.text).toContain(text);
    expect(expected).toContain(at.vendor.commands.at(-1)?.language);
  });

  it("tells an exit code that is none of success, and both streams", async () => {
    const at = bench(id);
    at.vendor.prints("false", { stdout: "out", stderr: "no such file", exit_code: 3 });
    expect(await at.run(await create(at), "false")).toEqual({ stdout: "out", stderr: "no such file", exit_code: 3 });
  });

  it("is found by its label where the answer to its creation was lost", async () => {
    const at = bench(id);
    await create(at);
    const label = `tg-${String(boxes).padStart(24, "0")}`;
    expect(at.vendor.machines.find(label)).not.toBeNull();
    for (const _ of [1, 2]) await at.scripted((context) => at.sessions.closeLabelled(context, label));
    expect(at.vendor.machines.find(label)).toBeNull();
  });

  it.each([
    [401, "provider_auth_failed"],
    [429, "provider_rate_limited"],
    [500, "provider_server_error"],
    [400, "caller_invalid"],
  ])("fails as it should where its creation answers %d", async (status, kind) => {
    const at = bench(id);
    at.vendor.next(/./, { status, body: { message: "no" } });
    expect(await kindOf(create(at))).toBe(kind);
  });

  it("fails where a command answers 401 or 500, and is gone where it answers that there is none", async () => {
    const at = bench(id);
    const path = WIRES[id]?.run ?? /execute_async/;
    const box = await create(at);
    for (const status of [401, 500]) {
      at.vendor.next(path, { status, body: {} });
      expect(await kindOf(at.run(box, "ls"))).toMatch(/^provider_/);
    }
    for (const machine of at.vendor.machines.all()) at.vendor.machines.end(machine);
    expect(await thrownBy(at.run(box, "ls"))).toBeInstanceOf(BoxGone);
  });

  it("never has a command, or our key, in an address", () => {
    const { vendor } = bench(id);
    const written = vendor.requests.map(({ url }) => decodeURIComponent(url)).join("\n");
    expect(written).not.toMatch(new RegExp(`${SECRET}|${KEY}`));
  });
});

describe.each(streaming)("a stream of %s", (id) => {
  it("is cut off where it never stops printing, in little memory", async () => {
    const at = bench(id);
    const { run: path, begin, piece } = wire(id);
    const flood = piece(Buffer.alloc(256 * 1024, "x"));
    let written = 0;
    let closed = false;
    at.vendor.next(path, (to) => {
      to.on("close", () => {
        closed = true;
      });
      begin(to);
      const pour = () => {
        while (!closed && written < 400) {
          written++;
          if (!to.write(flood)) return void to.once("drain", pour);
        }
      };
      pour();
    });
    const output = await at.run(await create(at), "yes");
    expect(output).toMatchObject({ exit_code: 137, truncated: true });
    expect(output.stdout).toHaveLength(1024 * 1024);
    // 16 MiB are read; the sockets buffer a few MiB more.
    expect(written).toBeLessThan(160);
  });

  it("costs no more in pieces of a byte each", async () => {
    const at = bench(id);
    const { run: path, begin, piece } = wire(id);
    at.vendor.next(path, (to) => {
      begin(to);
      to.write(Buffer.concat(Array.from({ length: 20_000 }, () => piece(Buffer.from("y")))), () => to.destroy());
    });
    // The output is incomplete: it was cut off.
    expect(await kindOf(at.run(await create(at), "yes"))).toMatch(
      /^provider_(connection_failed|malformed|server_error)$/,
    );
  });

  it("may hold what is no UTF-8", async () => {
    const at = bench(id);
    const { run: path, begin, piece } = wire(id);
    at.vendor.next(path, (to) => {
      begin(to);
      to.write(piece(Buffer.from([0x61, 0xff, 0xfe, 0x62])));
      const ends: Readonly<Record<string, Buffer>> = {
        e2b: connectFrame('{"event":{"end":{"exited":true}}}'),
        sprites: socketFrame(Buffer.from([3, 0])),
        "vercel-sandbox": Buffer.from('{"command":{"id":"cmd_9","exitCode":0}}\n'),
      };
      to.end(ends[id] ?? "");
    });
    const output = await at.run(await create(at), "cat /dev/urandom");
    expect(output.stdout).toBe("a\ufffd\ufffdb");
  });

  it("is ended by us where the vendor does not end a command in time", async () => {
    const at = bench(id);
    const { run: path, begin, piece } = wire(id);
    const closed = Promise.withResolvers<void>();
    at.vendor.next(path, (to) => {
      to.on("close", () => closed.resolve());
      begin(to);
      to.write(piece(Buffer.from("begun")));
    });
    const output = await at.run(await create(at), "sleep infinity", { timeoutMs: 100 });
    expect(output).toEqual({ stdout: "begun", stderr: "", exit_code: 124, timed_out: true });
    await closed.promise;
    // If a lost connection does not end the command, we kill it.
    const kills = at.vendor.requests.slice(-1).filter(({ url }) => /SendSignal|\/cmd\/cmd_9\/kill/.test(url));
    expect(kills).toHaveLength(id === "sprites" ? 0 : 1);
  });

  it("is a failure where it is garbled", async () => {
    const at = bench(id);
    const { run: path, begin } = wire(id);
    at.vendor.next(path, (to) => {
      begin(to);
      to.write(
        Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff]), Buffer.alloc(4096, 0xff), Buffer.from("\n")]),
      );
    });
    expect(await kindOf(at.run(await create(at), "ls"))).toBe("provider_malformed");
  });
});

describe("a time that is over", () => {
  it.each(["e2b", "runloop", "vercel-sandbox"])("is told by %s itself", async (id) => {
    const at = bench(id);
    at.vendor.prints("forever", { stdout: "a", exit_code: 137, timed_out: true });
    const output = await at.run(await create(at), "forever", { timeoutMs: 1_000 });
    expect(output).toMatchObject({ exit_code: 124, timed_out: true });
    const asked = at.vendor.requests.map(
      ({ url, headers, body }) => `${url} ${headers["connect-timeout-ms"]} ${Buffer.from(body)}`,
    );
    const said: Readonly<Record<string, string>> = {
      e2b: " 1000 ",
      runloop: "kill_process_group",
      "vercel-sandbox": '"timeout":1000',
    };
    expect(asked.join("\n")).toContain(said[id]);
  });
});

describe("E2B's specification", () => {
  // Names and types from its openapi of 2026-08-21 and from envd's process.proto, as far as we send them.
  const text = { type: "string" };
  const texts = { type: "object", additionalProperties: text };
  const closed = (properties: object, required: string[] = []) => {
    return { type: "object", properties, required, additionalProperties: false };
  };
  const seconds = { type: "integer", minimum: 0 };
  const told: readonly [operation: RegExp, query: object, body: object | null][] = [
    [
      /^POST \/v2\/sandboxes$/,
      closed({}),
      closed({ templateID: text, timeout: seconds, metadata: texts, envVars: texts }, ["templateID"]),
    ],
    [/^POST \/sandboxes\/[^/]+\/timeout$/, closed({}), closed({ timeout: seconds }, ["timeout"])],
    [/^GET \/sandboxes\/[^/]+$/, closed({}), null],
    [/^DELETE \/sandboxes\/[^/]+$/, closed({}), null],
    [/^GET \/v2\/sandboxes$/, closed({ metadata: text }), null],
    [
      /^POST \/process.Process\/Start$/,
      closed({}),
      closed({
        process: closed({ cmd: text, args: { type: "array", items: text } }, ["cmd", "args"]),
        stdin: { type: "boolean" },
      }),
    ],
    [
      /^POST \/process.Process\/SendSignal$/,
      closed({}),
      closed({ process: closed({ pid: { type: "integer" } }), signal: { enum: ["SIGNAL_SIGKILL"] } }),
    ],
  ];

  it("has a name for all that was sent to it by the tests above", () => {
    const ajv = new Ajv2020();
    const used = new Set<RegExp>();
    for (const { method, path, query, body, json } of bench("e2b").vendor.requests) {
      const one = told.find(([operation]) => operation.test(`${method} ${path}`));
      if (one === undefined) throw new Error(`${method} ${path} is not in the specification`);
      const [operation, ofQuery, ofBody] = one;
      used.add(operation);
      expect(ajv.validate(ofQuery, Object.fromEntries(query)), ajv.errorsText()).toBe(true);
      const framed = path.endsWith("/Start") ? (JSON.parse(Buffer.from(body).toString("utf8", 5)) as unknown) : json;
      if (ofBody === null) expect(body).toHaveLength(0);
      else expect(ajv.validate(ofBody, framed), `${path} ${ajv.errorsText()}`).toBe(true);
    }
    expect(used.size).toBe(told.length);
  });
});

describe("an answer of Runloop that is too long", () => {
  it("is not kept: fewer lines are asked for, and a line that is longer still ends the command", async () => {
    const at = bench("runloop");
    at.vendor.prints("lines", { stdout: "the last lines" });
    const box = await create(at);
    const long = {
      status: "completed",
      devbox_id: "d",
      execution_id: "e",
      stdout: "x".repeat(3 * 1024 * 1024),
      exit_status: 0,
    };
    at.vendor.next(/wait_for_status/, { status: 200, body: long });
    expect(await at.run(box, "lines")).toMatchObject({ stdout: "the last lines", exit_code: 0 });
    expect(at.vendor.requests.slice(-2).map(({ query }) => query.get("last_n"))).toEqual(["10000", "100"]);
    at.vendor.next(/wait_for_status/, { status: 200, body: long });
    at.vendor.next(/wait_for_status/, { status: 200, body: long });
    expect(await at.run(box, "lines")).toEqual({ stdout: "", stderr: "", exit_code: 137, truncated: true });
    expect(at.vendor.requests.at(-1)?.url).toContain("/kill");
  });
});

describe("the vendor's own deadline", () => {
  it.each([
    ["e2b", /\/timeout/],
    ["vercel-sandbox", /extend-timeout/],
  ])("stays where %s pushes it no further, and a machine that is gone is told", async (id, path) => {
    const at = bench(id);
    const box = await create(at);
    const extend = () => at.scripted(async (context) => at.sessions.extend?.(context, box, 20));
    at.vendor.next(path, { status: 400, body: { message: "not longer than 1 hour" } });
    await extend();
    at.vendor.next(path, { status: 404, body: {} });
    expect(await thrownBy(extend())).toBeInstanceOf(BoxGone);
  });

  it("is pushed at Vercel by as much as is missing, in milliseconds", async () => {
    const at = bench("vercel-sandbox");
    const box = await create(at);
    const session = { id: "box", status: "running", timeout: 300_000, startedAt: Date.now() - 60_000 };
    at.vendor.next(/sessions\/[^/]+\?/, { status: 200, body: { session, routes: [] } });
    await at.scripted(async (context) => at.sessions.extend?.(context, box, 20));
    const { url = "", json } = at.vendor.requests.at(-1) ?? {};
    expect(url).toContain("/extend-timeout");
    // The vendor's clock has a resolution of one second.
    expect((json as { duration: number }).duration).toBeCloseTo(960_000, -4);
  });
});

describe("our key", () => {
  it("is never shown to the daemon inside of a machine, where the one who has the machine can listen", async () => {
    const at = bench("e2b");
    await at.run(await create(at), "ls");
    const inside = at.vendor.requests.filter(({ origin }) => origin === "sandbox");
    expect(inside.length).toBeGreaterThan(0);
    for (const { headers, url, body } of inside) {
      expect(JSON.stringify([headers, url]) + Buffer.from(body).toString()).not.toContain(KEY);
      expect(headers["x-access-token"]).toMatch(/^token-of-/);
    }
    const outside = at.vendor.requests.filter(({ origin }) => origin !== "sandbox");
    expect(outside.every(({ headers }) => headers["x-api-key"] === KEY)).toBe(true);
  });

  it("does not rest because of what that daemon says, and what it tells is not believed", async () => {
    const at = bench("e2b");
    const box = await create(at);
    for (const status of [401, 402, 403, 429]) {
      at.vendor.next(/Process\/Start/, { status, headers: { "retry-after": "9999" }, body: { code: "no" } });
      expect(await kindOf(at.run(box, "ls"))).toBe("provider_server_error");
    }
    for (const event of ['{"start":{"pid":{}}}', '{"end":{"exitCode":"0"}}', '{"data":{"stdout":7}}', "[]"]) {
      at.vendor.next(/Process\/Start/, (to) => {
        headed(to, "application/connect+json").write(connectFrame(`{"event":${event}}`));
      });
      expect(await kindOf(at.run(box, "ls"))).toBe("provider_malformed");
    }
  });

  it("is one of three parts at Vercel: a token, the team, the project", async () => {
    const at = bench("vercel-sandbox");
    await create(at);
    const { headers, query, json } = at.vendor.requests.at(-1) ?? {};
    expect(headers?.authorization).toBe(`Bearer ${KEY}`);
    expect([query?.get("teamId"), (json as { projectId?: string }).projectId]).toEqual(["part-1", "part-2"]);
  });
});

describe("a web socket", () => {
  it("that is not opened is a failure, and pings are answered", async () => {
    const at = bench("sprites");
    const box = await create(at);
    at.vendor.next(/\/exec/, { status: 503, body: { error: "busy" } });
    expect(await kindOf(at.run(box, "ls"))).toBe("provider_overloaded");
    const pong = Promise.withResolvers<boolean>();
    at.vendor.next(/\/exec/, (to) => {
      let heard = Buffer.alloc(0);
      to.on("data", (chunk: Buffer) => {
        heard = Buffer.concat([heard, chunk]);
        if (!heard.includes(0x8a)) return;
        pong.resolve(true);
        to.write(socketFrame(JSON.stringify({ type: "port_opened", port: 80 })));
        // A message in three fragments, with a ping between them.
        to.write(Buffer.from([0x02, 2, 1, 0x61, 0x89, 0, 0x00, 1, 0x62, 0x80, 1, 0x63]));
        to.write(socketFrame(JSON.stringify({ type: "exit", exit_code: 4 })));
      });
      to.write(socketFrame("are you there", 9));
    });
    expect(await at.run(box, "ls")).toEqual({ stdout: "abc", stderr: "", exit_code: 4 });
    expect(await pong.promise).toBe(true);
  });
});

describe("a vendor refuses", () => {
  const cases: readonly [id: string, what: string, RequestInit & { readonly path: string }, status: number][] = [
    [
      "e2b",
      "a field that it does not know",
      { path: "/v2/sandboxes", method: "POST", body: '{"templateID":"base","timeout":600,"size":"2"}' },
      400,
    ],
    [
      "e2b",
      "a time in milliseconds",
      { path: "/v2/sandboxes", method: "POST", body: '{"templateID":"base","timeout":600000}' },
      400,
    ],
    [
      "e2b",
      "a template that there is none of",
      { path: "/v2/sandboxes", method: "POST", body: '{"templateID":"mine","timeout":600}' },
      404,
    ],
    ["e2b", "a machine that there is none of", { path: "/sandboxes/nobody" }, 404],
    ["e2b", "a command to a machine that is gone", { path: "/~sandbox/process.Process/Start", method: "POST" }, 502],
    [
      "vercel-sandbox",
      "a time in seconds",
      { path: "/v3/sandboxes?teamId=t", method: "POST", body: '{"projectId":"p","timeout":600}' },
      400,
    ],
    [
      "vercel-sandbox",
      "an odd number of processors",
      {
        path: "/v3/sandboxes?teamId=t",
        method: "POST",
        body: '{"projectId":"p","timeout":600000,"resources":{"vcpus":3}}',
      },
      400,
    ],
    [
      "vercel-sandbox",
      "a request without a team",
      { path: "/v3/sandboxes", method: "POST", body: '{"projectId":"p","timeout":600000}' },
      403,
    ],
    [
      "vercel-sandbox",
      "a command to a machine that has stopped",
      { path: "/v2/sandboxes/sessions/none/cmd?teamId=t", method: "POST", body: "{}" },
      410,
    ],
    [
      "runloop",
      "a size that it does not have",
      { path: "/v1/devboxes", method: "POST", body: '{"launch_parameters":{"resource_size_request":"HUGE"}}' },
      400,
    ],
    [
      "runloop",
      "a machine that there is none of",
      { path: "/v1/devboxes/none/execute_async", method: "POST", body: '{"command":"ls"}' },
      404,
    ],
    ["sprites", "a name that is none", { path: "/v1/sprites", method: "POST", body: '{"name":"Not A Name"}' }, 400],
    ["sprites", "a command that opens no socket", { path: "/v1/sprites/none/exec?cmd=ls" }, 404],
  ];
  it.each(cases)("%s: %s", async (id, _, { path, ...init }, status) => {
    const { vendor } = bench(id);
    const headers = { "content-type": "application/json" };
    expect((await fetch(vendor.url + path, { headers, ...init })).status).toBe(status);
  });
});
