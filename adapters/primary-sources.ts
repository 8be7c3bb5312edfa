// Primary sources: open data of governments and institutions, through one table of endpoints on many hosts; none needs a key. From memory,
// and not yet checked against the live hosts: the routes, their params, and each source's errors.
import { action, defineAdapter, endpointParams, noAuth } from "#adapter";

const observation = {
  indicator: { id: "NY.GDP.MKTP.CD", value: "GDP (current US$)" },
  country: { id: "FR", value: "France" },
  countryiso3code: "FRA",
  date: "2024",
  value: 3_160_442_622_466.01,
};

export default defineAdapter({
  name: "Primary sources",
  docs: "docs/guides/find-and-call-actions.md",
  beliefs: { "*": "the routes, their params, and how each source refuses" },
  origin: "https://api.worldbank.org",
  origins: {
    worldbank: "https://api.worldbank.org",
    eurostat: "https://ec.europa.eu",
    clinicaltrials: "https://clinicaltrials.gov",
    openfda: "https://api.fda.gov",
    weather: "https://api.weather.gov",
    ncei: "https://www.ncei.noaa.gov",
    tides: "https://api.tidesandcurrents.noaa.gov",
    treasury: "https://api.fiscaldata.treasury.gov",
    usaspending: "https://api.usaspending.gov",
    nvd: "https://services.nvd.nist.gov",
    usgs: "https://earthquake.usgs.gov",
    ncbi: "https://eutils.ncbi.nlm.nih.gov",
    vpic: "https://vpic.nhtsa.dot.gov",
    nhtsa: "https://api.nhtsa.gov",
    ecb: "https://data-api.ecb.europa.eu",
    who: "https://ghoapi.azureedge.net",
    imf: "https://www.imf.org",
    fdic: "https://api.fdic.gov",
    fema: "https://www.fema.gov",
    rxnav: "https://rxnav.nlm.nih.gov",
    crossref: "https://api.crossref.org",
    gbif: "https://api.gbif.org",
  },
  auth: noAuth,
  contact: "polite",
  rules: [
    // Each source has its own error with status 200: World Bank, Eurostat, NOAA's tides, NCBI.
    { at: "/0/message", empty: false, means: "caller_invalid", messageAt: "/0/message/0/value" },
    { at: "/warning/label", empty: false, means: "caller_invalid", messageAt: "/warning/label" },
    { at: "/error/message", empty: false, means: "caller_invalid" },
    { at: "/esearchresult/ERROR", empty: false, means: "caller_invalid", messageAt: "/esearchresult/ERROR" },
    // openFDA's answer if nothing was found.
    { status: 404, at: "/error/code", is: "NOT_FOUND", means: "miss" },
    { at: "", matches: /^\s*</, sample: "<!doctype html>", means: "provider_overloaded" },
  ],
  actions: {
    fetch: action({
      asked:
        "official statistics; open data; government data; population, birth rate, life expectancy of countries; world bank, who, eurostat, imf, un; earthquakes; weather forecast, rain, temperature, storms, hurricanes, tides; climate; government contracts and spending; public debt; side effects of a drug, adverse events; car complaints and recalls; bank failures; disasters; security holes, vulnerabilities, cve; asteroids, space; genes, proteins; chemicals, compounds; air quality, pollution; exchange rates, currency, euro, dollar; election money, campaign donations; crime; energy, electricity, oil; food nutrition, calories; vaccine, disease, covid cases; trade, exports; poverty, education, co2 emissions; hospital, medicare; volcano; river levels",
      description:
        "Reads open data at its source: World Bank, Eurostat, IMF, ECB, WHO, openFDA, ClinicalTrials.gov, PubMed, NOAA, USGS, U.S. Treasury, USAspending, NHTSA, FDIC, FEMA, NVD and more.",
      category: "open-data",
      keywords:
        "statistics; official data; government data; GDP; inflation; weather forecast; earthquakes; drug side effects; adverse events; product recalls; exchange rates; census; vulnerabilities; weather; medical research; population; unsafe products; food safety; hurricane; air quality; water level; bank failures; government spending; space; car safety rating",
      effect: "read",
      params: endpointParams("Name of the endpoint, such as worldbank/indicator"),
      price: { mode: "fixed", cents: 1, freeOnMiss: true },
      upstreamCents: 0,
      table: { param: "endpoint" },
      request: { method: "GET", path: "" },
      example: {
        params: { endpoint: "worldbank/indicator", country: "FR", indicator: "NY.GDP.MKTP.CD", date: "2024" },
        answer: [{ page: 1, pages: 1, per_page: 50, total: 1 }, [observation]],
      },
    }),
  },
});
