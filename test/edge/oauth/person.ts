// A user with a browser, reduced to the protocol: cookies, forms, redirects; and a client that requests a grant.
import { createHash, randomBytes } from "node:crypto";

export const REDIRECT = "http://127.0.0.1:53682/callback";

let addresses = 0;
/** A new address each time, because requests per address are limited. The gateway needs TRUST_PROXY. */
function nextAddress(): string {
  addresses += 1;
  return `198.18.${addresses >> 8}.${addresses & 255}`;
}

/** A browser without a screen: it stores cookies and follows no redirects by itself. */
export class Person {
  readonly #reached: string;
  readonly #base: string;
  readonly #address = nextAddress();
  readonly #cookies = new Map<string, { readonly value: string; readonly path: string }>();

  /** `base` is the gateway's public address, where it differs from the address that reaches it. */
  constructor(reached: string, base = reached) {
    this.#reached = reached;
    this.#base = base;
  }

  cookie(name: string): string | undefined {
    return this.#cookies.get(name)?.value;
  }

  setCookie(name: string, value: string): void {
    this.#cookies.set(name, { value, path: "/" });
  }

  async open(path: string, init: RequestInit = {}): Promise<Response> {
    const url = new URL(path.replace(this.#base, ""), this.#reached);
    const cookies = [...this.#cookies].filter(([, one]) => url.pathname.startsWith(one.path));
    const headers = new Headers(init.headers);
    headers.set("x-forwarded-for", this.#address);
    if (cookies.length > 0) headers.set("cookie", cookies.map(([name, { value }]) => `${name}=${value}`).join("; "));
    const response = await fetch(url, { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [pair = "", ...rest] = line.split(";").map((one) => one.trim());
      const [name = "", value = ""] = pair.split("=");
      const cookiePath = rest.find((one) => one.toLowerCase().startsWith("path="))?.slice(5) ?? "/";
      if (value === "" || /max-age=0/i.test(line)) this.#cookies.delete(name);
      else this.#cookies.set(name, { value, path: cookiePath });
    }
    return response;
  }

  submit(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Response> {
    return this.open(path, {
      method: "POST",
      headers: { origin: this.#base, "content-type": "application/x-www-form-urlencoded", ...headers },
      body: new URLSearchParams(fields).toString(),
    });
  }

  signIn(key: string, next = "/sign-in"): Promise<Response> {
    return this.submit("/sign-in", { key, next });
  }

  /** The hidden field that proves that the page at a path was ours. */
  async csrf(path = "/sign-in"): Promise<string> {
    const page = await (await this.open(path)).text();
    return /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? "";
  }
}

/** A PKCE pair (RFC 7636). */
export function pkce() {
  const verifier = randomBytes(32).toString("base64url");
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") };
}

export interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly expires_in: number;
  readonly scope: string;
}

export const GRANT = { dollars: "5", period: "day", what: "all", days: "90", label: "test client", decision: "allow" };

/** A program that requests a grant. */
export class Client {
  readonly base: string;
  readonly #reached: string;
  readonly address = nextAddress();
  clientId = "";

  constructor(reached: string, base = reached) {
    this.#reached = reached;
    this.base = base;
  }

  async register(metadata: Record<string, unknown> = {}): Promise<Response> {
    const response = await fetch(`${this.#reached}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-forwarded-for": this.address },
      body: JSON.stringify({
        client_name: "Test client",
        redirect_uris: [REDIRECT],
        token_endpoint_auth_method: "none",
        ...metadata,
      }),
    });
    const made = (await response.clone().json()) as { client_id?: string };
    this.clientId = made.client_id ?? this.clientId;
    return response;
  }

  authorizePath(challenge: string, more: Record<string, string> = {}): string {
    const query = new URLSearchParams({
      client_id: this.clientId,
      response_type: "code",
      redirect_uri: REDIRECT,
      code_challenge: challenge,
      code_challenge_method: "S256",
      scope: "svc:pay",
      state: "abc",
      resource: `${this.base}/mcp`,
      ...more,
    });
    return `/oauth/authorize?${query}`;
  }

  /** Posts a form to an endpoint of the protocol. */
  post(path: string, fields: Record<string, string> = {}): Promise<Response> {
    return fetch(`${this.#reached}${path}`, {
      method: "POST",
      headers: { "x-forwarded-for": this.address },
      body: new URLSearchParams({ client_id: this.clientId, ...fields }),
    });
  }

  token(fields: Record<string, string>): Promise<Response> {
    return this.post("/oauth/token", fields);
  }

  exchange(code: string, verifier: string): Promise<Response> {
    return this.token({ grant_type: "authorization_code", code, redirect_uri: REDIRECT, code_verifier: verifier });
  }

  refresh(refreshToken: string): Promise<Response> {
    return this.token({ grant_type: "refresh_token", refresh_token: refreshToken });
  }

  /** Asks a signed-in user, who consents; returns the address of the redirect. */
  async ask(
    person: Person,
    challenge: string,
    granted: Record<string, string> = {},
    more: Record<string, string> = {},
  ) {
    const begun = await person.open(this.authorizePath(challenge, more));
    const consent = begun.headers.get("location") ?? "";
    const csrf = await person.csrf(consent);
    const decided = await person.submit(consent, { ...GRANT, csrf, ...granted });
    const resumed = await person.open(decided.headers.get("location") ?? "");
    return new URL(resumed.headers.get("location") ?? "about:blank");
  }

  /** The whole flow: the tokens of a grant that the user has consented to. */
  async tokens(
    person: Person,
    granted: Record<string, string> = {},
    more: Record<string, string> = {},
  ): Promise<Tokens> {
    const { verifier, challenge } = pkce();
    const back = await this.ask(person, challenge, granted, more);
    const response = await this.exchange(back.searchParams.get("code") ?? "", verifier);
    if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`);
    return (await response.json()) as Tokens;
  }
}
