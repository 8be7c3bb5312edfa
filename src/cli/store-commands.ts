// Commands for the whole ledger. They call the running gateway, or open the store themselves where none runs.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { KeptPrice } from "../gateway/price-versions.ts";
import type { Refusal } from "../money/accounts/admin-endpoints.ts";
import type { DoctorReport, Ledger } from "../money/ledger/model/ledger.ts";
import type { Config } from "../platform/config.ts";
import { askedOr, providersOn } from "./admin-client.ts";
import { type Command, CommandError, type Result, type Workplace } from "./command.ts";
import { migrate } from "./migrate-command.ts";
import { dumpBooks, restore, withStores } from "./restore-command.ts";
import { table } from "./text.ts";

/** Runs `work` on the ledger, which no gateway of this machine has open. */
async function withLedger<T>(config: Config, work: (ledger: Ledger) => Promise<T>): Promise<T> {
  if (config.redisUrl !== null) return withRedisLedger(config, work);
  const { storeFile } = await import("../gateway/file-stores.ts");
  if (existsSync(storeFile(config))) return withStores(config, ({ ledger }) => work(ledger));
  throw new CommandError(`No gateway answers and there is no ledger at ${storeFile(config)}; set DATA_DIR.`);
}

/** Runs `work` on the ledger in Redis, beside running gateways. */
async function withRedisLedger<T>(config: Config, work: (ledger: Ledger) => Promise<T>): Promise<T> {
  const { withBooks } = await import("./redis-books.ts");
  const { redisLedger } = await import("../money/ledger/redis/ledger.ts");
  return withBooks({ config, use: "shared" }, (books) => work(redisLedger(books)));
}

/** Calls the gateway, or works without one where none runs. */
async function either<T>(ask: () => Promise<T>, withoutGateway: () => Promise<T>): Promise<T> {
  return (await askedOr(ask, withoutGateway)).answer;
}

/** The unconfirmed statements about the enabled vendors, by the running gateway or else by this shell's settings; one per line. */
async function beliefLines({ admin, config }: Workplace): Promise<readonly string[]> {
  const { catalogOf } = await import("./local-commands.ts");
  const adapters = [...(await catalogOf(config)).adapters({ sandbox: false }).values()];
  const on = await either(
    () => providersOn(admin),
    async () => adapters.flatMap(({ id, configured }) => (configured ? [id] : [])),
  );
  return adapters
    .filter(({ id }) => on.includes(id))
    .flatMap(({ id, spec }) => Object.entries(spec.beliefs ?? {}).map(([name, why]) => beliefLine(id, name, why)));
}

function beliefLine(id: string, name: string, why: string): string {
  return `Not confirmed yet of ${name === "*" ? id : `${id}/${name}`}: ${why}. \`tollgate certify ${id}\` asks.`;
}

async function oldPrice(version: string, { admin, config, columns }: Workplace): Promise<Result> {
  const price = await either(
    () => admin.call<KeptPrice>("GET", `/admin/v1/price?version=${encodeURIComponent(version)}`),
    async () => {
      const { keptPrice } = await import("../gateway/price-versions.ts");
      const kept = await withStores(config, ({ records }) => keptPrice(records, version));
      if (kept === null) throw new CommandError("No price of that version was ever sold here.", "not_found");
      return kept;
    },
  );
  const rows = [price.usd, ...price.steps, ...price.hours].flatMap((texts) => Object.entries(texts));
  return { json: price, text: `First sold ${price.first_sold}, in USD\n\n${table(["OF", "PRICE"], rows, columns)}` };
}

/** What a running gateway knows besides its books: the comparison of payments with chains, and vendors' refusals. */
interface Proven {
  readonly refusals?: readonly Refusal[];
  readonly payments?: readonly { readonly of: string; readonly proved: number; readonly unknown: number }[];
}

function proofLines({ payments = [] }: Proven): readonly string[] {
  return payments.map(({ of, proved, unknown }) => {
    const unsure = unknown === 0 ? "" : `; of ${unknown} the chain could not be asked`;
    return `Of ${of}, ${proved} are on chain as the books have them${unsure}.`;
  });
}

const doctor: Command = {
  name: "doctor",
  options: {
    price: {
      value: "VERSION",
      meaning: "instead: what the price was that a posting names, such as openai/gpt-5.4@2026-08-21",
    },
  },
  summary: "Verifies every invariant of the ledger; exit code 1 where one is broken",
  async run(typed, place) {
    const version = typed.text("price");
    if (version !== undefined) return oldPrice(version, place);
    const json = await either(
      () => place.admin.call<DoctorReport & Proven>("GET", "/admin/v1/doctor"),
      (): Promise<DoctorReport & Proven> => withLedger(place.config, (ledger) => ledger.doctor({ file: true })),
    );
    const seen = `${json.accounts} accounts, ${json.holds} open holds, ${json.postings} postings`;
    const refused = (json.refusals ?? []).map(({ message }) => `${message}.`);
    const unsure = [...proofLines(json), ...(await beliefLines(place))];
    if (json.findings.length === 0) return { json, text: [...refused, `${seen}: all in order.`, ...unsure].join("\n") };
    const rows = json.findings.map(({ invariant, accountId, detail }) => [invariant, accountId ?? "", detail]);
    const text = `${seen}: ${rows.length} findings.\n\n${table(["INVARIANT", "ACCOUNT", "FINDING"], rows, place.columns)}`;
    return { json, text: [...refused, text, ...unsure].join("\n"), good: false };
  },
};

const backup: Command = {
  name: "backup",
  takes: ["PATH"],
  summary: "Writes a consistent copy of all that is kept to PATH; with Redis while no gateway runs, else at any time",
  async run(typed, place) {
    const path = resolve(typed.word("PATH"));
    await either<unknown>(
      () => place.admin.call("POST", "/admin/v1/backup", { path }),
      () =>
        place.config.redisUrl === null
          ? withLedger(place.config, (ledger) => ledger.backup(path))
          : dumpBooks(place.config, path),
    );
    return { json: { path }, text: `Written to ${path}.` };
  },
};

export const STORE_COMMANDS: readonly Command[] = [doctor, backup, restore, migrate];
