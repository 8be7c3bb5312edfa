// `tollgate routes`: which routes rest, and the latest failures of routes, in the providers' own words.
import type { RouteRow } from "../upstream/route-figures.ts";
import type { Command } from "./command.ts";
import { table } from "./text.ts";

const HEADS = ["PROVIDER", "MODEL OR ACTION", "STATE", "TIMES", "LAST", "REASON", "IN ITS WORDS"];

function linesOf({ provider, model, rests, failures }: RouteRow): readonly (readonly string[])[] {
  const state = rests ? "rests" : "";
  if (failures.length === 0) return [[provider, model, state, "", "", "", ""]];
  return failures.map(({ reason, status, words, count, last_at }) => {
    const told = status === 0 ? reason : `${reason} ${status}`;
    return [provider, model, state, String(count), last_at.slice(0, 19), told, words];
  });
}

export const routesCommand: Command = {
  name: "routes",
  options: { provider: { value: "ID", meaning: "of this one alone" } },
  summary: "Lists the routes that rest, and what routes failed with lately, in their providers' own words",
  async run(typed, { admin, columns }) {
    const only = typed.text("provider");
    const { routes: all } = await admin.call<{ readonly routes: readonly RouteRow[] }>("GET", "/admin/v1/routes");
    const routes = only === undefined ? all : all.filter(({ provider }) => provider === only);
    const text =
      routes.length === 0 ? "No route rests, and none has failed." : table(HEADS, routes.flatMap(linesOf), columns);
    return { json: { routes }, text };
  },
};
