// Commands on the request log: switch it on for an account, list what is kept, read one call.
import type { callRow, nameRow } from "../gateway/open-request-log.ts";
import { accountPath } from "./account-commands.ts";
import { type Command, UsageError } from "./command.ts";
import { pairs, table } from "./text.ts";

type Kept = ReturnType<typeof nameRow>;

type Call = ReturnType<typeof callRow>;

const set: Command = {
  name: "log set",
  takes: ["ACCOUNT", "ON_OR_OFF"],
  options: {},
  summary: "Has bodies and answers of an account's calls kept, or no longer",
  async run(typed, { admin }) {
    const word = typed.word("ON_OR_OFF");
    if (word !== "on" && word !== "off") throw new UsageError("ON_OR_OFF must be on or off");
    const path = `${accountPath(typed.word("ACCOUNT"))}/request-log`;
    const json = await admin.call<{ account_id: string; enabled: boolean }>("PUT", path, { enabled: word === "on" });
    return { json, text: `Calls of ${json.account_id} are ${json.enabled ? "kept" : "no longer kept"}.` };
  },
};

const list: Command = {
  name: "log list",
  takes: [],
  options: {
    account: { value: "ID", meaning: "of this account alone" },
    limit: { value: "COUNT", meaning: "how many, newest first; 50 by itself" },
  },
  summary: "Lists the calls that are kept, by their transactions",
  async run(typed, { admin, columns }) {
    const [account, limit] = [typed.text("account"), typed.number("limit")];
    const query = new URLSearchParams();
    if (account !== undefined) query.set("account", account);
    if (limit !== undefined) query.set("limit", String(limit));
    const json = await admin.call<{ calls: readonly Kept[] }>("GET", `/admin/v1/request-log?${query}`);
    const rows = json.calls.map(({ at, transaction_id, account_id }) => [at, transaction_id, account_id]);
    return { json, text: rows.length === 0 ? "Nothing." : table(["WHEN", "TRANSACTION", "ACCOUNT"], rows, columns) };
  },
};

const show: Command = {
  name: "log show",
  takes: ["TRANSACTION"],
  options: {},
  summary: "Shows what was asked and answered, of a call that is kept",
  async run(typed, { admin }) {
    const id = encodeURIComponent(typed.word("TRANSACTION"));
    const json = await admin.call<Call>("GET", `/admin/v1/request-log/${id}`);
    const text = pairs([
      ["when", json.at],
      ["transaction", json.transaction_id],
      ["account", json.account_id],
      ["key", json.key_id],
      ["path", json.path],
      ["asked", json.asked ?? "-"],
      ["status", `${json.status}${json.code === null ? "" : ` ${json.code}`}`],
    ]);
    return { json, text: `${text}\n\n${json.body ?? "(no body)"}\n\n${json.answer ?? "(no answer)"}` };
  },
};

export const LOG_COMMANDS: readonly Command[] = [set, list, show];
