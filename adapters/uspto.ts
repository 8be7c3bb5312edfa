// USPTO Open Data Portal: U.S. patent applications, granted patents and their assignees.
import { action, defineAdapter, keyHeader, needsOne, withRules, z } from "#adapter";

const day = z.iso.date();
const limit = z.int().min(1).max(100).default(25).describe("The most records.");
const offset = z.int().min(0).max(100_000).default(0).describe("How many records to skip.");
const dates = {
  date_gte: day.describe("On this day or later, YYYY-MM-DD.").optional(),
  date_lte: day.describe("On this day or earlier, YYYY-MM-DD.").optional(),
  date_field: z
    .enum(["grantDate", "filingDate"])
    .default("grantDate")
    .describe("Which day is meant: of the grant, which only granted patents have, or of the filing."),
};
interface Dates {
  readonly date_gte?: string | undefined;
  readonly date_lte?: string | undefined;
  readonly date_field: string;
}
const ordered = (p: Dates) => (p.date_gte ?? "") <= (p.date_lte ?? "~");
const backwards = { path: ["date_lte"], error: "must not be before date_gte" };

/** The vendor's range filter; an open end is set to a date without patents. */
function range({ date_gte, date_lte, date_field }: Dates): string | undefined {
  if (date_gte === undefined && date_lte === undefined) return undefined;
  return `applicationMetaData.${date_field} ${date_gte ?? "1790-01-01"}:${date_lte ?? "2999-12-31"}`;
}

const common = { category: "open-data", effect: "read", price: { mode: "fixed", cents: 1 }, upstreamCents: 0 } as const;
const search = { method: "GET", path: "/patent/applications/search" } as const;
const facts = { inventionTitle: "SOLID STATE BATTERY", patentNumber: "12000001", grantDate: "2025-06-03" };
const record = { applicationNumberText: "18000001", applicationMetaData: facts };
const owner = { assigneeBag: [{ assigneeNameText: "ACME BATTERY CORP" }], conveyanceText: "ASSIGNMENT" };

export default defineAdapter({
  name: "USPTO Open Data Portal",
  docs: "https://data.uspto.gov/apis/patent-file-wrapper/search",
  origin: "https://api.uspto.gov/api/v1",
  auth: keyHeader("x-api-key"),
  keyEnv: ["USPTO_API_KEY", "USPTO_ODP_API_KEY"],
  rules: [
    // It has no other answer for an empty list.
    { status: 404, means: "miss", data: { count: 0, patentFileWrapperDataBag: [] } },
    { status: 413, means: "caller_invalid", messageAt: "/detailedMessage" },
    { status: 400, means: "caller_invalid", messageAt: "/errorDetails" },
  ],
  actions: {
    patents: action(common, {
      asked:
        "is my idea patented; prior art; inventions; patent search; who invented; has somebody patented; application; filed inventors; novelty; gadget; can I copy it",
      description: "Searches U.S. patents and applications by words or fields: title, inventors, dates, status.",
      keywords:
        "invention; patent search; inventor; prior art; intellectual property; who invented; is this idea patented; trademark",
      params: withRules([needsOne("q", "date_gte", "date_lte")], {
        q: z
          .string()
          .min(1)
          .max(2_000)
          .describe('Words, "phrases", AND, OR, NOT, * and field:value, such as applicationMetaData.patentNumber:1.')
          .optional(),
        ...dates,
        limit,
        offset,
      }).refine(ordered, backwards),
      request: {
        ...search,
        names: { date_gte: null, date_lte: null, date_field: null },
        // Without the other fields of a record, a full page stays below the vendor's limit of 6 MB.
        fixed: { fields: "applicationNumberText,applicationMetaData" },
        params: (p) => ({ ...p, rangeFilters: range(p) }),
      },
      content: ["/patentFileWrapperDataBag"],
      example: {
        params: { q: '"solid state battery"', date_gte: "2025-01-01" },
        answer: { count: 1, patentFileWrapperDataBag: [record] },
      },
    }),
    assignees: action(common, {
      asked: "patents of a company; who owns a patent; intellectual property of a firm; portfolio; ip",
      description: "The U.S. patents and applications that were assigned to an organization, with the assignments.",
      keywords: "patents a company owns; patent owner; assignment; portfolio",
      params: z
        .strictObject({
          organization: z
            .string()
            .min(1)
            .max(300)
            .regex(/^[^"\\]+$/, 'must not contain " or \\')
            .describe("The organization's name, or words of it in order."),
          ...dates,
          limit,
          offset,
        })
        .refine(ordered, backwards),
      request: {
        ...search,
        fixed: { fields: "applicationNumberText,applicationMetaData,assignmentBag" },
        params: (p) => ({
          q: `assignmentBag.assigneeBag.assigneeNameText:"${p.organization}"`,
          limit: p.limit,
          offset: p.offset,
          rangeFilters: range(p),
        }),
      },
      content: ["/patentFileWrapperDataBag"],
      example: {
        params: { organization: "Acme Battery Corp" },
        answer: { count: 1, patentFileWrapperDataBag: [{ ...record, assignmentBag: [owner] }] },
      },
    }),
  },
});
