// Message streams arrive in arbitrary network pieces, and an invalid message ends them.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Messages } from "../../src/catalog/script.ts";
import { connectFrame } from "../../src/upstream/connect-frames.ts";
import type { CutOutcome } from "../../src/upstream/message-bytes.ts";
import { messageCutter } from "../../src/upstream/message-cutter.ts";
import { socketFrame } from "../support/box-vendor.ts";

type Form = Messages["form"];

const WRITES: Readonly<Record<Form, (text: string) => Buffer>> = {
  lines: (text) => Buffer.from(`${text}\n`),
  connect: (text) => connectFrame(text),
  "web-socket": (text) => socketFrame(text),
};
const forms = Object.keys(WRITES) as Form[];
const FAREWELL = Buffer.from([0x88, 0]);

/** Cuts bytes that arrive in pieces; accepts at most `most` messages. */
function cut(form: Form, pieces: readonly Buffer[], most = Number.POSITIVE_INFINITY) {
  const heard: string[] = [];
  const replies: Buffer[] = [];
  const cutter = messageCutter(
    { form, heard: (bytes) => heard.push(bytes.toString("utf8")) < most },
    (bytes) => void replies.push(bytes),
  );
  let outcome: CutOutcome = "more";
  for (const piece of pieces) if (outcome === "more") outcome = cutter.push(piece);
  return { heard, replies, outcome, end: () => cutter.end() };
}

function inPieces(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let at = 0;
  for (let n = 0; at < bytes.length; n++) {
    const size = sizes[n % sizes.length] ?? 1;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

describe.each(forms)("messages as %s", (form) => {
  it("are the same in whatever pieces they come", () => {
    // A line is a text without line breaks that is not only white space.
    const text = fc
      .string({ minLength: 1, maxLength: 200, unit: "grapheme" })
      .map((one) => `a${one.replace(/\n/g, "")}`);
    const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(fc.array(text, { maxLength: 12 }), sizes, (messages, some) => {
        const bytes = Buffer.concat(messages.map(WRITES[form]));
        expect(cut(form, inPieces(bytes, some)).heard).toEqual(messages);
      }),
      { numRuns: 60, seed: 20_261_123 },
    );
  });

  it("end once enough has been heard", () => {
    const { heard, outcome } = cut(form, [Buffer.concat(["one", "two", "three"].map(WRITES[form]))], 2);
    expect([heard, outcome]).toEqual([["one", "two"], "enough"]);
  });

  it("are broken where one is longer than any, before it has come", () => {
    const long = WRITES[form]("x".repeat(4 * 1024 * 1024 + 1));
    const { heard, outcome } = cut(form, form === "lines" ? [long.subarray(0, -1)] : [long.subarray(0, 16)]);
    expect([heard, outcome]).toEqual([[], "broken"]);
  });
});

describe("what ends a stream", () => {
  it("is of lines the last one, with or without its end", () => {
    const { heard, end } = cut("lines", [Buffer.from("one\n\n \r\ntwo")]);
    expect([end(), heard]).toEqual(["more", ["one", "two"]]);
  });

  it("is of frames a whole frame: half of one is broken, and so is one that is compressed", () => {
    const frame = connectFrame("{}");
    expect(cut("connect", [frame]).end()).toBe("more");
    expect(cut("connect", [frame.subarray(0, 6)]).end()).toBe("broken");
    expect(cut("connect", [Buffer.concat([Buffer.from([1]), frame.subarray(1)])]).outcome).toBe("broken");
  });

  it("is of a web socket a farewell, which is answered; a lost connection is broken", () => {
    const { outcome, replies } = cut("web-socket", [socketFrame("one"), FAREWELL]);
    // Masked, like everything that a client sends: code 1000.
    expect([outcome, replies.map((one) => one.subarray(0, 2))]).toEqual(["over", [Buffer.from([0x88, 0x82])]]);
    expect(cut("web-socket", [socketFrame("one")]).end()).toBe("broken");
  });

  it.each([
    ["a masked frame", [0x81, 0x81, 0, 0, 0, 0, 0x61]],
    ["an extension's bit", [0xc1, 0x01, 0x61]],
    ["a fragment of nothing", [0x80, 0x01, 0x61]],
    ["a message within a message", [0x01, 0x01, 0x61, 0x01, 0x01, 0x61]],
    ["a ping in fragments", [0x09, 0x00]],
    ["a ping that is too long", [0x89, 0x7e, 0x00, 0x7e, ...Array<number>(126).fill(0)]],
  ])("is of a web socket %s, which no server says", (_, bytes) => {
    expect(cut("web-socket", [Buffer.from(bytes)]).outcome).toBe("broken");
  });
});
