// Binary frames: the format's own examples as bytes, every way to split them, and invalid frames.
import { expect, it } from "vitest";
import { eventstreamFrame } from "../../src/sandbox/eventstream-frame.ts";
import { BrokenFrame, EventstreamFrames } from "../../src/upstream/eventstream-frames.ts";
import { EventTooLarge } from "../../src/upstream/sse-scanner.ts";

/** From the format's published test vectors. */
const GOLDEN = {
  empty: "000000100000000005c248eb7d98c8ff",
  payload: "0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936",
  header:
    "0000003d0000002007fd83960c636f6e74656e742d747970650700106170706c69636174696f6e2f6a736f6e7b27666f6f273a27626172277d8d9c08b1",
};

function readAll(pieces: readonly Buffer[], bytesMax = 1_000) {
  const events: (readonly [name: string | null, data: string])[] = [];
  const exceptions: (readonly [type: string, message: string])[] = [];
  const frames = new EventstreamFrames(
    (bytes, start, end, name) => events.push([name, bytes.toString("utf8", start, end)]),
    (type, message) => exceptions.push([type, message]),
    bytesMax,
  );
  for (const piece of pieces) frames.push(piece);
  frames.end();
  return { events, exceptions };
}

const event = (name: string, data: string) =>
  eventstreamFrame({ ":event-type": name, ":message-type": "event" }, Buffer.from(data));

it.each(Object.entries(GOLDEN))("reads the published example of %s", (name, hex) => {
  const { events } = readAll([Buffer.from(hex, "hex")]);
  expect(events).toEqual([[null, name === "empty" ? "" : "{'foo':'bar'}"]]);
});

it("writes the published examples as well, so that the stand-in is no looser than the vendor", () => {
  const written = [
    eventstreamFrame({}, Buffer.alloc(0)),
    eventstreamFrame({}, Buffer.from("{'foo':'bar'}")),
    eventstreamFrame({ "content-type": "application/json" }, Buffer.from("{'foo':'bar'}")),
  ];
  expect(written.map((frame) => frame.toString("hex"))).toEqual(Object.values(GOLDEN));
});

it("reads the same however the bytes are split", () => {
  const whole = Buffer.concat([
    event("messageStart", "{}"),
    event("contentBlockDelta", '{"delta":{"text":"ä"}}'),
    event("x", ""),
  ]);
  const expected = readAll([whole]);
  expect(expected.events.map(([name]) => name)).toEqual(["messageStart", "contentBlockDelta", "x"]);
  for (let at = 1; at < whole.length; at++) {
    expect(readAll([whole.subarray(0, at), whole.subarray(at)])).toEqual(expected);
  }
  expect(readAll([...whole].map((byte) => Buffer.from([byte])))).toEqual(expected);
});

it("unwraps events of another wire, and tells exceptions and errors from events", () => {
  const inner = '{"type":"message_stop"}';
  const wrapped = event("chunk", JSON.stringify({ bytes: Buffer.from(inner).toString("base64"), p: "ab" }));
  const exception = eventstreamFrame(
    { ":message-type": "exception", ":exception-type": "throttlingException" },
    Buffer.from('{"message":"Too many requests"}'),
  );
  const error = eventstreamFrame(
    { ":message-type": "error", ":error-code": "InternalFailure", ":error-message": "broken" },
    Buffer.alloc(0),
  );
  expect(readAll([wrapped, exception, error])).toEqual({
    events: [[null, inner]],
    exceptions: [
      ["throttlingException", "Too many requests"],
      ["InternalFailure", "broken"],
    ],
  });
});

it("takes no frame whose checksums, lengths or headers are wrong, nor one beyond its bound", () => {
  const good = event("x", "{}");
  for (const at of [0, 4, 9, 14, good.length - 5, good.length - 1]) {
    const bad = Buffer.from(good);
    bad[at] = (bad[at] ?? 0) ^ 1;
    expect(() => readAll([bad]), `byte ${at}`).toThrow(BrokenFrame);
  }
  expect(() => readAll([event("x", "y".repeat(2_000))])).toThrow(EventTooLarge);
  // A frame that claims to be shorter than its own header would be read forever.
  const short = Buffer.from("000000000000000000000000", "hex");
  expect(() => readAll([short])).toThrow(BrokenFrame);
});
