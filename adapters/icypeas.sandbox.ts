// Icypeas as the sandbox plays it: a search says again whom it was asked about, and one that was never launched has no items.
import { defineStandIn, type Item, put, refuse, type StandInCall, textAt } from "#sandbox";

const unknown = refuse(200, { success: true, items: [], total: 0 });

function launched(call: StandInCall, item: Item) {
  call.keep("search", textAt(call.answer, "/item/_id"), item);
  return call.answer;
}

export default defineStandIn({
  actions: {
    "email-search": (call) => launched(call, { fullname: `${call.text("firstname")} ${call.text("lastname")}` }),
    "email-verification": (call) => launched(call, { email: call.sent("email") }),
    result(call) {
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
