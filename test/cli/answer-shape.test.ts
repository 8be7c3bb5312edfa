import { describe, expect, test } from "vitest";
import { shapeDifferences, shapeOf } from "../../src/cli/certify/answer-shape.ts";

const json = (value: unknown) => shapeOf(Buffer.from(JSON.stringify(value)), "application/json");

describe("the shape of an answer", () => {
  test("has the place and type of each field, and nothing that was said", () => {
    expect(json({ id: "secret", items: [{ n: 1 }, { n: null }] })).toEqual({
      "": ["object"],
      "/id": ["string"],
      "/items": ["list"],
      "/items/*": ["object"],
      "/items/*/n": ["null", "number"],
    });
  });

  test("of a stream is that of all its events; what is no JSON is left out", () => {
    const body = Buffer.from('event: x\r\ndata: {"a":1}\r\n\r\ndata: {"b":"t"}\n\ndata: [DONE]\n\n');
    expect(Object.keys(shapeOf(body, "text/event-stream; charset=utf-8"))).toEqual(["", "/a", "/b"]);
    expect(shapeOf(Buffer.from("<html>"), "text/html")).toEqual({});
  });
});

describe("what differs", () => {
  test("is a field that is gone, once and without those below it", () => {
    const found = shapeDifferences(json({ usage: { in: 1, out: { all: 2 } } }), json({ used: {} }));
    expect(found.map(({ at, difference }) => [at, difference])).toEqual([
      ["/usage", "missing"],
      ["/used", "new"],
    ]);
  });

  test("is a field of another type", () => {
    expect(shapeDifferences(json({ n: 1 }), json({ n: "1" }))).toEqual([
      { at: "/n", difference: "other type", expected: ["number"], came: ["string"] },
    ]);
  });

  test("is not null, nor what an empty list or a null would have had", () => {
    expect(
      shapeDifferences(json({ n: 1, list: [{ a: 1 }], o: { b: 1 } }), json({ n: null, list: [], o: null })),
    ).toEqual([]);
  });
});
