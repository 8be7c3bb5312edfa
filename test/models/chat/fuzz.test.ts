// Mutated requests against a real gateway: never a 5xx, an open hold, or a malformed error.
import fc from "fast-check";
import { Pool } from "undici";
import { expect, it } from "vitest";
import { ERRORS } from "../../../src/core/errors.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { runs } from "../../support/runs.ts";
import { CHAT } from "./bad-requests.ts";
import { mutatedBody } from "./mutations.ts";

const FAULTLESS = ["sandbox/ok", "sandbox-messages/ok", "sandbox-gemini/ok"];
/** Vendors' own models are slow, even in the sandbox. */
const MODELS = [...Array<string[]>(6).fill(FAULTLESS).flat(), "sandbox-messages/no-usage", "core/cheap", "core/best"];
const REQUESTS = Number(process.env.FUZZ_REQUESTS ?? runs(500, 2_000));
const CONNECTIONS = 16;

const gateway = forFile(await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "10000000" }));
const account = await gateway.account({ creditCents: 100_000 });
const pool = forFile(new Pool(gateway.url, { connections: CONNECTIONS, pipelining: 1 }));

/** Whether a changed body names a model outside `MODELS`, for which `upstream_not_configured` is a correct answer. */
function namesAnother(body: Buffer): boolean {
  try {
    const { model } = JSON.parse(body.toString("utf8")) as { model?: unknown };
    return !MODELS.includes(String(model));
  } catch {
    return false;
  }
}

/** What is wrong with an answer; null where nothing is. */
function complaint(body: Buffer, status: number, type: string, text: string): string | null {
  if (status >= 500 && !(text.includes("upstream_not_configured") && namesAnother(body))) return `status ${status}`;
  if (status === 200) {
    if (!type.startsWith("text/event-stream")) return Array.isArray(JSON.parse(text).choices) ? null : "no choices";
    return text.endsWith("data: [DONE]\n\n") ? null : "a stream without its end";
  }
  const { error } = JSON.parse(text) as { error: Record<string, unknown> };
  if (typeof error.message !== "string" || error.message === "") return "no message";
  if (!(String(error.code) in ERRORS)) return `the code ${String(error.code)}`;
  if (error.param !== null && typeof error.param !== "string") return "a param that is no text";
  return null;
}

it(`${REQUESTS} mutated requests`, { timeout: 600_000 }, async () => {
  const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);
  console.info(`FUZZ_SEED=${seed}`);
  const bodies = fc.sample(mutatedBody(MODELS), { seed, numRuns: REQUESTS });
  const counts = new Map<string, number>();
  const wrong: { what: string; body: string; answer: string }[] = [];
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async (_, lane) => {
      for (let at = lane; at < bodies.length; at += CONNECTIONS) {
        const body = bodies[at] ?? Buffer.alloc(0);
        const headers = { authorization: `Bearer ${account.key}`, "content-type": "application/json" };
        const answer = await pool.request({ path: CHAT, method: "POST", headers, body });
        const text = await answer.body.text();
        const what = complaint(body, answer.statusCode, String(answer.headers["content-type"]), text);
        if (what !== null)
          wrong.push({ what, body: body.toString("utf8").slice(0, 3_000), answer: text.slice(0, 1_000) });
        const code = answer.statusCode === 200 ? "" : ` ${String(JSON.parse(text).error?.code)}`;
        counts.set(`${answer.statusCode}${code}`, (counts.get(`${answer.statusCode}${code}`) ?? 0) + 1);
      }
    }),
  );
  expect(wrong.slice(0, 5), `FUZZ_SEED=${seed}`).toEqual([]);
  // The test means something only where some requests pass, we reject some and the vendor rejects some.
  console.info(Object.fromEntries([...counts].sort()));
  for (const outcome of ["200", "400 bad_request", "400 unsupported_field", "400 upstream_rejected"]) {
    expect(counts.get(outcome), outcome).toBeGreaterThan(5);
  }
  expect(gateway.records().filter(({ code }) => code === "internal_error")).toEqual([]);
  const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
  expect(json.held_cents).toBe(0);
  expect(await gateway.doctor()).toEqual([]);
});
