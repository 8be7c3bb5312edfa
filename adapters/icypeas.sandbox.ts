// Sandbox stand-in for Icypeas: a search echoes the person it was launched for, and an unknown search has no items.
import { defineStandIn, type Item, put, refuse, type StandInCall, textAt } from "#sandbox";

const unknown = refuse(200, { success: true, items: [], total: 0 });

function launched(call: StandInCall, item: Item) {
  const id = textAt(call.answer, "/item/_id");
  call.keep("search", id, { _id: id, ...item });
  return call.answer;
}

export default defineStandIn({
  actions: {
    "email-search": (call) => launched(call, { fullname: `${call.text("firstname")} ${call.text("lastname")}` }),
    "domain-search": (call) => launched(call, { fullname: call.text("domainOrCompany") }),
    "email-verification": (call) => launched(call, { email: call.sent("email") }),
    result(call) {
      if (call.sent("mode") === "single") {
        const items = call.list("search").toReversed().slice(0, call.number("limit"));
        const shown = items.map(({ _id = "", ...results }) => ({ _id, status: "DEBITED", results }));
        return put(call.answer, { "/items": shown, "/total": shown.length });
      }
      const { fullname, email } = call.use("search", { unknown });
      const answer = put(call.answer, {
        "/items/0/results/fullname": fullname,
        "/items/0/results/emails/0/email": email,
      });
      if (!call.isAtWork("search")) return answer;
      return put(answer, { "/items/0/status": "IN_PROGRESS", "/items/0/results": {} });
    },
  },
});
