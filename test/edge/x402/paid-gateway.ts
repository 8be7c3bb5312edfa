// A gateway that takes payments on a test's chain, for a whole file.
import { type AcmeGateway, startAcmeGateway } from "../../actions/run/acme-gateway.ts";
import { forFile } from "../../support/for-file.ts";
import { PAY_TO, TestChain } from "./chain.ts";

interface PaidGateway {
  readonly chain: TestChain;
  readonly gateway: AcmeGateway;
}

export async function startPaidGateway(settings: Readonly<Record<string, string>> = {}): Promise<PaidGateway> {
  const chain = forFile(new TestChain());
  await chain.listen();
  const gateway = await startAcmeGateway({
    X402_PAY_TO: PAY_TO,
    X402_FACILITATOR_URL: chain.url,
    X402_RPC_URL: `${chain.url}/rpc`,
    ADDRESS_REQUESTS_PER_MINUTE: "100000",
    ...settings,
  });
  return { chain, gateway: forFile(gateway) };
}
