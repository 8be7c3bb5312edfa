// The stored text of a stream is bounded, and all of it is counted.
import { expect, it } from "vitest";
import { DeliveredText } from "../../src/upstream/held-stream.ts";

it("puts escaped fragments together, also where a character was split over two of them", () => {
  const text = new DeliveredText();
  const fragments = Buffer.from('say \\"hi\\" \\ud83d|\\ude00 ü').toString("latin1").split("|");
  for (const fragment of fragments) text.add(Buffer.from(fragment, "latin1"), 0, Buffer.byteLength(fragment, "latin1"));
  text.addText(' "end"\n');
  expect(text.read().text).toBe('say "hi" \u{1f600} ü "end"\n');
});

it("stops keeping at its bound but goes on counting", () => {
  const text = new DeliveredText();
  const fragment = Buffer.from("x".repeat(1_000));
  for (let n = 0; n < 1_000; n++) text.add(fragment, 0, fragment.length);
  const { bytes, text: kept } = text.read();
  expect(bytes).toBe(1_000_000);
  expect(kept.length).toBeGreaterThan(65_536);
  expect(kept.length).toBeLessThanOrEqual(98_304);
});
