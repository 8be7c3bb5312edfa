// The scanner finds the same events as the reference parser, however the bytes are split.
import { createParser } from "eventsource-parser";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { EventTooLarge, SseScanner } from "../../src/upstream/sse-scanner.ts";

type Seen = { data: string; name: string | null };

function scan(chunks: Buffer[], bytesMax = 1 << 20): Seen[] {
  const seen: Seen[] = [];
  const scanner = new SseScanner((bytes, start, end, name) => {
    seen.push({ data: bytes.toString("utf8", start, end), name });
  }, bytesMax);
  for (const chunk of chunks) scanner.push(chunk);
  scanner.end();
  return seen;
}

function reference(text: string): Seen[] {
  const seen: Seen[] = [];
  const parser = createParser({ onEvent: (event) => seen.push({ data: event.data, name: event.event ?? null }) });
  parser.feed(text);
  return seen;
}

function cut(text: string, size: number): Buffer[] {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += size) chunks.push(Buffer.from(bytes.subarray(at, at + size)));
  return chunks;
}

const STREAM = [
  ': a comment\n\ndata: {"a":1}\n\n',
  'event: delta\ndata: {"b":"é ü 漢字"}\n\n',
  "data: first\r\ndata: second\r\n\r\ndata:no-space\n\n",
  "id: 7\nretry: 10\ndata: {}\n\ndata\n\nevent: named only\n\ndata: [DONE]\n\n",
].join("");

describe("the SSE scanner", () => {
  it("reads the same events at every cut", () => {
    const expected = reference(STREAM);
    expect(expected.length).toBe(7);
    for (let size = 1; size <= Buffer.byteLength(STREAM); size++) expect(scan(cut(STREAM, size))).toEqual(expected);
  });

  it.each(["data: 1\n\n", "event: a\ndata: 1\r\n\r\n", ": comment\n\n", "\ndata: 1\n\n"])(
    "skips a byte order mark before %j",
    (text) => {
      for (let size = 1; size <= 8; size++) expect(scan(cut(`\uFEFF${text}`, size))).toEqual(reference(text));
    },
  );

  it("a line of byte order marks, however long, is no field", () => {
    expect(scan([Buffer.from(`${"\uFEFF".repeat(100_000)}\ndata: 1\n\n`)])).toEqual(reference("data: 1\n\n"));
  });

  it("agrees with the reference parser on random streams and random cuts", () => {
    const line = fc.oneof(
      fc.stringMatching(/^[ a-z{}":漢é]{0,12}$/).map((text) => `data: ${text}`),
      fc.constantFrom("data:x", "data", ": comment", "event: e", "id: 1", "foo: bar", "", ""),
    );
    const stream = fc.array(fc.tuple(line, fc.constantFrom("\n", "\r\n")), { maxLength: 30 });
    fc.assert(
      fc.property(stream, fc.integer({ min: 1, max: 40 }), (lines, size) => {
        const text = `${lines.map(([content, end]) => content + end).join("")}\n\n`;
        expect(scan(cut(text, size))).toEqual(reference(text));
      }),
      { numRuns: 500 },
    );
  });

  it("delivers a last event whose blank line never came", () => {
    expect(scan([Buffer.from("data: {}\n\ndata: [DONE]")])).toEqual([
      { data: "{}", name: null },
      { data: "[DONE]", name: null },
    ]);
  });

  it("stays linear on a large event that comes byte by byte, and refuses one past its bound", () => {
    const text = `data: ${"x".repeat(300_000)}\n\n`;
    expect(scan(cut(text, 1))[0]?.data.length).toBe(300_000);
    expect(() => scan(cut(text, 1_000), 200_000)).toThrow(EventTooLarge);
  });
});
