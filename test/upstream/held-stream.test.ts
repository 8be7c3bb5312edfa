// When a streamed answer is complete: every choice that began has ended.
import { expect, test } from "vitest";
import type { AttemptFailure, FinalPart } from "../../src/core/route.ts";
import { chatCompletionsPassing } from "../../src/models/formats/chat-completions/vendor.ts";
import { EventStream } from "../../src/upstream/event-stream.ts";
import type { Lane } from "../../src/upstream/lane.ts";
import { chatContext } from "../support/dialect-replay.ts";

const CONTEXT = chatContext({ stream: true, spec: { dialect: "chat-completions", models: {} } });
const LANE: Pick<Lane, "reader"> = { reader: (out) => chatCompletionsPassing.reader(CONTEXT, out) };

function chunk(index: number, text: string | null, finish_reason: string | null = null): string {
  const delta = text === null ? {} : { content: text };
  return JSON.stringify({ id: "x", object: "chat.completion.chunk", choices: [{ index, delta, finish_reason }] });
}

/** The relay's result after these events and the end of the body. */
function told(...data: string[]) {
  let sent = "";
  let failure: AttemptFailure | null = null;
  let final: FinalPart | null = null;
  const stream = new EventStream(LANE, {
    content: (bytes) => {
      sent += Buffer.from(bytes).toString();
    },
    done: (part) => {
      final = part;
    },
    failed: (said) => {
      failure = said;
    },
  });
  stream.push(Buffer.from(data.map((event) => `data: ${event}\n\n`).join("")));
  const finished = stream.finished;
  stream.end();
  return { sent, finished, failure: failure as AttemptFailure | null, final: final as FinalPart | null };
}

test("an answer is whole when its choices have all ended", () => {
  const { failure, final, finished } = told(
    chunk(0, "a"),
    chunk(1, "b"),
    chunk(0, null, "stop"),
    chunk(1, null, "length"),
  );
  expect([failure, finished]).toEqual([null, true]);
  expect(final?.kind === "stream" && Buffer.from(final.tail).toString()).toMatch(/"stop".*\n\n.*"length"/s);
});

test("a choice that never ended makes it a broken one, whatever the others did, and whatever the vendor says", () => {
  const half = [chunk(0, "a"), chunk(1, "b"), chunk(0, null, "stop")];
  for (const { finished, failure, final } of [told(...half), told(...half, "[DONE]"), told(...half, chunk(1, "c"))]) {
    expect([finished, failure?.kind, final]).toEqual([false, "provider_cut", null]);
  }
});

test("a choice that goes on after another has ended loses nothing of either", () => {
  const { sent, failure } = told(
    chunk(0, "a"),
    chunk(1, "b"),
    chunk(0, null, "stop"),
    chunk(1, "c"),
    chunk(1, "d", "stop"),
  );
  expect(failure).toBe(null);
  expect(sent.match(/"content":"."/g)).toEqual(['"content":"a"', '"content":"b"', '"content":"c"']);
  expect(sent.indexOf('"stop"')).toBeLessThan(sent.indexOf('"c"'));
});

test("a picture may come with the finish, however large, and further finishes do not make it a stream without end", () => {
  const picture = "x".repeat(5_000_000);
  const { failure, final } = told(chunk(0, picture, "stop"), chunk(0, null, "stop"));
  expect(failure).toBe(null);
  expect(final?.kind === "stream" && final.tail.length).toBeGreaterThan(picture.length);
  const half = "x".repeat(600_000);
  expect(told(chunk(0, half, "stop"), chunk(0, half, "stop")).failure).toBe(null);
  const { sent, final: last } = told(...Array<string>(3).fill(chunk(0, half, "stop")));
  const all = sent + (last?.kind === "stream" ? Buffer.from(last.tail).toString() : "");
  expect(all.split(half)).toHaveLength(4);
  expect(all.match(/"finish_reason":"stop"/g)).toHaveLength(1);
});

test("an empty reason in every chunk ends nothing, and a reason that is repeated ends once", () => {
  const { failure, sent } = told(chunk(0, "a", ""), chunk(0, "b", ""), chunk(0, null, "stop"), chunk(0, "", "stop"));
  expect(failure).toBe(null);
  expect(sent.match(/"content":"[ab]"/g)).toHaveLength(2);
  expect(told(chunk(0, "a", ""), chunk(0, "b", "")).failure?.kind).toBe("provider_cut");
});

test("events that came together leave together, at once, and none waits for the next", () => {
  const said: string[] = [];
  const stream = new EventStream(LANE, {
    content: (bytes) =>
      said.push(
        Buffer.from(bytes)
          .toString()
          .match(/"content":"."/g)
          ?.join("") ?? "",
      ),
    done: () => said.push("done"),
    failed: ({ kind }) => said.push(kind),
  });
  const wire = (...data: string[]) => stream.push(Buffer.from(data.map((event) => `data: ${event}\n\n`).join("")));
  wire(chunk(0, "a"), chunk(0, "b"), chunk(0, "c"));
  wire(chunk(0, "d"));
  expect(said).toEqual(['"content":"a""content":"b""content":"c"', '"content":"d"']);
  wire(chunk(0, "e"), '{"error":{"message":"overloaded","code":503}}', chunk(0, "f"));
  expect(said.slice(2)).toEqual(['"content":"e"', expect.stringMatching(/^provider_/)]);
});
