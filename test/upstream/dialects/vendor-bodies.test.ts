// OpenAI chat requests are translated to the wires of other vendors without loss of meaning, or refused with a reason: one row per fact,
// in test/fixtures/vendor-bodies. A row asks "Hi" unless it has messages.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { converse } from "../../../src/models/formats/converse/vendor.ts";
import { generateContent } from "../../../src/models/formats/generate-content/vendor.ts";
import { messages } from "../../../src/models/formats/messages/vendor.ts";
import { responses } from "../../../src/models/formats/responses/vendor.ts";
import type { ChatContext } from "../../../src/upstream/format-kit/dialect.ts";
import { asked, chatContext } from "../../support/dialect-replay.ts";

interface Row {
  readonly why: string;
  /** The caller's fields. */
  readonly asked: Readonly<Record<string, unknown>>;
  readonly context?: Partial<ChatContext>;
  readonly path?: string;
  /** What the vendor gets. */
  readonly body?: object;
  /** Why the wire cannot express the request; null where it can. */
  readonly refused?: string | null;
}

const FOLDER = join(import.meta.dirname, "../../fixtures/vendor-bodies");

describe.each([
  ["messages", messages],
  ["generate-content", generateContent],
  ["converse", converse],
  ["responses", responses],
] as const)("the %s wire", (name, dialect) => {
  const rows = JSON.parse(readFileSync(join(FOLDER, `${name}.json`), "utf8")) as readonly Row[];
  it.each(rows.map((row) => [row.why, JSON.stringify(row.asked).slice(0, 120), row] as const))(
    "%s: %s",
    (_why, _asked, row) => {
      const request = asked({ messages: [{ role: "user", content: "Hi" }], ...row.asked });
      const context = chatContext(row.context);
      if (row.refused !== undefined) expect(dialect.unsupported(request, context)).toBe(row.refused);
      if (row.body !== undefined) expect(dialect.request(request, context)).toEqual({ path: row.path, body: row.body });
    },
  );
});

it("a schema that the messages wire could not guarantee is refused, however deep it is nested", () => {
  const refused = (schema: unknown) => {
    const json_schema = { name: "x", strict: true, schema };
    const response_format = { type: "json_schema", json_schema };
    return messages.unsupported(asked({ messages: [], response_format }), chatContext());
  };
  const tags = { type: "object", additionalProperties: { type: "string" } };
  expect(refused({ type: "object", properties: { tags } })).toMatch(/free keys/);
  let deep: unknown = { type: "string" };
  for (let at = 0; at < 5_000; at++) deep = { type: "array", items: deep };
  expect(refused(deep)).toMatch(/cannot be guaranteed/);
});
