// Schemas that the messages wire can guarantee, and those whose meaning it would lose.
import { expect, it } from "vitest";
import { guaranteedSchema } from "../../../src/models/formats/messages/vendor-schema.ts";

it("an object that says nothing of its properties is never closed: it could only be empty (M3)", () => {
  const open = { type: "object", properties: { extra: { type: "object" } } };
  expect(guaranteedSchema(open)).toBeNull();
  expect(guaranteedSchema({ type: "object" })).toBeNull();
  const empty = { type: "object", properties: { extra: { type: "object", additionalProperties: false } } };
  expect(guaranteedSchema(empty)).toMatchObject({ properties: { extra: { additionalProperties: false } } });
  const said = { type: "object", properties: { extra: { type: "object", properties: { a: { type: "string" } } } } };
  expect(guaranteedSchema(said)).toMatchObject({ properties: { extra: { additionalProperties: false } } });
});
