// Models that retire, as clients see them: a header while they are served, then an error that names the successor. Also one with hourly
// prices.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { APIError } from "openai";
import { expect, it } from "vitest";
import { folderForFile, forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";

const DAY_MS = 86_400_000;
const dayIn = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString().slice(0, 10);
const SOON = dayIn(10);
const PAST = dayIn(-1);

const model = (retires: string) =>
  `{ contextTokens: 32_000, prices: [{ since: "2026-01-01", input: "1", output: "2" }]${retires} }`;
const LAB = `// A lab whose models come and go.
import { bearer, defineAdapter } from "#adapter";

export default defineAdapter({
  name: "Lab",
  docs: "https://lab.example/docs",
  origin: "https://api.lab.example/v1",
  auth: bearer,
  maker: "lab",
  chat: {
    dialect: "chat-completions",
    models: {
      hourly: {
        contextTokens: 32_000,
        prices: [{ since: "2026-01-01", input: "1", output: "2", hours: [{ from: "00:00", until: "24:00", input: "100", output: "300" }] }],
      },
      fresh: ${model("")},
      tired: ${model(`, retires: { on: "${SOON}", successor: "lab/fresh" }`)},
      gone: ${model(`, retires: { on: "${PAST}", successor: "lab/fresh" }`)},
    },
  },
});
`;

const folder = folderForFile("tollgate-ends-");
mkdirSync(join(folder, "adapters"));
writeFileSync(join(folder, "adapters", "lab.ts"), LAB);
const gateway = forFile(await startTestGateway({ OVERLAY_DIR: folder }));
const account = await gateway.account({ kind: "sandbox" });

async function ask(...models: readonly string[]): Promise<Headers> {
  const body = { models, messages: [{ role: "user" as const, content: "Hello" }] };
  const { response } = await account.client.chat.completions
    .create(body as unknown as { model: string; messages: typeof body.messages })
    .withResponse();
  return response.headers;
}

it("a model in its last month is served, and every answer says when it ends and what comes after it", async () => {
  for (const named of [["lab/tired"], ["tired"], ["lab/fresh", "lab/tired"]]) {
    const headers = await ask(...named);
    expect(headers.get("sunset")).toBe(new Date(`${SOON}T00:00:00Z`).toUTCString());
    expect(headers.get("link")).toBe('</api/llm/v1/models/lab/fresh>; rel="successor-version"');
  }
  expect((await ask("lab/fresh")).get("sunset")).toBeNull();
  expect((await ask("core/cheap")).get("sunset")).toBeNull();
});

it("lists no longer have it, and its own page says why", async () => {
  const ids = (await account.client.models.list()).data.map(({ id }) => id);
  expect(ids).toContain("lab/fresh");
  expect(ids).not.toContain("lab/tired");
  expect(ids).not.toContain("lab/gone");
  expect(await account.client.models.retrieve("lab/tired")).toMatchObject({
    expiration_date: SOON,
    successor: "lab/fresh",
  });
});

it.each(["lab/gone", "gone"])("%s is refused with its successor, and nothing is held", async (name) => {
  const error = await ask("lab/fresh", name).catch((refused: unknown) => refused);
  expect(error).toBeInstanceOf(APIError);
  expect(error).toMatchObject({ status: 410, code: "gone", param: "models.1" });
  expect((error as APIError).error).toMatchObject({
    message: `lab/gone was retired on ${PAST}. Ask for lab/fresh instead.`,
    metadata: { successor: "lab/fresh" },
  });
  expect(await gateway.doctor()).toEqual([]);
});

it("a price by the hour is what is charged, held and told", async () => {
  const { data, response } = await account.client.chat.completions
    .create({ model: "lab/hourly", messages: [{ role: "user", content: "Hello" }] })
    .withResponse();
  const { prompt_tokens = 0, completion_tokens = 0 } = data.usage ?? {};
  const usd = (prompt_tokens * 100 + completion_tokens * 300) / 1e6;
  expect(Number(response.headers.get("x-tollgate-cost-usd"))).toBeCloseTo(usd, 9);
  const poor = account.client.chat.completions.create({
    model: "lab/hourly",
    messages: [{ role: "user", content: "Hello" }],
    max_tokens: 10_000,
    max_cost_cents: 299,
  } as never);
  await expect(poor).rejects.toMatchObject({ status: 402, code: "max_cost_exceeded" });
  expect(await account.client.models.retrieve("lab/hourly")).toMatchObject({
    pricing: {
      prompt: "0.000001",
      hours_utc: [{ from: "00:00", until: "24:00", weekdays_only: false, prompt: "0.0001", completion: "0.0003" }],
    },
  });
});
