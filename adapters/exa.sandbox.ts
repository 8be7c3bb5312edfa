// Sandbox stand-in for Exa: a search for people finds profiles, and contents are the pages' text.
import { defineStandIn, eachPage, put } from "#sandbox";

/** A profile with facts about its owner. */
const profile = (slug: string, name: string, [title, company, location]: readonly [string, string, string]) => ({
  id: `https://www.linkedin.com/in/${slug}`,
  url: `https://www.linkedin.com/in/${slug}`,
  title: `${name} | ${title} at ${company}`,
  author: name,
  entities: [
    {
      id: `https://exa.ai/library/person/${slug}`,
      type: "person",
      version: 1,
      properties: {
        name,
        location,
        workHistory: [
          { title, location, dates: { from: "2024-01-01", to: null }, company: { id: null, name: company } },
        ],
      },
    },
  ],
});
const people = [
  profile("ada", "Ada Lovelace", ["Engineer", "Example", "London, United Kingdom"]),
  profile("grace", "Grace Hopper", ["Rear Admiral", "Example Navy", "New York, United States"]),
  profile("alan", "Alan Turing", ["Researcher", "Bletchley Example", "Manchester, United Kingdom"]),
];

export default defineStandIn({
  actions: {
    search(call) {
      if (call.text("category") !== "people") return call.answer;
      return put(call.answer, { "/results": call.text("query") === "nobody" ? [] : people });
    },
    contents(call) {
      return eachPage(call.answer, "/results", {
        pages: call.pages(call.sent("urls")),
        puts: ({ url, markdown }) => ({ "/id": url, "/url": url, "/text": markdown }),
      });
    },
  },
});
