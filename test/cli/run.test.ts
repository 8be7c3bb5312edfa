// `tollgate run` and `tollgate runs`: a command with a budget, its bill, and the operator's view of it.
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { getAs } from "../support/keyed-fetch.ts";
import { removeFolder } from "../support/remove-folder.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();
const folder = mkdtempSync(join(tmpdir(), "tollgate-run-"));
afterAll(() => removeFolder(folder));

async function tollgate(words: readonly string[], more: Record<string, string> = {}) {
  const [out, err, titles]: [string[], string[], (string | null)[]] = [[], [], []];
  const environment = {
    ...{
      PATH: process.env.PATH,
      TOLLGATE_API_KEY: account.key,
      TOLLGATE_URL: `${gateway.url}/`,
      OUT: join(folder, "out"),
    },
    ...{ ADMIN_TOKEN: gateway.adminToken, ADMIN_PORT: new URL(gateway.adminUrl).port },
    ...more,
  };
  const code = await run(words, {
    environment,
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    title: (text) => titles.push(text),
  });
  const said = [...out, ...err, ...titles].join("\n");
  expect(said).not.toContain(account.key);
  return { code, out: out.join("\n"), err: err.join("\n"), titles };
}

const shell = (script: string) => ["--", "sh", "-c", script];
const written = () => readFileSync(join(folder, "out"), "utf8").trim();
const CHAT = `curl -sS "$OPENAI_BASE_URL/chat/completions" -H "Authorization: Bearer $OPENAI_API_KEY" -H 'Content-Type: application/json' \
  -d '{"model": "sandbox/ok", "messages": [{"role": "user", "content": "Hello"}]}' > "$OUT"`;

interface Shown {
  readonly id: string;
  readonly label: string;
  readonly parent: string | null;
  readonly spent_nano_usd: number;
}
const runs = async () =>
  ((await (await getAs(account.key, `${gateway.url}/api/v1/runs`)).json()) as { runs: readonly Shown[] }).runs;

describe("a command under `tollgate run`", () => {
  test("finds the gateway and a key with its run in the variables of clients, and no other credential", async () => {
    const script =
      'printf "%s\\n" "$ANTHROPIC_BASE_URL" "$GOOGLE_GEMINI_BASE_URL" "$OPENAI_BASE_URL" "$ANTHROPIC_AUTH_TOKEN" "$GEMINI_API_KEY" "$OPENAI_API_KEY" "$TOLLGATE_RUN" "$(printenv ANTHROPIC_API_KEY || echo none)" > "$OUT"';
    await tollgate(["run", "--budget", "5", ...shell(script)], { ANTHROPIC_API_KEY: "sk-of-the-vendor" });
    const [newest] = await runs();
    const key = `${account.key}+${newest?.id}`;
    const llm = `${gateway.url}/api/llm`;
    expect(written().split("\n")).toEqual([llm, llm, `${llm}/v1`, key, key, key, newest?.id, "none"]);
    expect(newest?.label).toBe("sh");
  });

  test("is billed at the end, on standard error; the title shows what is left", async () => {
    const { code, out, err, titles } = await tollgate(["run", "--budget", "0.50", "--label", "one", ...shell(CHAT)]);
    const [newest] = await runs();
    expect([code, out]).toEqual([0, ""]);
    expect(err).toMatch(
      new RegExp(
        `^Run ${newest?.id}: \\S+ of \\$0.50 spent in 1 call\\.\nMODEL OR ACTION +CALLS +COST\nsandbox/ok +1 `,
      ),
    );
    expect([titles[0], titles.at(-1)]).toEqual(["$0.50 of $0.50 left", null]);
  });

  test("keeps its exit code, and has its bill on standard output as JSON where that is wanted", async () => {
    const { code, out } = await tollgate(["run", "--budget", "1", "--json", ...shell(`${CHAT}; exit 7`)]);
    const bill = JSON.parse(out) as Shown & { readonly totals: object; readonly calls: readonly object[] };
    expect(code).toBe(7);
    expect(bill).toMatchObject({
      totals: { calls: 1, charged_nano_usd: bill.spent_nano_usd, by_model: [{ model: "sandbox/ok" }], by_action: [] },
      calls: [{ run_id: bill.id, status: "complete", charged_nano_usd: bill.spent_nano_usd }],
    });
  });

  test("that starts another run makes a child run", async () => {
    await tollgate(["run", "--budget", "5", "--label", "outer", ...shell('printf %s "$TOLLGATE_API_KEY" > "$OUT"')]);
    await tollgate(["run", "--budget", "1", "--label", "inner", "--key", written(), ...shell("true")]);
    const [inner, outer] = await runs();
    expect([inner?.label, inner?.parent]).toEqual(["inner", outer?.id]);
  });

  test("is not started without a budget, a command or a gateway that opens its run", async () => {
    for (const [words, code, message] of [
      [["run", "--budget", "5"], 2, "Name a command after --."],
      [["run", ...shell("true")], 2, "--budget is missing."],
      [["run", "--budget", "0", ...shell("true")], 2, "--budget takes dollars and whole cents"],
      [["run", "--budget", "0.001", ...shell("true")], 2, "--budget takes dollars and whole cents"],
      [["run", "--budget", "5", "--key", "tg_sk_unknown", ...shell("true")], 1, "tollgate: "],
      [["run", "--budget", "5", "--", "no-such-program", "--json"], 127, "no-such-program cannot be started (ENOENT)."],
    ] as const) {
      const answered = await tollgate(words);
      expect([words, answered.code]).toEqual([words, code]);
      expect(answered.err).toContain(message);
    }
  });
});

test("an operator lists, shows and stops an account's runs", async () => {
  await tollgate(["run", "--budget", "2", "--label", "night", ...shell(CHAT)]);
  const [night] = await runs();
  const id = night?.id ?? "";
  const list = await tollgate(["runs", "list", account.accountId]);
  expect(list.out).toMatch(new RegExp(`^${id} +night +open +\\$2.00 `, "m"));
  const show = await tollgate(["runs", "show", account.accountId, id]);
  expect(show.out).toMatch(/^state +open$[\s\S]*of \$2.00 spent in 1 call\.$/m);
  expect((await tollgate(["runs", "stop", account.accountId, id])).out).toContain(`${id} is stopped.`);
  expect((await tollgate(["runs", "show", account.accountId, id])).out).toMatch(/^state +stopped$/m);
});
