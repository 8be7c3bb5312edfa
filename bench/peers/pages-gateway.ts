// Run as a process of its own: the gateway with every name of the internet on loopback, where the bench's upstream has its pages.
import { prepareEnvironment, readConfig } from "../../src/config.ts";
import { startGateway } from "../../src/gateway.ts";

const [dataDir = "", upstreamPort = ""] = process.argv.slice(2);

prepareEnvironment();
const gateway = await startGateway({
  config: readConfig({
    DATA_DIR: dataDir,
    PORT: "0",
    ADMIN_PORT: "0",
    LOG_LEVEL: "error",
    ADDRESS_REQUESTS_PER_MINUTE: "10000000",
  }),
  internet: { allowForTests: [`127.0.0.1:${upstreamPort}`], resolve: async () => ["127.0.0.1"] },
  onFatal(error) {
    throw error;
  },
});
process.on("disconnect", () => process.exit(0));
process.on("SIGTERM", () => void gateway.drain().then(() => process.exit(0)));
process.send?.({ port: Number(new URL(gateway.url).port), adminPort: Number(new URL(gateway.adminUrl).port) });
