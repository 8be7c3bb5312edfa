// What an action that reads pages answers: the example, with what the sandbox's pages at the addresses that were asked for say.
import type { Json, ReadsPages } from "../catalog/action.ts";
import { valueAt, withValueAt } from "./action-body.ts";
import { sentAs } from "./action-request.ts";
import { filledFor, type StateCall } from "./action-state.ts";
import type { ActionPlace, Vendors } from "./action-vendors.ts";
import { type VendorPage, vendorPage } from "./pages.ts";

function withPage(item: Json, page: VendorPage, { puts }: ReadsPages): Json {
  return Object.entries(puts).reduce<Json>((body, [at, part]) => withValueAt(body, at, page[part]), item);
}

/** The addresses that the call has sent, or that are kept of the call that began its work. */
function addressesOf(param: string, call: StateCall): readonly string[] {
  const { place, reading } = call;
  if (!param.startsWith("{")) return sentAs(param, place.step ?? place.action, reading);
  return [filledFor(param, call) ?? []].flat().map(String);
}

/** The place with what its pages say in its example; a number: the status with which the vendor refuses it. */
export function withPages(call: StateCall, vendors: Vendors): ActionPlace | number {
  const { place } = call;
  const { action, adapter, name } = place;
  const { readsPages, example } = action;
  if (readsPages === undefined) return place;
  const by = { adapter, action: name, isVendor: (id: string) => vendors.has(id) };
  const pages = addressesOf(readsPages.param, call).flatMap((text) => {
    const url = URL.parse(text);
    return url === null ? [] : [{ ...vendorPage(url, by), url: text }];
  });
  const [page] = pages;
  if (page === undefined) return place;
  if (page.status >= 400 && readsPages.refusal !== undefined) return readsPages.refusal;
  const { each } = readsPages;
  const answers = example.answers.map((answer) => {
    if (each === undefined) return withPage(answer, page, readsPages);
    const first = valueAt(answer, `${each}/0`) ?? {};
    return withValueAt(
      answer,
      each,
      pages.map((one) => withPage(first, one, readsPages)),
    );
  });
  const [answer = null, ...more] = answers;
  return { ...place, action: { ...action, example: { ...example, answers: [answer, ...more] } } };
}
