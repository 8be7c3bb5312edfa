// The realtime stand-in alone: what a session may cost the process that it runs in.
import { expect, it } from "vitest";
import { realtime } from "../../src/models/formats/realtime/stand-in.ts";

function open() {
  const types: string[] = [];
  let isCut = false;
  const socket = {
    send: (text: string) => void types.push((JSON.parse(text) as { type: string }).type),
    cut() {
      isCut = true;
    },
    counted() {},
  };
  const session = realtime.open(socket, "maker/model");
  const say = (event: unknown) => session.message(typeof event === "string" ? event : JSON.stringify(event));
  return { types, say, isCut: () => isCut };
}

it("ends an answer of very many words after some of them", () => {
  const { types, say } = open();
  const content = [{ type: "input_text", text: `[[say: ${"a ".repeat(50_000)}]]` }];
  say({ type: "conversation.item.create", item: { type: "message", role: "user", content } });
  say({ type: "response.create", response: { output_modalities: ["text"] } });
  expect(types.filter((type) => type === "response.output_text.delta").length).toBeLessThan(5_000);
  expect(types.at(-2)).toBe("response.done");
});

it("is cut by an event that it cannot write", () => {
  const { say, isCut } = open();
  const nested = `${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}`;
  say(`{"type":"session.update","session":{"type":"realtime","reasoning":${nested}}}`);
  expect(isCut()).toBe(true);
});
