// What we serve besides actions, in the form of actions (own-endpoints.json). core/discover searches it and /llms.txt lists it.
import { readFileSync } from "node:fs";
import type { Kind } from "../../catalog/slug.ts";
import type { UnitKind } from "../../catalog/unit-price.ts";

export interface OwnEndpoint {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** `llm`: models; `account`: free data about the account. */
  readonly service: "llm" | "account";
  /** Takes the place of an action's name. */
  readonly action: string;
  readonly description: string;
  readonly keywords: string;
  /** How people who do not know the endpoints would ask for it: phrases, separated by semicolons. */
  readonly asked: string;
  readonly required: readonly string[];
  /** The models that it takes; null: none. */
  readonly models: Kind | UnitKind | null;
}

type Said = Pick<OwnEndpoint, "description" | "keywords" | "asked" | "models" | "required">;

const LISTED: {
  /** By the path below the models' API. */
  readonly llm: Readonly<Record<string, Said>>;
  readonly account: Readonly<Record<string, Omit<Said, "models" | "required"> & { readonly path: string }>>;
} = JSON.parse(readFileSync(new URL("own-endpoints.json", import.meta.url), "utf8"));

export const OWN_ENDPOINTS: readonly OwnEndpoint[] = [
  ...Object.entries(LISTED.llm).map(([action, said]) => {
    return { method: "POST", path: `/api/llm/v1/${action}`, service: "llm", action, ...said } as const;
  }),
  ...Object.entries(LISTED.account).map(([action, said]) => {
    return { method: "GET", service: "account", action, models: null, required: [], ...said } as const;
  }),
];
