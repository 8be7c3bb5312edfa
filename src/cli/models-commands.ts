// `tollgate models`: what is sold, by whom, since when and until when; and how the list of it is brought up to date, and back.
import { resolve } from "node:path";
import type { Proposal } from "../catalog/updates/proposal.ts";
import type { SoldRow } from "../catalog/updates/rows.ts";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { NoGateway } from "./admin-client.ts";
import { askedOr } from "./asked-or.ts";
import { type Command, CommandError, type Typed, type Workplace } from "./command.ts";
import { catalogOf } from "./local-commands.ts";
import { table } from "./text.ts";

type Told = Omit<Proposal, "update">;

interface Models {
  readonly models: readonly SoldRow[];
  readonly list: { readonly taken_at: string; readonly checked_at: string; readonly source: string } | null;
  readonly kept: readonly string[];
}

/** The day, UTC. */
function today(): string {
  return new Date(systemClock.epochMs()).toISOString().slice(0, 10);
}

async function soldHere(config: Config, sandbox: boolean): Promise<Models> {
  const [{ soldRows }, { keptStamps, keptUpdate }] = await Promise.all([
    import("../catalog/updates/rows.ts"),
    import("../catalog/updates/kept.ts"),
  ]);
  const update = await keptUpdate(config.dataDir);
  const models = soldRows(await catalogOf(config), update, { sandbox });
  const list = update && { taken_at: update.takenAt, checked_at: update.checkedAt, source: update.source };
  return { models, list, kept: await keptStamps(config.dataDir) };
}

const models: Command = {
  name: "models",
  options: { sandbox: { value: null, meaning: "as sandbox accounts see it: every provider counts as configured" } },
  summary: "Lists the models that are sold: by whom, since when, until when, and how old each fact is",
  async run(typed, { config, admin, columns }) {
    const sandbox = typed.flag("sandbox");
    const asked = await askedOr(
      () => admin.call<Models>("GET", `/admin/v1/models?sandbox=${sandbox ? 1 : 0}`),
      () => soldHere(config, sandbox),
    );
    const { SOLD_HEADING, soldCells } = await import("../catalog/updates/rows.ts");
    const { models: rows, list } = asked.answer;
    const of =
      list === null ? "No list was taken yet" : `Taken ${list.taken_at}, checked ${list.checked_at}: ${list.source}`;
    const text = table(
      SOLD_HEADING,
      rows.map((row) => soldCells(row, today())),
      columns,
    );
    return { json: { from: asked.from, ...asked.answer }, text: asked.told(`${of}\n\n${text}`) };
  },
};

/** Without a gateway: the same, and the next start finds it. */
async function updateHere(typed: Typed, config: Config): Promise<Told> {
  if (config.redisUrl !== null)
    throw new CommandError("With REDIS_URL a running gateway takes lists: start one first.");
  const from = sourceOf(typed) ?? config.modelsSource;
  if (from === null) throw new CommandError("No source is set: name one with --from, or set MODELS_SOURCE.");
  const [{ proposeUpdate }, { createUpstream }, { keepUpdate, keptUpdate }, { loadCatalog }] = await Promise.all([
    import("../gateway/propose-update.ts"),
    import("../upstream/upstream.ts"),
    import("../catalog/updates/kept.ts"),
    import("../catalog/load.ts"),
  ]);
  const upstream = createUpstream(systemClock, config);
  try {
    const [catalog, before] = [await catalogOf(config), await keptUpdate(config.dataDir)];
    const order = { from, vendor: typed.text("vendor") ?? null, yes: typed.flag("yes") };
    const { signal } = new AbortController();
    const { markupPercent } = config;
    const deps = { catalog, before, upstream, markupPercent, clock: systemClock, signal };
    const { told, update, json } = await proposeUpdate(order, deps);
    if (!typed.flag("dry-run")) {
      await loadCatalog({ ...catalogOptions(config), update });
      await keepUpdate(config.dataDir, update, json);
    }
    return JSON.parse(told) as Told;
  } finally {
    await upstream.close();
  }
}

/** What a catalog is made by, for a look whether it can be. */
function catalogOptions({ vendorEnv, contact, overlayDir, markupPercent, allowLoss }: Config) {
  const sandboxOrigin = "http://127.0.0.1:1";
  return { env: vendorEnv, clock: systemClock, sandboxOrigin, contact, overlayDir, markupPercent, allowLoss };
}

/** A file by its whole path: the gateway may run in another folder. What names no file is an address or a provider. */
function sourceOf(typed: Typed): string | undefined {
  const from = typed.text("from");
  return from === undefined || !/[./\\]/.test(from) || /^https?:/.test(from) ? from : resolve(from);
}

async function updated(typed: Typed, { admin, config }: Workplace): Promise<Told> {
  const [from, vendor] = [sourceOf(typed), typed.text("vendor")];
  const named = { ...(from === undefined ? {} : { from }), ...(vendor === undefined ? {} : { vendor }) };
  const body = { ...named, dry_run: typed.flag("dry-run"), yes: typed.flag("yes") };
  try {
    return await admin.call<Told>("POST", "/admin/v1/models/update", body);
  } catch (error) {
    if (!(error instanceof NoGateway)) throw error;
    return updateHere(typed, config);
  }
}

const update: Command = {
  name: "models update",
  options: {
    from: {
      value: "SOURCE",
      meaning: "a file, an address, or a provider whose own list is asked; without it MODELS_SOURCE",
    },
    vendor: { value: "ID", meaning: "whose list a file or an address is, where it is one provider's own" },
    "dry-run": { value: null, meaning: "show what would change, and change nothing" },
    yes: { value: null, meaning: "take also what moves a price by more than three times, or would be sold below cost" },
  },
  summary: "Takes prices, lengths, new models and ends from a list; exits with 1 where some of it waits for --yes",
  async run(typed, place) {
    const { CHANGE_HEADING, changeCells } = await import("../catalog/updates/rows.ts");
    const told = await updated(typed, place);
    const [yes, dry] = [typed.flag("yes"), typed.flag("dry-run")];
    const held = told.changes.length - told.taken;
    const rows = told.changes.map((change) => changeCells(change, yes));
    const done = dry ? "would be taken" : "taken";
    const sum = `${told.format}: ${told.compared} models compared, ${told.unknown.length} not in it; ${told.taken} changes ${done}, ${held} wait for --yes.`;
    return {
      json: {
        dry_run: dry,
        format: told.format,
        compared: told.compared,
        unknown: told.unknown,
        taken: told.taken,
        held,
        changes: told.changes,
      },
      text: rows.length === 0 ? sum : `${table(CHANGE_HEADING, rows, place.columns)}\n\n${sum}`,
      good: held === 0,
    };
  },
};

const rollback: Command = {
  name: "models rollback",
  summary: "Goes back to the list that was taken before the last one",
  async run(_typed, { admin, config }) {
    const asked = await askedOr(
      () => admin.call<{ gone: string }>("POST", "/admin/v1/models/rollback"),
      async () => {
        if (config.redisUrl !== null)
          throw new CommandError("With REDIS_URL a running gateway goes back: start one first.");
        const { withdrawUpdate } = await import("../catalog/updates/kept.ts");
        const gone = await withdrawUpdate(config.dataDir);
        if (gone === null) throw new CommandError("No list was taken that could be gone back from.");
        return { gone };
      },
    );
    const { gone } = asked.answer;
    return { json: { gone }, text: `The list of ${gone} is no longer in force; the one before it is.` };
  },
};

export const MODELS_COMMANDS: readonly Command[] = [models, update, rollback];
