// The content of the pages for people. Their rendering is passed in, so nothing here depends on HTML.

import type { KeyLimits } from "../../core/account-rows.ts";
import type { Linked } from "./identities.ts";
import type { OpenIdProvider } from "./openid-provider.ts";

/** One option for what a client may call, as a person reads it: "models and search". */
export interface Choice extends Pick<KeyLimits, "services" | "models"> {
  readonly id: string;
  readonly words: string;
}

export interface AskingClient {
  readonly name: string;
  /** Where the client's answer goes, or its own page; by this the person can judge it. */
  readonly place: string;
}

export interface Page {
  readonly text: string;
  readonly contentSecurityPolicy: string;
}

export interface ConsentPage {
  readonly client: AskingClient;
  readonly choices: readonly Choice[];
  readonly csrf: string;
  readonly action: string;
  /** The code that a device shows, to compare; null: the client is not a device. */
  readonly userCode: string | null;
  /** Where the browser is redirected afterwards, which the page's policy must allow; null: nowhere. */
  readonly leadsTo: string | null;
  readonly problem: string | null;
}

/** The operator's OpenID provider, where there is one. */
type ProviderShown = Pick<OpenIdProvider, "host">;

export interface Pages {
  signIn(page: {
    readonly next: string;
    readonly problem: string | null;
    readonly provider: ProviderShown | null;
  }): Page;
  consent(page: ConsentPage): Page;
  userCode(page: { readonly problem: string | null }): Page;
  message(page: { readonly title: string; readonly words: string }): Page;
  /** `linked`: the provider's people who can sign in to the account; null: there is no provider. */
  signedIn(page: {
    readonly csrf: string;
    readonly accountId: string;
    readonly provider: (ProviderShown & { readonly linked: readonly Linked[] }) | null;
  }): Page;
  goOn(page: { readonly to: string; readonly host: string }): Page;
}
