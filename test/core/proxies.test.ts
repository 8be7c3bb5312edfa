// HTTPS_PROXY, HTTP_PROXY and NO_PROXY: how they are parsed, and which hosts bypass the proxy.
import { describe, expect, it } from "vitest";
import { destinationOf } from "../../src/core/proxies.ts";
import { ConfigError, effectiveSettings, readConfig } from "../../src/platform/config.ts";

function proxyFor(url: string, env: Record<string, string>): string | null {
  return readConfig(env).proxies.proxyFor(destinationOf(new URL(url)))?.href ?? null;
}

const BOTH = { HTTPS_PROXY: "http://tls.proxy:1", HTTP_PROXY: "http://plain.proxy:2" };

describe("the proxy of an address", () => {
  it.each([
    ["https://api.example/", BOTH, "http://tls.proxy:1/"],
    ["wss://api.example/", BOTH, "http://tls.proxy:1/"],
    ["http://api.example/", BOTH, "http://plain.proxy:2/"],
    ["http://127.0.0.1:11434/", BOTH, "http://plain.proxy:2/"],
    ["https://api.example/", { HTTP_PROXY: "http://plain.proxy:2" }, null],
    ["https://api.example/", { https_proxy: "http://lower:1", HTTPS_PROXY: "http://upper:1" }, "http://lower:1/"],
    ["https://api.example/", { https_proxy: "", HTTPS_PROXY: "http://upper:1" }, "http://upper:1/"],
    ["https://api.example/", { HTTPS_PROXY: "upper:3128" }, "http://upper:3128/"],
    ["https://api.example/", { HTTPS_PROXY: "https://secure:3128" }, "https://secure:3128/"],
  ])("%s with %o is %s", (url, env, expected) => {
    expect(proxyFor(url, env as unknown as Record<string, string>)).toBe(expected);
  });

  it.each([
    ["*", "https://api.example/", true],
    ["other.example *", "https://api.example/", true],
    ["*:8443", "https://api.example/", false],
    ["*:443", "https://api.example/", true],
    ["api.example", "https://api.example/", true],
    ["API.Example.", "https://api.example./", true],
    ["example", "https://api.example/", true],
    [".example", "https://api.example/", true],
    ["*.example", "https://api.example/", true],
    [".api.example", "https://api.example/", true],
    ["pi.example", "https://api.example/", false],
    ["api.example:443", "https://api.example/", true],
    ["api.example:8443", "https://api.example/", false],
    ["api.example:8443", "https://api.example:8443/", true],
    ["localhost,127.0.0.1", "http://127.0.0.1:11434/", true],
    ["127.0.0.1:80", "http://127.0.0.1:11434/", false],
    ["10.0.0.0/8", "http://10.1.2.3/", true],
    ["10.0.0.0/8", "http://11.1.2.3/", false],
    ["10.0.0.0/8", "http://10.example/", false],
    ["::1", "http://[::1]:8080/", true],
    ["[::1]:8080", "http://[::1]:8080/", true],
    ["[::1]:8081", "http://[::1]:8080/", false],
    ["fd00::/8", "http://[fd00::7]/", true],
    ["fd00::/8", "http://[fe00::7]/", false],
    ["", "https://api.example/", false],
    [" , ", "https://api.example/", false],
  ])("NO_PROXY=%s and %s: direct is %s", (rules, url, direct) => {
    for (const name of ["NO_PROXY", "no_proxy"]) {
      expect(proxyFor(url, { ...BOTH, [name]: rules }) === null).toBe(direct);
    }
  });
});

describe("a bad value", () => {
  it.each([
    ["HTTPS_PROXY", "socks5://proxy:1080"],
    ["HTTPS_PROXY", "http://"],
    ["https_proxy", "http://proxy:99999"],
    ["HTTP_PROXY", "http://user:secret%zz@proxy:3128"],
    ["http_proxy", "http://a b"],
    ["NO_PROXY", "api.example:port"],
    ["NO_PROXY", "10.0.0.0/33"],
    ["NO_PROXY", "10.0.0.0/8/8"],
    ["no_proxy", "https://api.example"],
    ["NO_PROXY", "fd00::/129"],
  ])("of %s is told by its name, without what it may hold of a password: %s", (name, value) => {
    const read = () => readConfig({ [name]: value });
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(`^${name}: `));
    expect(read).not.toThrow(/secret/);
  });
});

it("is shown without its user and password", () => {
  const env = {
    HTTPS_PROXY: "http://user:p@ss@proxy:3128",
    http_proxy: "user:secret@proxy:3128",
    NO_PROXY: "a.example",
  };
  const shown = effectiveSettings(env).filter(({ name }) => name.endsWith("_PROXY"));
  expect(Object.fromEntries(shown.map(({ name, value }) => [name, value]))).toEqual({
    HTTPS_PROXY: "http://***@proxy:3128",
    HTTP_PROXY: "***@proxy:3128",
    NO_PROXY: "a.example",
    TRUST_PROXY: "0",
  });
});
