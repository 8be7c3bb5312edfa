// The official client without a key: it registers, sends its user to consent, and calls with the resulting token.
import { Client, type OAuthClientProvider, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { GRANT, Person, REDIRECT } from "../oauth/person.ts";

const gateway = forFile(await startTestGateway({ OAUTH: "1", TRUST_PROXY: "1" }));
const account = await gateway.account({ creditCents: 1_000 });

type KeptClient = Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
type KeptTokens = Awaited<ReturnType<OAuthClientProvider["tokens"]>>;

/** A client's sign-in state, in memory, and the URL where it would have opened a browser. */
class KeptSignIn implements OAuthClientProvider {
  opened: URL | null = null;
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = {
    client_name: "An agent",
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: "none",
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
  };
  #client: KeptClient;
  #tokens: KeptTokens;
  #verifier = "";

  state = () => "some-state";
  clientInformation = () => this.#client;
  saveClientInformation = (client: KeptClient) => {
    this.#client = client;
  };
  tokens = () => this.#tokens;
  saveTokens = (tokens: KeptTokens) => {
    this.#tokens = tokens;
  };
  redirectToAuthorization = (url: URL) => {
    this.opened = url;
  };
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  codeVerifier = () => this.#verifier;
}

/** The user signs in, reads the request and consents; returns where the browser is redirected. */
async function agreed(asked: URL): Promise<URL> {
  const person = new Person(gateway.url);
  await person.signIn(account.key);
  const begun = await person.open(asked.href);
  const consent = begun.headers.get("location") ?? "";
  const csrf = await person.csrf(consent);
  const decided = await person.submit(consent, { ...GRANT, csrf, label: "an agent of mine", dollars: "2" });
  const resumed = await person.open(decided.headers.get("location") ?? "");
  return new URL(resumed.headers.get("location") ?? "about:blank");
}

it("signs in by itself, calls, and is shut out when its grant is ended", async () => {
  const signIn = new KeptSignIn();
  const transport = () => new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp`), { authProvider: signIn });
  const client = () => new Client({ name: "test", version: "1" });
  const first = transport();
  await expect(client().connect(first)).rejects.toThrow();
  expect(signIn.opened?.pathname).toBe("/oauth/authorize");
  const back = await agreed(signIn.opened ?? new URL("about:blank"));
  await first.finishAuth(back.searchParams);
  const connected = client();
  await connected.connect(transport());
  const balance = await connected.callTool({ name: "get_balance", arguments: {} });
  expect(balance.structuredContent).toMatchObject({ key: { label: "an agent of mine", ceiling_cents: 200 } });
  const headers = { authorization: `Bearer ${account.key}` };
  const { agents } = (await (await fetch(`${gateway.url}/api/v1/agents`, { headers })).json()) as {
    agents: { id: string; label: string }[];
  };
  const grant = agents.find(({ label }) => label === "an agent of mine");
  await fetch(`${gateway.url}/api/v1/agents/${grant?.id}`, { method: "DELETE", headers });
  await expect(connected.callTool({ name: "get_balance", arguments: {} })).rejects.toThrow();
  await connected.close();
});
