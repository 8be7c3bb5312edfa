// The operator log: every change on the admin listener is recorded before it is made, with its result afterwards. Entries never change.
import { randomUUID } from "node:crypto";
import type { Clock } from "../../../core/clock.ts";
import type { Call, EndpointSpec } from "../../../core/endpoint.ts";
import { GatewayError } from "../../../core/errors.ts";
import { adminEndpoint } from "../../../money/accounts/admin-accounts.ts";
import { pageSchema } from "../../../money/accounts/list-pages.ts";
import { readQuery } from "../../../money/accounts/read-body.ts";
import type { Records } from "../../../platform/records/records.ts";

const KIND = "operator-act";
const PAYER = "operator";
/** Longer than the period for which books are audited. */
const KEPT_MS = 400 * 86_400_000;
const BODY_CHARS_MAX = 1_000;
/** The operator signed in on the console; dropped from requests that come from outside. */
export const OPERATOR_HEADER = "x-tollgate-operator";
/** Set as well where the OpenID provider has proven that name. */
export const PROVEN_HEADER = "x-tollgate-operator-proven";
const BY_TOKEN = "by the token";

export interface Act {
  readonly at: string;
  readonly by: string;
  /** The OpenID provider proved the name; otherwise a person with the admin token typed it. */
  readonly proven: boolean;
  readonly method: string;
  readonly path: string;
  readonly body: string;
  /** Null: unknown, because the process died before the result. */
  readonly status: number | null;
}

function actOf({ request }: Call, epochMs: number): Act {
  const { method, path, headers, body } = request;
  return {
    at: new Date(epochMs).toISOString(),
    by: headers.get(OPERATOR_HEADER) ?? BY_TOKEN,
    proven: headers.has(PROVEN_HEADER),
    method,
    path,
    body: body.toString("utf8", 0, BODY_CHARS_MAX * 4).slice(0, BODY_CHARS_MAX),
    status: null,
  };
}

function logged(spec: EndpointSpec, records: Records, clock: Clock): EndpointSpec {
  if (!("answer" in spec) || spec.auth !== "admin" || spec.method === "GET") return spec;
  const { answer } = spec;
  return {
    ...spec,
    async answer(call) {
      const id = randomUUID();
      const act = actOf(call, clock.epochMs());
      const keep = (status: number | null, ifVersion: number) => {
        const record = { kind: KIND, id, payer: PAYER, value: JSON.stringify({ ...act, status }), ttlMs: KEPT_MS };
        return records.put({ ...record, ifVersion });
      };
      // A change that cannot be recorded is not made.
      await keep(null, 0);
      try {
        const done = await answer(call);
        // The change is made and its answer may hold a secret that is shown once, so return it even if recording fails.
        await keep(done.status, 1).catch(() => {});
        return done;
      } catch (error) {
        if (error instanceof GatewayError) await keep(error.status, 1).catch(() => {});
        throw error;
      }
    },
  };
}

/** The same endpoints, with changes logged; and `GET /admin/v1/log`. */
export function withLog(specs: readonly EndpointSpec[], records: Records, clock: Clock): readonly EndpointSpec[] {
  const log = adminEndpoint("GET", "/admin/v1/log", async ({ request }) => {
    const page = readQuery(pageSchema, request.query);
    const { rows, next } = await records.list(KIND, PAYER, page.limit, page.cursor ?? null);
    return { status: 200, body: { log: rows.map(({ value }) => JSON.parse(value) as Act), next_cursor: next } };
  });
  return [...specs.map((spec) => logged(spec, records, clock)), log];
}
