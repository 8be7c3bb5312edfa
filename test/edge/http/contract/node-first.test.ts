// The first half of the contract of the HTTP engines, on the node engine.
import { runOnNode } from "./on-node.ts";

runOnNode(0);
