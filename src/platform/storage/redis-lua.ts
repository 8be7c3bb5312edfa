// Runs Lua in Redis: as a function, which survives restarts and failovers, or as a script if functions are not allowed.
import { createHash } from "node:crypto";
import type { RedisClient } from "./redis-client.ts";
import { deniesFunctions, meaningOf } from "./redis-failure.ts";
import { mastersOf } from "./redis-servers.ts";

/** Functions in a library whose name depends on their text, so that releases with different texts can use one server side by side. */
export interface RedisLibrary {
  readonly name: string;
  readonly code: string;
}

/**
 * A library of the functions `ops.<name>(keys, args)` that `source` defines. Those in `alsoWhenFull` run even if the server is out of
 * memory. The top level of the source may only define things: nothing else is available while a library loads.
 */
export function libraryOf(
  source: string,
  names: readonly string[],
  alsoWhenFull: readonly string[] = [],
): RedisLibrary {
  const hash = createHash("sha256")
    .update(JSON.stringify([source, names, alsoWhenFull]))
    .digest("hex");
  const name = `tollgate_${hash.slice(0, 12)}`;
  const registered = names.map((own) => {
    const flags = alsoWhenFull.includes(own) ? ", flags = { 'allow-oom' }" : "";
    return `redis.register_function{ function_name = '${name}_${own}', callback = ops.${own}${flags} }\n`;
  });
  return { name, code: `#!lua name=${name}\n${source}\n${registered.join("")}` };
}

export type RunLua = (keys: readonly string[], args: readonly (string | number)[]) => Promise<unknown>;

/** Creates a runner of Lua: the function `name` of the library, if given and allowed, or else the script `lua`. */
export function luaRunner(client: RedisClient): (name: string, lua: string, library?: RedisLibrary) => RunLua {
  let denied = false;
  const loading = new Map<string, Promise<void>>();

  function runScript(lua: string): RunLua {
    const sha = createHash("sha1").update(lua).digest("hex");
    return (keys, args) =>
      client.evalsha(sha, keys.length, ...keys, ...args).catch((error: unknown) => {
        // A restarted or promoted server does not have the script.
        if (meaningOf(error).kind !== "no_script") throw error;
        return client.eval(lua, keys.length, ...keys, ...args);
      });
  }

  /** Loads a library on all masters. A failure here surfaces when the function is called. */
  async function load({ code }: RedisLibrary): Promise<void> {
    const servers = mastersOf(client).map((server) => server.call("FUNCTION", "LOAD", "REPLACE", code));
    const loaded = await Promise.allSettled(servers);
    denied ||= loaded.some((one) => one.status === "rejected" && deniesFunctions(one.reason));
  }

  function loadOnce(library: RedisLibrary): Promise<void> {
    const before = loading.get(library.name);
    if (before !== undefined) return before;
    const own = load(library).finally(() => loading.delete(library.name));
    loading.set(library.name, own);
    return own;
  }

  function runFunction(name: string, library: RedisLibrary): RunLua {
    const call: RunLua = (keys, args) => client.fcall(`${library.name}_${name}`, keys.length, ...keys, ...args);
    return (keys, args) =>
      call(keys, args).catch(async (error: unknown) => {
        if (meaningOf(error).kind !== "no_script") throw error;
        await loadOnce(library);
        return call(keys, args);
      });
  }

  return (name, lua, library) => {
    const asScript = runScript(lua);
    if (library === undefined) return asScript;
    const asFunction = runFunction(name, library);
    return (keys, args) =>
      denied
        ? asScript(keys, args)
        : asFunction(keys, args).catch((error: unknown) => {
            const isDenied = deniesFunctions(error);
            denied ||= isDenied;
            // A full server accepts no library, but still runs scripts that end a call.
            if (!isDenied && meaningOf(error).kind !== "no_script") throw error;
            return asScript(keys, args);
          });
  };
}
