// Commands for the request log: enable it for an account, list its calls, read one call; as the operator or as the account's owner.
import type { callRow, nameRow } from "../gateway/request-log.ts";
import { accountPath } from "./account-commands.ts";
import { type Command, UsageError } from "./command.ts";
import { pairs, table } from "./text.ts";

type Kept = ReturnType<typeof nameRow>;

type Call = ReturnType<typeof callRow>;

const OWN_PATH = "/api/v1/request-log";
const own = { value: null, meaning: "of your own account, by its primary key in TOLLGATE_API_KEY" } as const;

const set: Command = {
  name: "log set",
  takes: ["ACCOUNT", "ON_OR_OFF"],
  summary: "Has bodies and answers of an account's calls kept, or no longer; ACCOUNT own is that of TOLLGATE_API_KEY",
  async run(typed, place) {
    const word = typed.word("ON_OR_OFF");
    if (word !== "on" && word !== "off") throw new UsageError("ON_OR_OFF must be on or off");
    const account = typed.word("ACCOUNT");
    const [client, path] =
      account === "own" ? [place.own, OWN_PATH] : [place.admin, `${accountPath(account)}/request-log`];
    const json = await client.call<{ account_id: string; enabled: boolean }>("PUT", path, { enabled: word === "on" });
    return { json, text: `Calls of ${json.account_id} are ${json.enabled ? "kept" : "no longer kept"}.` };
  },
};

const list: Command = {
  name: "log list",
  options: {
    account: { value: "ID", meaning: "of this account alone" },
    own,
    limit: { value: "COUNT", meaning: "how many, newest first; 50 by itself" },
  },
  summary: "Lists the calls that are kept, by their transactions",
  async run(typed, place) {
    const [account, limit] = [typed.text("account"), typed.number("limit")];
    if (account !== undefined && typed.flag("own")) throw new UsageError("--account and --own exclude each other");
    const query = new URLSearchParams();
    if (account !== undefined) query.set("account", account);
    if (limit !== undefined) query.set("limit", String(limit));
    const [client, path] = typed.flag("own") ? [place.own, OWN_PATH] : [place.admin, "/admin/v1/request-log"];
    const json = await client.call<{ calls: readonly Kept[] }>("GET", `${path}?${query}`);
    const rows = json.calls.map(({ at, transaction_id, account_id }) => [at, transaction_id, account_id]);
    return {
      json,
      text: rows.length === 0 ? "Nothing." : table(["WHEN", "TRANSACTION", "ACCOUNT"], rows, place.columns),
    };
  },
};

const show: Command = {
  name: "log show",
  takes: ["TRANSACTION"],
  options: { own },
  summary: "Shows what was asked and answered, of a call that is kept",
  async run(typed, place) {
    const id = encodeURIComponent(typed.word("TRANSACTION"));
    const [client, path] = typed.flag("own") ? [place.own, OWN_PATH] : [place.admin, "/admin/v1/request-log"];
    const json = await client.call<Call>("GET", `${path}/${id}`);
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
