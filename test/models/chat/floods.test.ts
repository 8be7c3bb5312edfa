// Vendors whose streams are made to be slow to parse or expensive to buffer: unreadable ones end soon, empty ones are not buffered, and
// others get their turn.
import { pipeline, Readable } from "node:stream";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { LONG_RUNS } from "../../support/runs.ts";
import { startVendor } from "../../support/vendor-server.ts";
import { ask, DIALECT_NAMES, gatewayVia, SPEECHES, WIRE_NAMES } from "./dialect-speech.ts";

const MIB = 1024 * 1024;
/** A stream of ten thousand pieces takes more turns than its bytes alone would. */
const PIECES = 10_000;
const TURNS_MIN = 30;
const GROWN_BYTES_MAX = 64 * MIB;

const vendor = forFile(await startVendor());
const gateway = forFile(await gatewayVia(vendor.url));
const account = await gateway.account({ kind: "personal", creditCents: 100_000 });

/** Sends `first`, and then repeats one event up to `bytesMax`. Counts the bytes. */
function flood(type: string, first: Buffer, event: Buffer, bytesMax: number) {
  const sent = { bytes: 0 };
  const piece = Buffer.concat(Array<Buffer>(Math.ceil((64 * 1024) / event.length)).fill(event));
  async function* pieces() {
    yield first;
    for (; sent.bytes < bytesMax; sent.bytes += piece.length) yield piece;
  }
  vendor.answers((response) => {
    response.writeHead(200, { "content-type": type });
    pipeline(Readable.from(pieces()), response, () => {});
  });
  return sent;
}

/** How often the event loop turned during `work`. */
async function turnsOf(work: Promise<unknown>): Promise<number> {
  let [turns, isOver] = [0, false];
  const turn = () => {
    turns++;
    if (!isOver) setImmediate(turn);
  };
  setImmediate(turn);
  await work;
  isOver = true;
  return turns;
}

describe.each(DIALECT_NAMES)("a vendor that speaks %s", (dialect) => {
  const speech = SPEECHES[dialect];
  const [wire = ""] = WIRE_NAMES;

  it("whose events nobody can read is given up after a hundred of them", async () => {
    const event = dialect === "converse" ? speech.event("{") : Buffer.from("data: {\n\n");
    const sent = flood(speech.type, Buffer.alloc(0), event, 16 * MIB);
    const { status, requestId } = await ask(gateway, account, { wire, dialect, stream: true });
    expect(status).toBeGreaterThanOrEqual(500);
    expect(sent.bytes).toBeLessThan(8 * MIB);
    expect((await gateway.record(requestId)).charged_nano_usd).toBe(0);
  });

  it("whose events have no data is read to its end", async () => {
    if (dialect === "converse") return;
    const empty = Buffer.from("data:\n\n".repeat(100_000));
    vendor.answers({
      headers: { "content-type": speech.type },
      body: Buffer.concat([empty, ...speech.early(["Hello"], "first")]),
    });
    expect((await ask(gateway, account, { wire, dialect, stream: true })).said).toBe("Hello");
  });

  it("whose list of events is longer than any answer is refused, and costs nothing", async () => {
    if (dialect === "converse") return;
    const one = /^data: (\{.*)$/m.exec(String(Object.values(speech.nothing)[0]))?.[1];
    const said = speech.early(["Hello"], "first").map((event) => /^data: (\{.*)$/m.exec(String(event))?.[1]);
    const body = `[${[...Array(20_000).fill(one), ...said.filter((event) => event !== undefined)].join(",")}]`;
    vendor.answers({ body });
    const { status, requestId } = await ask(gateway, account, { wire, dialect, stream: true });
    expect([status >= 500, (await gateway.record(requestId)).charged_nano_usd]).toEqual([true, 0]);
  });

  it.each([true, false])(
    "with many short events lets others have their turn (asked for a stream: %s)",
    async (stream) => {
      const pieces = Array<string>(PIECES).fill("a");
      vendor.answers({ headers: { "content-type": speech.type }, body: Buffer.concat(speech.early(pieces, "first")) });
      const answer = ask(gateway, account, { wire, dialect, stream });
      expect(await turnsOf(answer)).toBeGreaterThan(TURNS_MIN);
      expect((await answer).said).toHaveLength(PIECES);
    },
  );

  it.each(Object.keys(speech.nothing))(
    "that says nothing but %s again and again does not grow the process",
    async (what) => {
      const event = speech.nothing[what] ?? Buffer.alloc(0);
      const before = process.memoryUsage().rss;
      // Each format gets one of the events; the long form gives each all of them.
      const at = Object.keys(speech.nothing).indexOf(what) % WIRE_NAMES.length;
      for (const other of LONG_RUNS ? WIRE_NAMES : WIRE_NAMES.slice(at, at + 1)) {
        flood(speech.type, Buffer.alloc(0), event, 4 * MIB);
        expect((await ask(gateway, account, { wire: other, dialect, stream: true })).reason).toBe("error");
      }
      expect(process.memoryUsage().rss - before).toBeLessThan(GROWN_BYTES_MAX);
    },
  );
});
