// Nansen: who holds and trades what on chain, through a table of endpoints. Each is sold at the vendor's own price. All rows share one list
// of params, from memory: the vendor rejects those that an endpoint does not support. Also from memory: the key's header, the answer's
// shape, and that access by key has the public pay-per-call prices.
import { action, defineAdapter, endpointParams, keyHeader } from "#adapter";

export default defineAdapter({
  name: "Nansen",
  docs: "https://docs.nansen.ai",
  beliefs: {
    "*": "which params an endpoint takes, the header of the key, the shape of an answer, and that a key pays the public prices",
  },
  origin: "https://api.nansen.ai",
  auth: keyHeader("apikey"),
  actions: {
    fetch: action({
      asked:
        "smart money; whales; what do big crypto traders buy; profitable wallets; who holds a token; top holders; flows of tokens; on-chain analysis; prediction markets; perpetuals; insiders; copy trade; biggest holders of a coin",
      description:
        "Reads on-chain analytics: smart money, wallets and their profit, holders, flows and trades of tokens, perpetuals, prediction markets.",
      category: "market",
      keywords: "smart money; wallet labels; token holders; whales; pnl of a wallet; dex trades; netflow",
      effect: "read",
      params: endpointParams("Path of the endpoint, such as smart-money/netflow"),
      price: { mode: "ranged", cents: 5, minCents: 1 },
      upstreamCents: 1,
      table: { param: "endpoint" },
      request: { method: "POST", path: "" },
      example: {
        params: {
          endpoint: "/api/v1/smart-money/netflow",
          chains: ["ethereum"],
          pagination: { page: 1, per_page: 10 },
        },
        answer: {
          data: [{ token_symbol: "PEPE", chain: "ethereum", net_flow_24h_usd: 182_340.2, trader_count: 12 }],
          pagination: { page: 1, per_page: 10, is_last_page: true },
        },
      },
    }),
  },
});
