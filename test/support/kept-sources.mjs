// Every process and thread of a test run reads this first: it starts from the sources that src/core/kept-sources.mjs keeps compiled.
import module from "node:module";

// A tool that a test runs may bring an older Node, which has no such hooks.
if (module.registerHooks !== undefined) await import("../../src/core/kept-sources.mjs");
