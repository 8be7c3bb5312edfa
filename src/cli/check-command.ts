// `tollgate check`: checks whether each enabled provider serves us, through the running gateway or directly from this shell.

import type { ProviderCheck } from "../gateway/check-provider.ts";
import type { RouteRow } from "../upstream/route-figures.ts";
import { type AdminClient, askedOr, providersOn } from "./admin-client.ts";
import { type Command, CommandError, type Workplace } from "./command.ts";
import { catalogOf } from "./local-commands.ts";
import { table } from "./text.ts";

interface Checker {
  readonly ids: readonly string[];
  check(id: string): Promise<readonly ProviderCheck[]>;
  close(): Promise<void>;
}

async function byGateway(admin: AdminClient): Promise<Checker> {
  return {
    ids: await providersOn(admin),
    async check(id) {
      const path = `/admin/v1/providers/${encodeURIComponent(id)}/check`;
      return (await admin.call<{ checks: ProviderCheck[] }>("POST", path)).checks;
    },
    close: async () => {},
  };
}

async function fromHere({ config }: Workplace): Promise<Checker> {
  const [{ checkProvider }, { createUpstream }, { systemClock }, { DIALECTS }] = await Promise.all([
    import("../gateway/check-provider.ts"),
    import("../upstream/upstream.ts"),
    import("../core/clock.ts"),
    import("../models/formats/vendor-dialects.ts"),
  ]);
  const catalog = await catalogOf(config);
  const upstream = createUpstream(systemClock, { ...config, dialects: DIALECTS });
  const deps = { catalog, upstream, clock: systemClock, namesSet: config.namesSet };
  const live = [...catalog.adapters({ sandbox: false }).values()];
  return {
    ids: live.flatMap(({ id, configured }) => (configured ? [id] : [])),
    async check(id) {
      const checks = await checkProvider(id, deps);
      if (checks === null) throw new CommandError(`No provider that is on is called ${id}.`);
      return checks;
    },
    close: () => upstream.close(),
  };
}

function rowOf({ provider, asked, verdict, ms }: ProviderCheck): readonly string[] {
  return [provider, verdict, asked === null ? "" : `${ms}`, asked ?? ""];
}

/** A line per proxy, with the providers reached through it. */
function proxiesOf(checks: readonly ProviderCheck[]): readonly string[] {
  const proxied = Object.groupBy(checks, ({ proxy }) => proxy ?? "");
  return Object.entries(proxied).flatMap(([proxy, those = []]) =>
    proxy === "" ? [] : [`through ${proxy}: ${[...new Set(those.map(({ provider }) => provider))].join(", ")}`],
  );
}

function detailsOf(checks: readonly ProviderCheck[]): readonly string[] {
  return checks
    .filter(({ detail }) => detail !== "")
    .map(({ provider, key, verdict, status, detail }) => {
      const bad = verdict !== "fine" && verdict !== "not asked";
      const where = bad && key !== null ? ` ${key}` : "";
      return `${provider}:${where}${status > 0 && bad ? ` ${status}` : ""} ${detail}`;
    });
}

export const check: Command = {
  name: "check",
  options: { provider: { value: "ID", meaning: "this one alone" } },
  summary: "Asks each provider that is on once, cheaply, and says whether it answers",
  async run(typed, place) {
    const asked = await askedOr(
      () => byGateway(place.admin),
      () => fromHere(place),
    );
    const checker = asked.answer;
    const only = typed.text("provider");
    const ids = only === undefined ? checker.ids : [only];
    const checks: ProviderCheck[] = [];
    try {
      await Promise.all(
        ids.map(async (id) => {
          const found = await checker.check(id);
          checks.push(...found);
          for (const one of found) place.progress(`${one.provider}: ${one.verdict}`);
        }),
      );
    } finally {
      await checker.close();
    }
    checks.sort((a, b) => (a.provider < b.provider ? -1 : 1));
    const good = checks.length > 0 && checks.every(({ answered, verdict }) => answered || verdict === "not asked");
    const rows = table(["PROVIDER", "STATE", "MS", "ASKED"], checks.map(rowOf), place.columns);
    const details = [...proxiesOf(checks), ...detailsOf(checks)];
    const text =
      checks.length === 0 ? "No provider is on." : [rows, ...(details.length > 0 ? ["", ...details] : [])].join("\n");
    return { json: { ok: good, from: asked.from, checks }, text: asked.told(text), good };
  },
};

const ROUTE_HEADS = ["PROVIDER", "MODEL OR ACTION", "STATE", "TIMES", "LAST", "REASON", "IN ITS WORDS"];

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
      routes.length === 0
        ? "No route rests, and none has failed."
        : table(ROUTE_HEADS, routes.flatMap(linesOf), columns);
    return { json: { routes }, text };
  },
};
