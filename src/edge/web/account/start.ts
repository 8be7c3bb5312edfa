// A first call for each client, to copy: the same as in docs/guides/clients.md, with this gateway's address.
import { readFileSync } from "node:fs";
import { type Html, html } from "../html.ts";
import type { Section } from "../kit/sections.ts";
import { callBox, card } from "../kit/shown.ts";

const KEY = "export TOLLGATE_API_KEY=tg_sk_...";

/** By client, with `{url}` in place of our address. */
const CALLS: readonly [client: string, text: string][] = Object.entries(
  JSON.parse(readFileSync(new URL("first-calls.json", import.meta.url), "utf8")),
);

/** The clients of the calls that a new key is shown with. */
const SHORT = ["curl", "OpenAI's SDK for Python", "OpenAI's SDK for TypeScript", "Claude Code"];

/** A first call for a new key, for a few clients; each reads the key from the shell. */
export function callsOfKey(url: string, secret: string): Html {
  const calls = CALLS.filter(([client]) => SHORT.includes(client)).map(
    ([client, text]) => html`<details><summary>${client}</summary>${callBox(text.replaceAll("{url}", url))}</details>`,
  );
  return html`<h3>A first call</h3>${callBox(KEY.replace("tg_sk_...", secret))}${calls}`;
}

export function startSection(url: () => string): Section {
  return {
    path: "/account/start",
    async show() {
      const calls = CALLS.map(([client, text]) => card(client, callBox(text.replaceAll("{url}", url()))));
      return {
        title: "First calls",
        body: html`<p class="lead">Every call needs a key. Create one with a ceiling under <a href="/account/keys">Keys</a>, and put it where your client reads it.</p>${card("The key", callBox(KEY))}<div class="grid">${calls}</div>`,
      };
    },
  };
}
