// The OAuth server is loaded for the first request; a failure of that load does not outlive it.
import { expect, it } from "vitest";
import { type OAuthParts, oauthEndpoints } from "../../../src/edge/people/oauth.ts";

it("is loaded again for the next request if the first load fails", async () => {
  let loads = 0;
  const parts = {
    openId: null,
    keys: () => ({ month: "2026-11", public: [] }),
    // Read while the server loads.
    base: () => {
      throw new Error(`load ${++loads} failed`);
    },
  };
  const jwks = oauthEndpoints(parts as unknown as OAuthParts).find(({ path }) => path === "/oauth/jwks");
  if (jwks === undefined || !("answer" in jwks)) throw new Error("no endpoint");
  const ask = async () => jwks.answer({ request: { path: "/oauth/jwks" } } as never);
  await expect(ask()).rejects.toThrow("load 1 failed");
  await expect(ask()).rejects.toThrow("load 2 failed");
});
