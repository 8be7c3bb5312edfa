// The environment variables that an adapter reads reach it: the settings select variables by the form of their names.
import { expect, test } from "vitest";
import { allVariablesOf } from "../../src/catalog/variables.ts";
import { readConfig } from "../../src/platform/config.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const catalog = await shippedCatalog();
// The sandbox's own adapters have a nameless variable, because they need none.
const declared = [...catalog.adapters({ sandbox: true })]
  .flatMap(([id, { spec }]) => allVariablesOf(id, spec))
  .filter((name) => name !== "");

test("the settings pass on every variable that an adapter declares", () => {
  const set = Object.fromEntries(declared.map((name) => [name, "1"]));
  expect(declared.length).toBeGreaterThan(100);
  expect(declared.filter((name) => readConfig(set).vendorEnv[name] !== "1")).toEqual([]);
});

test("the ids of a team and a project are shown, and the token beside them is not", () => {
  const env = { VERCEL_TEAM_ID: "team_1", VERCEL_PROJECT_ID: "prj_1", VERCEL_TOKEN: "secret" };
  const shown = readConfig(env).effective.filter(({ name }) => name.startsWith("VERCEL_"));
  expect(shown.map(({ name, value }) => [name, value])).toEqual([
    ["VERCEL_TEAM_ID", "team_1"],
    ["VERCEL_PROJECT_ID", "prj_1"],
    ["VERCEL_TOKEN", "(set)"],
  ]);
});
