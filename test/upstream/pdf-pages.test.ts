// How many pages a PDF has: as its own tree says, wherever that is written, and in linear time whatever is in it.
import { deflateSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { createCountPdf } from "../../src/upstream/pdf-at-address.ts";
import { pagesOfPdf } from "../../src/upstream/pdf-pages.ts";

const count = (...parts: readonly (string | Buffer)[]) =>
  pagesOfPdf(Buffer.concat(parts.map((part) => Buffer.from(part as string))), new AbortController().signal);
const object = (number: number, body: string) => `${number} 0 obj\n${body}\nendobj\n`;
const root = object(1, "<< /Type /Catalog /Pages 2 0 R >>");
const tree = (pages: number, more = "") => object(2, `<< /Type /Pages /Count ${pages} /Kids [3 0 R] ${more} >>`);

/** A stream of objects (PDF 1.5), as most writers pack the tree into. */
function packed(bodies: readonly (readonly [number: number, body: string])[], how: (bytes: Buffer) => Buffer): Buffer {
  let at = 0;
  const places = bodies.map(([number, body]) => {
    const place = `${number} ${at}`;
    at += body.length + 1;
    return place;
  });
  const first = `${places.join(" ")} `;
  const bytes = how(Buffer.from(first + bodies.map(([, body]) => body).join("\n")));
  const head = `/Type /ObjStm /N ${bodies.length} /First ${first.length} /Length ${bytes.length} /Filter /FlateDecode`;
  return Buffer.concat([Buffer.from(`9 0 obj\n<< ${head} >>\nstream\n`), bytes, Buffer.from("\nendstream\nendobj\n")]);
}

describe("the pages of a PDF", () => {
  it.each<[string, number, readonly (string | Buffer)[]]>([
    ["as its tree says", 3, ["%PDF-1.4\n", root, tree(3)]],
    [
      "written close together",
      7,
      ["1 0 obj<</Pages 2 0 R/Type/Catalog>>endobj 2 0 obj<</Count 7/Kids[]/Type/Pages>>endobj"],
    ],
    ["of the tree's root, not of a branch", 5, [root, object(4, "<< /Type /Pages /Count 9 /Parent 2 0 R >>"), tree(5)]],
    ["of the last that was written of it", 4, [root, tree(3), tree(4)]],
    [
      "within a dictionary of its own no other's",
      6,
      [root, tree(6, "/Resources << /Count 1 /X [ << /Count 2 >> ] >>")],
    ],
    [
      "where a text has the words of a tree",
      2,
      [root, tree(2, "/Title (\\) 2 0 obj << /Count 8 >> \\\\) % /Count 9\n")],
    ],
    [
      "where a stream has the words of a tree",
      1,
      [root, tree(1), `8 0 obj << /Length 60 >>\nstream\n${tree(50).padEnd(60).slice(0, 60)}\nendstream endobj`],
    ],
    [
      "packed into a stream",
      10,
      [
        packed(
          [
            [5, "[1 2]"],
            [1, "<< /Type /Catalog /Pages 2 0 R >>"],
            [2, "<< /Type /Pages /Count 10 >>"],
          ],
          deflateSync,
        ),
      ],
    ],
  ])("are known %s", async (_, pages, parts) => {
    expect(await count(...parts)).toBe(pages);
  });

  it.each<[string, readonly (string | Buffer)[]]>([
    ["is no PDF", ["<html>2 0 obj</html>"]],
    ["has no tree", [root]],
    ["has a tree of nothing", [root, tree(0)]],
    ["breaks off within it", [root, "2 0 obj << /Type /Pages /Count 3"]],
    [
      "is encrypted",
      [packed([[1, "<< /Type /Catalog /Pages 2 0 R >>"]], (bytes) => bytes.map((byte) => byte ^ 0x55) as Buffer)],
    ],
    ["unpacks to more than is read", [packed([[1, " ".repeat(5_000_000)]], deflateSync), root, tree(1)]],
  ])("are not known of what %s", async (_, parts) => {
    expect(await count(...parts)).toBeNull();
  });

  it.each([
    ["dictionaries that never end", "1 0 obj << ", null],
    ["texts that never end", "1 0 obj << (", null],
    ["words that could be objects", "1 0 obj ", null],
    ["words that are no objects", " obj", null],
    ["words within words", "obj", null],
    ["dictionaries that are empty", "1 0 obj<<>>", null],
    ["arrays within arrays", "[", 1],
    ["blanks", " ", 1],
  ])("are not looked for behind eight million bytes of %s, unless these are passed over", async (_, piece, pages) => {
    const flood = `1 0 obj << ${piece.repeat(Math.floor(8_000_000 / piece.length))}`;
    expect(await count(flood, root, tree(1))).toBe(pages);
  });

  it("are looked for in turns: others are served meanwhile", async () => {
    let turns = 0;
    const timer = setInterval(() => turns++, 1);
    await count(root, tree(1), object(5, `<< /A (${"x".repeat(1_000)}) >>`).repeat(1_500));
    clearInterval(timer);
    expect(turns).toBeGreaterThan(2);
  });

  it("are looked for in turns where there is nothing but words: each takes time", async () => {
    let turns = 0;
    const turn = () => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    await count(" obj".repeat(100_000));
    clearImmediate(next);
    expect(turns).toBeGreaterThan(30);
  });

  it("are counted while the document is still held, and it is let go of then", async () => {
    const released: number[] = [];
    let turns = 0;
    const base64 = Buffer.from(`%PDF-1.4 ${object(5, "<< >>").repeat(20_000)}`).toString("base64");
    const countPages = createCountPdf({
      fetch: async (links) => new Map(links.map(({ url }) => [url, { mediaType: "application/pdf", base64 }])),
      release: () => void released.push(turns),
    });
    const watched = new AbortController();
    const { signal } = watched;
    // It is asked at each turn.
    signal.throwIfAborted = () => void turns++;
    const asked = { param: "url", url: "https://a.example/b.pdf", most: 10, account: "a", sandbox: false, signal };
    await expect(countPages(asked)).rejects.toThrow("url: must be the address of a PDF");
    expect(turns).toBeGreaterThan(0);
    expect(released).toEqual([turns]);
  });

  it("are no more looked for once the call has ended", async () => {
    const left = new AbortController();
    const counting = pagesOfPdf(Buffer.from("1 0 obj << /A 1 >> ".repeat(100_000)), left.signal);
    left.abort();
    await expect(counting).rejects.toThrow("aborted");
  });
});
