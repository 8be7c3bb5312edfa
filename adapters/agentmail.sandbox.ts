// Sandbox stand-in for AgentMail: mailboxes keep what was sent from them, and start with one mail to answer.
import {
  defineStandIn,
  type Item,
  type Json,
  put,
  refuse,
  type StandInCall,
  textAt,
  valueAt,
  withNewIds,
} from "#sandbox";

/** Mail ids are unique only within a mailbox. */
const mailId = (inbox_id: string, message_id: string) => `${inbox_id} ${message_id}`;

/** Stores the list's fields of a mail that this answer reports as sent. */
function keepSent(call: StandInCall, answer: Json, { to, subject }: Item): void {
  const inbox_id = call.text("inbox_id");
  const [thread_id, message_id] = [textAt(answer, "/thread_id"), textAt(answer, "/message_id")];
  const mail = {
    inbox_id,
    thread_id,
    message_id,
    labels: ["sent"],
    timestamp: call.now,
    from: inbox_id,
    preview: call.sent("text"),
    to,
    subject,
  };
  call.keep("message", mailId(inbox_id, message_id), mail, { owner: ["inbox", inbox_id] });
}

export default defineStandIn({
  actions: {
    create_inbox(call) {
      const username = call.sent("username");
      const chosen = username === undefined ? undefined : `${username}@${call.text("domain") || "agentmail.to"}`;
      const answer = put(call.answer, {
        "/inbox_id": chosen,
        "/display_name": call.sent("display_name"),
        "/created_at": call.now,
        "/updated_at": call.now,
      });
      const inbox_id = textAt(answer, "/inbox_id");
      if (call.find("inbox", inbox_id) !== undefined) return refuse(403, { name: "IsTakenError", message: "taken" });
      call.keep("inbox", inbox_id);
      // A new mailbox has one mail to read and answer.
      const received = valueAt(call.exampleOf("list-messages"), "/messages/0") ?? {};
      const mail = put(received, { "/inbox_id": inbox_id, "/to": [inbox_id], "/timestamp": call.now });
      const id = mailId(inbox_id, textAt(mail, "/message_id"));
      call.keep("message", id, mail as Item, { owner: ["inbox", inbox_id] });
      return answer;
    },
    send(call) {
      call.use("inbox");
      const answer = withNewIds(call.answer, "/message_id", "/thread_id");
      call.keep("thread", textAt(answer, "/thread_id"), {}, { owner: ["inbox", call.text("inbox_id")] });
      keepSent(call, answer, { to: call.sent("to"), subject: call.sent("subject") });
      return answer;
    },
    "list-messages"(call) {
      call.use("inbox");
      const all = call.list("message", ["inbox", call.text("inbox_id")]).toReversed();
      const from = call.number("page_token") ?? 0;
      const until = from + (call.number("limit") ?? all.length);
      const messages = all.slice(from, until);
      return put(call.answer, {
        "/limit": call.sent("limit"),
        "/messages": messages,
        "/count": messages.length,
        "/next_page_token": all.length > until ? String(until) : undefined,
      });
    },
    reply(call) {
      const message = call.use("message", { id: mailId(call.text("inbox_id"), call.text("message_id")) });
      call.use("inbox");
      const answer = put(withNewIds(call.answer, "/message_id"), { "/thread_id": message.thread_id });
      const subject = message.subject === undefined ? undefined : `Re: ${message.subject}`;
      keepSent(call, answer, { to: [message.from ?? ""], subject });
      return answer;
    },
  },
});
