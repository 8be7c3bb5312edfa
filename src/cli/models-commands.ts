// `tollgate models`: the models for sale, their providers and dates; and their update from a public list.
import type { SoldRow } from "../catalog/updates/rows.ts";
import { systemClock } from "../core/clock.ts";
import type { Config } from "../platform/config.ts";
import { askedOr } from "./admin-client.ts";
import { type Command, CommandError, type Typed } from "./command.ts";
import { catalogOf } from "./local-commands.ts";
import { table } from "./text.ts";

interface Models {
  readonly models: readonly SoldRow[];
  readonly list: { readonly taken_at: string; readonly checked_at: string; readonly source: string } | null;
}

function today(): string {
  return new Date(systemClock.epochMs()).toISOString().slice(0, 10);
}

async function soldHere(config: Config, sandbox: boolean): Promise<Models> {
  const [{ soldRows }, { readModelsFile }] = await Promise.all([
    import("../catalog/updates/rows.ts"),
    import("../catalog/updates/models-file.ts"),
  ]);
  const update = await readModelsFile(config);
  const models = soldRows(await catalogOf(config), update, { sandbox });
  const list = update && { taken_at: update.takenAt, checked_at: update.checkedAt, source: update.source };
  return { models, list };
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

/** Compares the catalog with a list, and writes the file that the next load applies. Throws CommandError where the list is implausible. */
async function updated(typed: Typed, config: Config) {
  const from = typed.text("from") ?? config.modelsSource;
  if (from === null) throw new CommandError("No source is set: name one with --from, or set MODELS_SOURCE.");
  const { readSource, sourceText } = await import("./list-source.ts");
  const { proposalOf, vendorFactsOf } = await import("../catalog/updates/proposal.ts");
  const file = await import("../catalog/updates/models-file.ts");
  const { BadList } = await import("../catalog/updates/list.ts");
  const { replaceWhole } = await import("../core/whole-file.ts");
  const path = file.modelsFile(config);
  const [catalog, before] = [await catalogOf(config), await file.readModelsFile(config)];
  const source = sourceText(from);
  try {
    const read = await readSource(from, catalog.adapters({ sandbox: false }), config.proxies);
    const proposal = proposalOf({
      bytes: read.bytes,
      source,
      vendor: read.vendor ?? typed.text("vendor") ?? null,
      vendors: vendorFactsOf(catalog),
      before,
      markupPercent: config.markupPercent,
      takenAt: `${new Date(systemClock.epochMs()).toISOString().slice(0, 19)}Z`,
      yes: typed.flag("yes"),
    });
    if (!typed.flag("dry-run")) {
      await catalogOf(config, proposal.update);
      await replaceWhole(path, file.modelsFileText(proposal.update));
    }
    return { proposal, file: path };
  } catch (error) {
    if (error instanceof BadList) throw new CommandError(`${source}: ${error.message}; nothing was changed`);
    throw error;
  }
}

const update: Command = {
  name: "models update",
  options: {
    from: {
      value: "SOURCE",
      meaning: "a file, an address, or a provider whose own list is read; without it MODELS_SOURCE",
    },
    vendor: { value: "ID", meaning: "whose list a file or an address is, where it is one provider's own" },
    "dry-run": { value: null, meaning: "show what would change, and change nothing" },
    yes: { value: null, meaning: "take also what moves a price by more than three times, or would be sold below cost" },
  },
  summary:
    "Writes models.json with prices, lengths, new models and ends from a list; exits with 1 where some wait for --yes",
  async run(typed, { config, columns }) {
    const { CHANGE_HEADING, changeCells } = await import("../catalog/updates/rows.ts");
    const { proposal, file } = await updated(typed, config);
    const { format, changes, taken, compared, unknown } = proposal;
    const [yes, dry] = [typed.flag("yes"), typed.flag("dry-run")];
    const held = changes.length - taken;
    const rows = changes.map((change) => changeCells(change, yes));
    const sum = `${format}: ${compared} models compared, ${unknown.length} not in it; ${taken} changes ${dry ? "would be taken" : "taken"}, ${held} wait for --yes.`;
    const next = dry ? "" : `\n${file} is written. Review it, then send SIGHUP to the gateways that read it.`;
    return {
      json: { dry_run: dry, format, compared, unknown, taken, held, changes, file: dry ? null : file },
      text: `${rows.length === 0 ? "" : `${table(CHANGE_HEADING, rows, columns)}\n\n`}${sum}${next}`,
      good: held === 0,
    };
  },
};

export const MODELS_COMMANDS: readonly Command[] = [models, update];
