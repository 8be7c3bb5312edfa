// Any server with Anthropic's wire format. Set CUSTOM_MESSAGES_BASE_URL to enable it; CUSTOM_MESSAGES_LAB_BASE_URL adds another one as
// `custom-messages-lab`, and so on with any name.
import { defineAdapter, keyHeader, localServer } from "#adapter";

export default defineAdapter({
  ...localServer({
    name: "Custom server (Messages)",
    docs: "docs/guides/add-a-provider.md",
    origin: "http://localhost:8000/v1",
    dialect: "messages",
  }),
  auth: keyHeader("x-api-key"),
  headers: { "anthropic-version": "2023-06-01" },
  several: true,
});
