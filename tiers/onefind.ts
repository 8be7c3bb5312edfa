// How core/onefind and core/onefind-deep find people: one search, and which vendors to query for the rest by each identifier.
import { definePeopleFinder } from "#tier";

export default definePeopleFinder({
  find: {
    tag: "exa",
    action: "exa/search",
    cents: 1,
    // Its people search covers only LinkedIn, so every URL is a profile.
    params: ({ query, limit }) => ({ query, category: "people", numResults: limit }),
    listAt: "/results",
    person: {
      name: ["/entities/0/properties/name", "/author", "/title"],
      title: ["/entities/0/properties/workHistory/0/title"],
      company: ["/entities/0/properties/workHistory/0/company/name"],
      location: ["/entities/0/properties/location"],
      linkedin: ["/url"],
    },
  },
  enrich: {
    email: [
      {
        tag: "contactout",
        action: "contactout/person-from-email",
        cents: 10,
        params: (email) => ({ email }),
        person: {
          name: ["/profile/fullName"],
          title: ["/profile/headline"],
          company: ["/profile/company/name"],
          location: ["/profile/location"],
          linkedin: ["/profile/linkedinUrl"],
          phone: ["/profile/phone"],
          domain: ["/profile/company/domain", "/profile/company/email_domain"],
          industry: ["/profile/company/industry", "/profile/industry"],
          headcount: ["/profile/company/size"],
          hq: ["/profile/company/headquarter"],
        },
      },
      {
        tag: "tomba",
        action: "tomba/enrich",
        cents: 4,
        params: (email) => ({ email }),
        fills: ["company", "domain", "industry", "headcount", "hq"],
        skipsWebmail: true,
        person: {
          name: ["/data/person/name/fullName"],
          title: ["/data/person/employment/title"],
          company: ["/data/company/name", "/data/person/employment/name"],
          location: [["/data/person/geo/city", "/data/person/geo/country"], "/data/person/location"],
          linkedin: ["/data/person/linkedin/handle"],
          domain: ["/data/company/domain", "/data/person/employment/domain"],
          industry: ["/data/company/category/industry", "/data/company/category/sector"],
          headcount: ["/data/company/metrics/employees"],
          hq: [["/data/company/geo/city", "/data/company/geo/country"], "/data/company/location"],
        },
      },
    ],
    linkedin: [
      {
        tag: "contactout",
        action: "contactout/profile-contacts",
        cents: 10,
        params: (profile) => ({ profile }),
        person: {
          email: ["/profile/work_email/0", "/profile/email/0", "/profile/personal_email/0"],
          phone: ["/profile/phone/0"],
        },
      },
      {
        tag: "tomba",
        action: "tomba/linkedin-finder",
        cents: 5,
        params: (url) => ({ url }),
        fills: ["email"],
        person: {
          name: ["/data/full_name"],
          title: ["/data/position"],
          company: ["/data/company"],
          location: ["/data/country"],
          email: ["/data/email"],
          domain: ["/data/website_url"],
        },
      },
    ],
  },
  webmail:
    "126.com 163.com aol.* att.net bellsouth.net bk.ru bol.com.br btinternet.com comcast.net cox.net daum.net duck.com fastmail.* foxmail.com free.fr gmail.com gmx.* googlemail.com hanmail.net hey.com hotmail.* hushmail.com icloud.com inbox.ru laposte.net libero.it list.ru live.* mac.com mail.com mail.ru me.com msn.com naver.com orange.fr outlook.* pm.me proton.me protonmail.* qq.com rediffmail.com rocketmail.com sbcglobal.net sfr.fr sina.com t-online.de terra.com.br tutanota.* uol.com.br verizon.net virgilio.it wanadoo.fr web.de yahoo.* yandex.* ymail.com zoho.*".split(
      " ",
    ),
  roles:
    "academic accountant account actor admin administrator advisor adviser agent ai alumni alumnus analyst angel architect artist assistant associate attorney author banker biologist blogger board buyer candidate ceo cfo chair chef chemist chief cio ciso cmo coach co-founder cofounder company companies consultant contact contractor controller coo coordinator cpo creator cro cto customer data dentist designer dev developer devop director doctor economist editor employee engineer engineering entrepreneur everybody everyone executive expert finance founder freelancer growth head hiring hr influencer intern investor journalist junior lawyer lead leader leadership lecturer manager marketer marketing mathematician member ml musician nurse officer operation operator owner partner people person phd photographer physician physicist podcaster president principal producer product professional professor programmer project psychologist recruiter realtor rep representative researcher retail sales scientist senior software specialist staff startup strategist student supervisor supplier support surgeon talent teacher team tech technical technician therapist trader user vc vendor vet vice vp who women worker writer".split(
      " ",
    ),
});
