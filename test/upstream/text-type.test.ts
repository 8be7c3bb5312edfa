// Which media types count as text: decoded as text from a vendor, and passed as text to a caller.
import { describe, expect, it } from "vitest";
import { binaryAnswer } from "../../src/actions/run/binary-answer.ts";
import { AnswerBody } from "../../src/upstream/answer-body.ts";

const payer = { id: "acct:a", accountId: "a", keyId: "k", sandbox: false } as const;

function read(contentType: string, bytes: Buffer) {
  const body = new AnswerBody({ "content-type": contentType });
  body.push(bytes);
  return body.read()?.text;
}

const told = (contentType: string, bytes: Buffer) =>
  binaryAnswer({ contentType, bytes }, { payer, source: "acme/page", keepBytes: null });

describe.each([
  "text/html; charset=utf-8",
  "Text/CSV",
  "application/json",
  "application/xml",
  "application/javascript",
  "application/x-ndjson",
  "application/ndjson",
  "application/sparql-results+json",
  "application/xhtml+xml; charset=utf-8",
  "image/svg+xml",
])("%s", (contentType) => {
  const bytes = Buffer.from("a,b\n1,2\n");

  it("is text, from the vendor and to the caller", async () => {
    expect(read(contentType, bytes)).toBe("a,b\n1,2\n");
    expect(await told(contentType, bytes)).toEqual({ content_type: contentType, size_bytes: 8, text: "a,b\n1,2\n" });
  });

  it("is told as base64 where its bytes are no UTF-8", async () => {
    const latin1 = Buffer.from([0x61, 0xe9]);
    expect(await told(contentType, latin1)).toMatchObject({ base64: latin1.toString("base64") });
  });
});

it.each(["application/pdf", "image/png", "application/octet-stream; name=a+json", "audio/mpeg"])(
  "%s is none",
  async (contentType) => {
    const bytes = Buffer.from("plain enough");
    expect(read(contentType, bytes)).toBe("");
    expect(await told(contentType, bytes)).toMatchObject({ base64: bytes.toString("base64") });
  },
);
