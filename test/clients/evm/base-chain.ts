// A local chain in place of Base, with a coin at USDC's address, and the reference x402 facilitator in front of it.
import http from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { registerExactEvmScheme } from "@x402/evm/exact/facilitator";
import { createHardhatRuntimeEnvironment } from "hardhat/hre";
import { createWalletClient, nonceManager, http as overHttp, publicActions } from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { base } from "viem/chains";
import { compileCoin } from "./coin.ts";

export const USDC = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
const NETWORK = "eip155:8453";

/** A request to the facilitator. */
interface Asked {
  readonly paymentPayload: Parameters<x402Facilitator["verify"]>[0];
  readonly paymentRequirements: Parameters<x402Facilitator["verify"]>[1];
}

export interface BaseChain {
  readonly rpcUrl: string;
  readonly facilitatorUrl: string;
  /** An account with this many millionths of a dollar. */
  payer(units: bigint): Promise<PrivateKeyAccount>;
  balance(address: string): Promise<number>;
  /** Gives an account ten thousand of the chain's native coin, for gas. */
  fund(address: string): Promise<void>;
  /** Whether transactions are mined as soon as they arrive, or not at all. */
  takesTransactions(takes: boolean): Promise<void>;
  /** The number of an account's mined transactions. */
  transactions(address: string): Promise<number>;
  advance(seconds: number): Promise<void>;
  close(): Promise<void>;
}

export async function startBaseChain(): Promise<BaseChain> {
  const { abi, code } = compileCoin();
  const local = { type: "edr-simulated", chainType: "generic", chainId: 8453, mining: { auto: true } } as const;
  const hre = await createHardhatRuntimeEnvironment({ networks: { local } });
  const node = await hre.network.createServer("local", "127.0.0.1", 0);
  const { address, port } = await node.listen();
  const rpcUrl = `http://${address}:${port}`;

  async function rpc(method: string, params: readonly unknown[]): Promise<void> {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(rpcUrl, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { error } = (await response.json()) as { error?: unknown };
    if (error !== undefined) throw new Error(JSON.stringify(error));
  }

  await rpc("hardhat_setCode", [USDC, code]);
  const house = privateKeyToAccount(generatePrivateKey(), { nonceManager });
  await rpc("hardhat_setBalance", [house.address, "0x56BC75E2D63100000"]);
  const wallet = createWalletClient({ account: house, chain: base, transport: overHttp(rpcUrl) }).extend(publicActions);
  const facilitator = new x402Facilitator();
  const signer = toFacilitatorEvmSigner({ ...wallet, address: house.address } as never);
  registerExactEvmScheme(facilitator, { signer, networks: NETWORK });
  // The chain takes one transaction at a time, and refuses one whose nonce is not the next.
  let last: Promise<unknown> = Promise.resolve();
  function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  }
  const server = http.createServer(async (request, response) => {
    const { paymentPayload: paid, paymentRequirements: asked } = (await json(request)) as Asked;
    const settle = () => inTurn(() => facilitator.settle(paid, asked));
    const answer = await (request.url === "/verify" ? facilitator.verify(paid, asked) : settle()).catch(() => null);
    response.writeHead(answer === null ? 500 : 200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    rpcUrl,
    facilitatorUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async payer(units) {
      const account = privateKeyToAccount(generatePrivateKey());
      const args = [account.address, units];
      await inTurn(() => wallet.writeContract({ address: USDC, abi, functionName: "mint", args }));
      return account;
    },
    balance: async (of) =>
      Number(await wallet.readContract({ address: USDC, abi, functionName: "balanceOf", args: [of] })),
    fund: (address) => rpc("hardhat_setBalance", [address, "0x21E19E0C9BAB2400000"]),
    async takesTransactions(takes) {
      await rpc("evm_setAutomine", [takes]);
      if (takes) await rpc("evm_mine", []);
    },
    transactions: (of) => wallet.getTransactionCount({ address: of as `0x${string}`, blockTag: "latest" }),
    async advance(seconds) {
      await rpc("evm_increaseTime", [seconds]);
      await rpc("evm_mine", []);
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await node.close();
    },
  };
}
