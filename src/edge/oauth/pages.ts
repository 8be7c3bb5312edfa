// What the pages for people must be able to say; how they look is handed in, so that nothing here knows HTML.
import type { KeyLimits } from "../../core/account-rows.ts";
import type { Linked } from "./identities.ts";

/** One answer to the question of what a client may call, as a person reads it: "models and search". */
export interface Choice extends Pick<KeyLimits, "services" | "models"> {
  readonly id: string;
  readonly words: string;
}

/** Who asks for a grant. */
export interface AskingClient {
  readonly name: string;
  /** Where its answer goes, or its own page; what a person can judge it by. */
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
  /** Where the form goes. */
  readonly action: string;
  /** The code that a device shows, to compare; null: it is no device that asks. */
  readonly userCode: string | null;
  /** Where the browser is led after it, which the page's policy must allow; null: nowhere. */
  readonly leadsTo: string | null;
  readonly problem: string | null;
}

/** The operator's OpenID provider, where there is one. */
export interface ProviderShown {
  readonly host: string;
}

export interface Pages {
  signIn(page: {
    readonly next: string;
    readonly problem: string | null;
    readonly provider: ProviderShown | null;
  }): Page;
  consent(page: ConsentPage): Page;
  userCode(page: { readonly problem: string | null }): Page;
  message(page: { readonly title: string; readonly words: string }): Page;
  /** `linked`: who of the provider signs in to the account; null: there is no provider. */
  signedIn(page: {
    readonly csrf: string;
    readonly accountId: string;
    readonly provider: (ProviderShown & { readonly linked: readonly Linked[] }) | null;
  }): Page;
  goOn(page: { readonly to: string; readonly host: string }): Page;
}
