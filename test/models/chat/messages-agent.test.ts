// A coding agent's real requests, recorded once and scrubbed, over every dialect: a tool call, then its result.
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { callMessages, type MessageSeen } from "../../support/messages-call.ts";

interface Recorded {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>> & { readonly messages: readonly Record<string, unknown>[] };
}

function recorded(turn: number): Recorded {
  const file = new URL(`../../fixtures/claude-code/turn-${turn}.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8")) as Recorded;
}

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

function replay({ headers }: Recorded, body: unknown): Promise<MessageSeen> {
  const path = "/api/llm/v1/messages?beta=true";
  return callMessages(body, { url: gateway.url, key: account.key, path, headers });
}

it.each(["sandbox/ok", "sandbox-responses/ok", "sandbox-gemini/ok", "sandbox-messages/ok", "sandbox-converse/ok"])(
  "%s",
  async (model) => {
    const first = recorded(1);
    const asked = await replay(first, { ...first.body, model });
    expect(asked.status, JSON.stringify(asked.message)).toBe(200);
    expect(asked.headers.get("x-tollgate-dropped")).toBeNull();
    const call = asked.message.content.find(({ type }) => type === "tool_use");
    expect(call).toMatchObject({ name: "Bash", input: { command: expect.stringContaining("made.txt") } });
    expect(asked.message.stop_reason).toBe("tool_use");
    // The agent sends thoughts back and does not read them.
    for (const block of asked.message.content) if (block.type === "thinking") expect(block.thinking).toBe("");

    const second = recorded(2);
    const [user, system, , result = {}] = second.body.messages;
    const [block] = result.content as Record<string, unknown>[];
    const messages = [
      user,
      system,
      { role: "assistant", content: asked.message.content },
      { role: "user", content: [{ ...block, tool_use_id: call?.id }] },
    ];
    const answered = await replay(second, { ...second.body, model, messages });
    expect(answered.status, JSON.stringify(answered.message)).toBe(200);
    expect(answered.message.stop_reason).toBe("end_turn");
    expect(answered.text).toMatch(/\w/);
    expect(answered.message.usage.cost).toBeGreaterThan(0);
  },
);
