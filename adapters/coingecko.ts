// CoinGecko: prices and markets of crypto coins through a table of endpoints. Works without a key; a demo key raises the limits.
// From memory and not checked against the live service: most rows of the table with their params, the error body, and the rate limit
// without a key. A cost of zero applies to its free plan.
import { action, defineAdapter, endpointParams, keyHeader } from "#adapter";

export default defineAdapter({
  name: "CoinGecko",
  docs: "https://docs.coingecko.com",
  beliefs: { "*": "most rows of the table with their params, the body of an error, and the limit without a key" },
  origin: "https://api.coingecko.com/api/v3",
  auth: keyHeader("x-cg-demo-api-key"),
  keyOptional: true,
  contact: "polite",
  // Without a key, the limit is per IP address, about thirty a minute.
  rate: { requests: 30, perMs: 60_000 },
  rules: [
    { at: "/status/error_code", is: 429, means: "provider_rate_limited" },
    { at: "/status/error_code", empty: false, means: "provider_server_error" },
  ],
  actions: {
    fetch: action({
      asked:
        "price of bitcoin; crypto market; what is a coin worth; biggest gainers and losers; market cap; top cryptocurrencies; ethereum, dogecoin, solana price; exchange rates of coins; nft floor price; how did btc do last year; altcoins; trading volume",
      description:
        "Reads crypto markets: prices of coins and tokens, market capitalization, history, exchanges, derivatives, NFTs, pools on chain.",
      category: "market",
      keywords: "bitcoin price; ethereum; crypto price; coin; token price; market cap; exchange; trending coins",
      effect: "read",
      params: endpointParams("Name of the endpoint, such as simple/price"),
      price: { mode: "fixed", cents: 1 },
      upstreamCents: 0,
      table: { param: "endpoint", method: "GET" },
      request: { method: "GET", path: "" },
      example: {
        params: { endpoint: "simple/price", ids: "bitcoin", vs_currencies: "usd" },
        answer: { bitcoin: { usd: 67_187.34 } },
      },
    }),
  },
});
