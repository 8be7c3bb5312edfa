// A coin with EIP-3009, the part of USDC that payments need, compiled when a test begins. Name and version are those of USDC on Base.
import { createRequire } from "node:module";
import type { Abi } from "viem";

const SOURCE = `
// SPDX-License-Identifier: UNLICENSED
pragma solidity ^0.8.20;

contract Coin {
  mapping(address => uint256) public balanceOf;
  mapping(address => mapping(bytes32 => bool)) private used;
  event Transfer(address indexed from, address indexed to, uint256 value);
  event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

  string public constant name = "USD Coin";
  string public constant version = "2";
  bytes32 private constant TRANSFER = keccak256("TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)");
  bytes32 private constant DOMAIN = keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");

  function mint(address to, uint256 value) external { balanceOf[to] += value; }
  function authorizationState(address from, bytes32 nonce) external view returns (bool) { return used[from][nonce]; }

  function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
    require(block.timestamp > validAfter && block.timestamp < validBefore, "not valid now");
    require(!used[from][nonce], "used");
    bytes32 domain = keccak256(abi.encode(DOMAIN, keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this)));
    bytes32 said = keccak256(abi.encode(TRANSFER, from, to, value, validAfter, validBefore, nonce));
    address signer = ecrecover(keccak256(abi.encodePacked(hex"1901", domain, said)), v, r, s);
    require(signer == from && signer != address(0), "bad signature");
    used[from][nonce] = true;
    emit AuthorizationUsed(from, nonce);
    balanceOf[from] -= value;
    balanceOf[to] += value;
    emit Transfer(from, to, value);
  }
}`;

interface Compiled {
  readonly contracts: Record<string, Record<string, { abi: Abi; evm: { deployedBytecode: { object: string } } }>>;
}

/** The coin's interface, and its deployed bytecode. */
export function compileCoin(): { readonly abi: Abi; readonly code: `0x${string}` } {
  const solc = createRequire(import.meta.url)("solc") as { compile(input: string): string };
  const input = {
    language: "Solidity",
    sources: { "coin.sol": { content: SOURCE } },
    settings: { viaIR: true, outputSelection: { "*": { "*": ["abi", "evm.deployedBytecode.object"] } } },
  };
  const { contracts } = JSON.parse(solc.compile(JSON.stringify(input))) as Compiled;
  const coin = contracts["coin.sol"]?.Coin;
  if (coin === undefined) throw new Error("the coin does not compile");
  return { abi: coin.abi, code: `0x${coin.evm.deployedBytecode.object}` };
}
