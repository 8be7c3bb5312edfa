// What holds for all actions of a vendor together, or does not fit a row of tables.test.ts.
import { expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const contactout = await wire("contactout");
const exa = await wire("exa");
const linkup = await wire("linkup");
const parallel = await wire("parallel");
const rentcast = await wire("rentcast");
const tomba = await wire("tomba");
const zep = await wire("zep");

const freeOnMiss = ({ actions }: typeof tomba) =>
  Object.keys(actions).filter((name) => actions[name]?.price.freeOnMiss === true);

it("ContactOut charges for no person or address that it does not know", () => {
  expect(freeOnMiss(contactout)).toEqual(["profile-contacts", "person-from-email", "email-verify"]);
});

it("Tomba charges when it finds nobody: the contract makes none of its actions free", () => {
  expect(freeOnMiss(tomba)).toEqual([]);
});

it("every action of RentCast costs us less than its price, and a miss is free", () => {
  expect(freeOnMiss(rentcast)).toEqual(Object.keys(rentcast.actions));
  for (const { price, upstreamCents } of Object.values(rentcast.actions))
    expect(upstreamCents).toBeLessThan(price.cents);
});

it("Linkup costs us more than the price only where a deep search writes an answer, and the adapter says so", () => {
  expect(linkup.upstreamCents("search", { q: "x" })).toBe(0.6);
  expect(linkup.upstreamCents("deep-search", { q: "x", outputType: "searchResults" })).toBe(5);
  expect(linkup.upstreamCents("deep-search", { q: "x" })).toBe(5.5);
  expect(linkup.actions["deep-search"]?.mayCostMore).toBeTruthy();
});

it("Exa reads up to a hundred pages in a call", () => {
  const urls = (count: number) => Array.from({ length: count }, (_, at) => `https://a.example/${at}`);
  expect(exa.refuses("contents", { urls: urls(100) })).toEqual([]);
  expect(exa.refuses("contents", { urls: urls(101) })).toEqual(["urls"]);
});

it("Zep gets a hash of every id that a caller chooses", () => {
  const ids = Object.entries(zep.actions).map(([name, { callerIds }]) => [name, callerIds]);
  const both = ["thread_id", "user_id"];
  const one = { "user-add": ["user_id"], add: ["thread_id"], "get-context": ["thread_id"], search: ["user_id"] };
  expect(Object.fromEntries(ids)).toEqual({ ...one, "thread-create": both });
});

it("Parallel's task-status asks for the run, and for its result once the run is completed", () => {
  const run = { run_id: "trun_9907" };
  const asked = parallel.send("task-status", run);
  expect(asked).toMatchObject({ method: "GET", url: "https://api.parallel.ai/v1/tasks/runs/trun_9907", body: null });
  const result = parallel.send("task-status", run, { at: 0, soFar: { ...run, status: "completed" } });
  expect(result).toMatchObject({ method: "GET", url: `${asked.url}/result?timeout=5`, body: null });
  const [step] = parallel.actions["task-status"]?.steps ?? [];
  expect(step).toMatchObject({ when: { at: "/status", is: "completed" }, merge: true });
});
