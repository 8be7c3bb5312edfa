// Runs in its own process: the gateway with every internet name resolved to loopback, where the bench's upstream serves pages and models.

import { startGateway } from "../../src/gateway/gateway.ts";
import { prepareEnvironment, readConfig } from "../../src/platform/config.ts";

const [dataDir = "", upstreamPort = ""] = process.argv.slice(2);

prepareEnvironment();
const gateway = await startGateway({
  config: readConfig({
    DATA_DIR: dataDir,
    PORT: "0",
    ADMIN_PORT: "0",
    LOG_LEVEL: "error",
    OPENAI_API_KEY: "sk-bench",
    OPENAI_BASE_URL: `http://127.0.0.1:${upstreamPort}/v1`,
    ADDRESS_REQUESTS_PER_MINUTE: "10000000",
    WEBHOOKS_PRIVATE: "1",
  }),
  internet: { allowForTests: [`127.0.0.1:${upstreamPort}`], resolve: async () => ["127.0.0.1"] },
  onFatal(error) {
    throw error;
  },
});
process.on("disconnect", () => process.exit(0));
process.on("SIGHUP", () => void gateway.reload());
process.on("SIGTERM", () => void gateway.drain().then(() => process.exit(0)));
process.send?.({ port: Number(new URL(gateway.url).port), adminPort: Number(new URL(gateway.adminUrl).port) });
