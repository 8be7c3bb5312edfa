// RxAtlas: normalized drug products of the United States. A pay-per-call merchant; its listed price is our cap.
import { defineAdapter, recordsMerchant } from "#adapter";

export default defineAdapter(
  recordsMerchant({
    name: "RxAtlas",
    docs: "https://rxatlas.dev",
    origin: "https://api.rxatlas.dev/v1",
    path: "/drugs",
    record: { id: "rx-0093-7424", name: "Atorvastatin Calcium", form: "tablet", strength: "20 mg" },
    asked:
      "what is in a pill; ingredients of a drug; strength and dosage; generic of a brand; tablets, capsules, syrup; painkiller; otc; which medicine contains; prescription; active substance; pharmacy; pills; aspirin, ibuprofen, insulin",
    search: {
      description: "Searches U.S. drug products (prescription and over the counter) in a normalized database.",
      keywords:
        "prescription drug; medicine; medication; NDC; active ingredient; dosage; generic name; brand name of a drug; pill",
      filters: { name: "atorvastatin" },
    },
    get: {
      description: "One U.S. drug product by its id: ingredients, strength, form, dosage. An unknown id is free.",
      keywords: "prescription drug; medicine; dosage; drug label",
    },
  }),
);
