// Allium: token prices and wallet holdings through a table of endpoints, one token or wallet per call. The vendor requires attribution.
// Paths and prices come from its public pay-per-call list. From memory: the rows' params and answers, the rate limit, and that access by
// key has the same prices.
import { action, defineAdapter, endpointParams, keyHeader } from "#adapter";

export default defineAdapter({
  name: "Allium",
  docs: "https://docs.allium.so",
  beliefs: {
    "*": "what its rows take and answer, how often it may be asked, and that a key pays the prices of its public list",
  },
  origin: "https://api.allium.so",
  auth: keyHeader("x-api-key"),
  rate: { requests: 1, perMs: 1_000 },
  actions: {
    fetch: action({
      asked:
        "what is in a crypto wallet; balance of an address; token price on chain; transactions of a wallet; how much did this wallet earn; ethereum, solana, base address; history of a token's price; coins held by an account; price of eth; erc20; defi",
      description:
        "Reads prices of tokens, their history and statistics, and a wallet's balances, transactions and profit, on many chains. Powered by Allium.",
      category: "market",
      keywords:
        "token price; wallet balance; wallet transactions; onchain; solana; profit and loss; ethereum; what a wallet holds; token holdings",
      effect: "read",
      params: endpointParams("Path of the endpoint, such as wallet/balances"),
      price: { mode: "ranged", cents: 3, minCents: 2 },
      // The rows state our cost.
      upstreamCents: 2,
      table: { param: "endpoint" },
      request: {
        method: "POST",
        path: "",
        // The vendor takes lists and charges per item, so each call sends one item.
        params: ({ chain, token_address, address, ...rest }) => {
          if (token_address === undefined && address === undefined) return { chain, ...rest };
          return { ...rest, addresses: [token_address === undefined ? { chain, address } : { chain, token_address }] };
        },
      },
      example: {
        params: {
          endpoint: "/api/v1/developer/prices",
          chain: "solana",
          token_address: "So11111111111111111111111111111111111111112",
        },
        answer: {
          items: [
            {
              timestamp: "2026-08-01T12:00:00Z",
              chain: "solana",
              address: "So11111111111111111111111111111111111111112",
              price: 171.42,
            },
          ],
        },
      },
    }),
  },
});
