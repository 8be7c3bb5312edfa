// A stub of the plain responses wire: messages with one text, the vendor's own search, and chat completions' format field.
import { z } from "zod";
import type { Dialect } from "../../../sandbox/dialect.ts";
import { responses } from "./stand-in.ts";

const own = z.looseObject({
  input: z.array(
    z.strictObject({
      type: z.literal("message"),
      role: z.enum(["user", "assistant", "system", "developer"]),
      content: z.string(),
    }),
  ),
  tools: z.array(z.looseObject({ type: z.literal("web_search") })),
  tool_choice: z.enum(["none", "auto", "required"]).optional(),
  max_steps: z.int().min(1).optional(),
  response_format: z
    .strictObject({ type: z.literal("json_schema"), json_schema: z.looseObject({ schema: z.looseObject({}) }) })
    .optional(),
});

/** Parses the rest like a request to OpenAI. */
export const plainResponses: Dialect = {
  ...responses,
  path: /\/agent$/,
  read(json, target) {
    const read = own.safeParse(json);
    const [issue] = read.error?.issues ?? [];
    if (issue !== undefined) return { kind: "invalid", message: `${issue.path.join(".")}: ${issue.message}` };
    const { tools: _, tool_choice: __, max_steps: ___, response_format: format, ...rest } = read.data ?? {};
    const schema = format === undefined ? {} : { text: { format: { type: "json_schema", ...format.json_schema } } };
    return responses.read({ ...rest, ...schema }, target);
  },
};
