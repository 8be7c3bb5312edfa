// The fault tests run this as a separate process: a gateway with a composite action that calls a vendor's action and waits for the answer.
import { z } from "zod";
import { localAction } from "../../src/catalog/local-action.ts";
import { startGateway } from "../../src/gateway/gateway.ts";
import { prepareEnvironment, readConfig } from "../../src/platform/config.ts";

const composed = localAction({
  service: "core",
  action: "composed",
  description: "Asks a vendor three times at once.",
  category: "core",
  effect: "read",
  params: z.strictObject({}),
  price: { mode: "fixed", cents: 3 },
  upstreamCentsMax: () => 10,
  async run(_, { call }) {
    const search = { action: "acme/search", params: { q: "tea" } };
    const answers = await Promise.all([call(search), call(search), call(search)]);
    return answers.filter(({ ok }) => ok).length;
  },
  example: { params: {} },
});

prepareEnvironment();
const gateway = await startGateway({
  config: readConfig(),
  actions: [composed],
  onFatal(error) {
    throw error;
  },
});
process.stderr.write(`Tollgate listens on ${gateway.url}, its admin listener on ${gateway.adminUrl}.\n`);
