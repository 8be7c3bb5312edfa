// Sandbox stand-in for CueFrame: media and projects keep the names that they were given.
import { defineStandIn, put, textAt } from "#sandbox";

export default defineStandIn({
  actions: {
    upload(call) {
      const item = { name: call.sent("filename"), mimeType: call.sent("contentType") };
      call.keep("media", textAt(call.answer, "/id"), item);
      return call.answer;
    },
    media_status(call) {
      const { name, mimeType } = call.use("media");
      return put(call.answer, { "/name": name, "/mimeType": mimeType });
    },
    create_project: (call) => put(call.answer, { "/name": call.sent("name"), "/format": call.sent("format") }),
  },
});
