// The sandbox simulates every machine vendor in its own wire format, including streams and WebSockets, through a complete gateway.
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { readAnswer } from "../run/acme-gateway.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 1_000 });

async function run(action: string, params: unknown, headers: Record<string, string> = {}) {
  const response = await postAs(account.key, `${gateway.url}/api/run/${action}`, params, headers);
  return (await readAnswer(response)).json;
}

describe.each(["e2b", "runloop", "vercel-sandbox", "sprites"])("a session of %s in play", (id) => {
  it("keeps files and variables, runs code, tells exit codes, and is closed", async () => {
    const opened = await run(`${id}/create_session`, { envs: { WHO: "ada" } });
    expect(opened).toMatchObject({ ok: true });
    const { session_id } = opened.data as { session_id: string };
    const data = async (params: object) => (await run(`${id}/session`, { session_id, ...params })).data;
    expect(await data({ command: "echo hello $WHO > note" })).toEqual({ stdout: "", stderr: "", exit_code: 0 });
    expect(await data({ command: "echo $constructor" })).toMatchObject({ stdout: "\n", exit_code: 0 });
    expect(await data({ command: "cat note" })).toEqual({ stdout: "hello ada\n", stderr: "", exit_code: 0 });
    expect(await data({ code: "print(6 * 7)" })).toMatchObject({ stdout: "42\n", exit_code: 0 });
    expect(await data({ code: "console.log('it is')", language: "javascript" })).toMatchObject({ stdout: "it is\n" });
    expect(await data({ command: "nonsense" })).toMatchObject({
      stderr: "bash: nonsense: command not found\n",
      exit_code: 127,
    });
    expect(await data({ command: "yes" })).toMatchObject({ truncated: true });
    const failed = await run(`${id}/session`, { session_id, command: "echo" }, { "x-tollgate-sandbox-fault": "500" });
    expect(failed).toMatchObject({ ok: false, error: "upstream_error" });
    expect((await run(`${id}/close`, { session_id })).data).toMatchObject({
      status: "closed",
      ended: "closed",
      minutes: 1,
    });
    expect(await run(`${id}/session`, { session_id, command: "ls" })).toMatchObject({ error: "session_closed" });
  });
});
