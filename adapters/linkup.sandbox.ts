// Sandbox stand-in for Linkup: returns only the sources if only they were requested.
import { type ActionStandIn, defineStandIn } from "#sandbox";

const sources = {
  results: [
    {
      type: "text",
      name: "Kereon",
      url: "https://lighthouses.example/kereon",
      content: "The lighthouse of Kereon is 41 metres tall.",
      favicon: "https://lighthouses.example/favicon.ico",
    },
  ],
};

const search: ActionStandIn = (call) => (call.text("outputType") === "searchResults" ? sources : call.answer);

export default defineStandIn({ actions: { search, "deep-search": search } });
