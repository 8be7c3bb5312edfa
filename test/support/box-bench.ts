// One machine vendor as the gateway calls it, over real sockets, without the records and the money of a session.
import { Agent } from "undici";
import type { AdapterSpec } from "../../src/catalog/adapter.ts";
import type { Adapter } from "../../src/catalog/catalog.ts";
import type { JsonObject } from "../../src/catalog/said.ts";
import type { BoxCommand, BoxOutput, SessionContext, SessionSpec } from "../../src/catalog/session.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { StandIn } from "../../src/sandbox/stand-in.ts";
import { createAccessTokens, loginAt } from "../../src/upstream/access-tokens.ts";
import { buildRequest } from "../../src/upstream/build-request.ts";
import { failureOf, judge } from "../../src/upstream/judge-answer.ts";
import { runScript } from "../../src/upstream/run-script.ts";
import { VendorClient } from "../../src/upstream/vendor-client.ts";
import { VendorFailure } from "../../src/upstream/vendor-failure.ts";
import { catalogOf, LIVE } from "../catalog/catalog-of.ts";
import { type BoxVendor, startBoxVendor } from "./box-vendor.ts";

/** Our key, or its first part; the others are `part-1` and so on. */
export const KEY = "e2b_0123456789abcdef";

export interface BoxBench {
  readonly sessions: SessionSpec;
  readonly vendor: BoxVendor;
  /** Runs one script as the gateway does; rethrows its errors. */
  scripted<T>(script: (context: SessionContext) => Promise<T>): Promise<T>;
  create(label: string, envs?: Readonly<Record<string, string>>): Promise<JsonObject>;
  run(box: JsonObject, text: string, more?: Partial<BoxCommand>): Promise<BoxOutput>;
  close(): Promise<void>;
}

const MS_MAX = 10_000;

function configured(id: string, spec: AdapterSpec, url: string): Adapter {
  const base = id.replace("-", "_").toUpperCase();
  const keys = spec.keyParts ?? [spec.keyEnv?.[0] ?? `${base}_API_KEY`];
  const env = {
    ...Object.fromEntries(keys.map((name, at) => [name, at === 0 ? KEY : `part-${at}`])),
    [`${base}_BASE_URL`]: url,
    ...Object.fromEntries(
      Object.keys(spec.origins ?? {}).map((name) => [`${base}_${name.toUpperCase()}_BASE_URL`, `${url}/~${name}`]),
    ),
  };
  const adapter = catalogOf({ adapters: { [id]: spec } }, { env })
    .adapters(LIVE)
    .get(id);
  if (adapter === undefined) throw new Error(`${id} is not configured`);
  return adapter;
}

export async function openBoxBench(id: string, spec: AdapterSpec): Promise<BoxBench> {
  const { sessions } = spec;
  if (sessions === undefined) throw new Error(`${id} has no sessions`);
  const { default: standIn } = (await import(`../../adapters/${id}.sandbox.ts`)) as { default: StandIn };
  if (standIn.sessions === undefined) throw new Error(`nothing stands in for the sessions of ${id}`);
  const vendor = await startBoxVendor(standIn.sessions);
  const adapter = configured(id, spec, vendor.url);
  const key = adapter.keys[0] ?? "";
  const dispatcher = new Agent();
  const login = loginAt(adapter, key, {
    tokens: createAccessTokens(systemClock, dispatcher),
    clock: systemClock,
    merchantPayerFor: () => null,
  });

  async function scripted<T>(script: (context: SessionContext) => Promise<T>): Promise<T> {
    const acquire = () => ({ waitMs: 0, valid: () => true, cancel() {} });
    const client = new VendorClient({ adapter, login, acquire, msMax: MS_MAX, dispatcher, clock: systemClock });
    const results: T[] = [];
    await runScript(
      async (context) => {
        results.push(await script(context));
        return {};
      },
      {
        params: {},
        key,
        callId: "call",
        msMax: MS_MAX,
        signal: new AbortController().signal,
        ask: ({ spec: request, values, at, ...how }) => {
          const build = () => buildRequest({ adapter, spec: request, params: values, row: null, soFar: undefined });
          return client.ask({ ...how, build, redirectsMax: 0, splice: null });
        },
        judge(answer) {
          const judged = judge(answer, { rules: spec.rules ?? [], wantsJson: false, errorFails: false });
          if (judged.verdict === "success" || judged.verdict === "miss") return judged;
          throw new VendorFailure(failureOf(answer, judged.verdict, judged.rule, null));
        },
      },
    );
    return results[0] as T;
  }

  return {
    sessions,
    vendor,
    scripted,
    create: (label, envs = {}) => {
      const template = sessions.templates?.[0] ?? null;
      return scripted((context) => sessions.create(context, { template, envs, minutes: 10, label }));
    },
    run: (box, text, more = {}) => {
      return scripted((context) => sessions.run(context, box, { language: null, timeoutMs: 60_000, text, ...more }));
    },
    async close() {
      await vendor.close();
      await dispatcher.destroy();
    },
  };
}
