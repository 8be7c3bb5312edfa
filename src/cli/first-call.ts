// The first step after opening an account: a call to paste.
import type { Setup } from "../gateway/setup.ts";
import type { AdminClient } from "./admin-client.ts";
import { CommandError } from "./command.ts";

/** A model to call, and a note where it is only a placeholder; null: none is available. */
function modelOf(setup: Setup, sandbox: boolean): { readonly model: string; readonly word: string } | null {
  if (sandbox && setup.tiers[0] !== undefined) return { model: `core/${setup.tiers[0].id}`, word: "" };
  if (setup.first_model !== null) return { model: setup.first_model, word: "" };
  const any = setup.providers.find(({ on, serves_any }) => on && serves_any);
  if (any === undefined) return null;
  return { model: `${any.id}/MODEL`, word: `(MODEL: \`tollgate check --provider ${any.id}\` lists what it serves.)` };
}

/** The text below a new key; empty where the gateway does not say enough. */
export async function firstCallText(admin: AdminClient, key: string, sandbox: boolean): Promise<string> {
  const setup = await admin.call<Setup>("GET", "/admin/v1/providers").catch((error: unknown) => {
    if (error instanceof CommandError) return null;
    throw error;
  });
  if (setup === null) return "";
  const found = modelOf(setup, sandbox);
  if (found === null) return "\n\nNo provider of models is configured yet: `tollgate config` lists the variables.";
  const body = { model: found.model, messages: [{ role: "user", content: "Hello" }] };
  const lines = [
    `curl ${setup.url}/api/llm/v1/chat/completions \\`,
    `  -H 'Authorization: Bearer ${key}' \\`,
    `  -H 'Content-Type: application/json' \\`,
    `  -d '${JSON.stringify(body)}'`,
  ];
  return ["", "", "A first call:", "", ...lines, ...(found.word === "" ? [] : ["", found.word])].join("\n");
}
