// TrialBase DB: normalized clinical trials. A pay-per-call merchant; its listed price is our cap.
import { defineAdapter, recordsMerchant } from "#adapter";

export default defineAdapter(
  recordsMerchant({
    name: "TrialBase DB",
    docs: "https://trialbase-db.org",
    origin: "https://api.trialbase-db.org/v1",
    path: "/trials",
    record: { id: "NCT05123456", title: "A Study of Treatment A", phase: "PHASE2", status: "RECRUITING" },
    asked:
      "clinical trials; studies that recruit patients; experimental treatment; phase 3; sponsor; trial near me; cancer, diabetes, alzheimer study to join; volunteers; new therapy being tested; take part in medical research",
    search: {
      description: "Searches clinical trials by condition, treatment, phase and more in a normalized database.",
      keywords: "clinical trials; medical study; NCT; recruiting; cancer; disease; drug trials; experimental treatment",
      filters: { condition: "breast cancer" },
    },
    get: {
      description: "One clinical trial by its id: design, status, sponsor, places. An unknown id is free.",
      keywords: "clinical trial; medical study; NCT number",
    },
  }),
);
