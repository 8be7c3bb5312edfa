"""Asks vendors' Python SDKs for what our actions ask, and tells what each would have sent: a line of JSON for each row. Nothing is sent."""
import json
import sys
import urllib.request

import httpx
import requests

KEY = sys.argv[1]


class Sent(BaseException):
    """A request as it would have gone out; no SDK catches it."""

    def __init__(self, method, url, headers, body):
        super().__init__(url)
        text = body.decode() if isinstance(body, bytes) else body
        self.told = {"method": method, "url": str(url), "headers": headers, "body": text or ""}


def by_requests(_self, request, **_):
    raise Sent(request.method, request.url, dict(request.headers), request.body)


def by_httpx(_self, request, **_):
    raise Sent(request.method, request.url, dict(request.headers), request.read())


def by_urllib(request, *_, **__):
    raise Sent(request.get_method(), request.full_url, dict(request.header_items()), request.data)


requests.Session.send = by_requests
httpx.Client.send = by_httpx
urllib.request.urlopen = by_urllib


def fastcrw():
    from crw import CrwClient

    CrwClient(api_key=KEY).scrape("https://a.org/", formats=["markdown"], only_main_content=True, deadlineMs=50_000)


def oxylabs():
    from oxylabs import RealtimeClient

    RealtimeClient(f"{KEY}-1", f"{KEY}-2").universal.scrape_url("https://a.org/", geo_location="Germany", render="html")


def scrapingant():
    from scrapingant_client import ScrapingAntClient

    ScrapingAntClient(token=KEY).markdown_request("https://a.org/", proxy_country="US", wait_for_selector="h1")


def strale():
    from straleio import Strale
    from straleio.types import DoRequest

    inputs = {"name": "Acme Trading", "entity_type": "company"}
    Strale(api_key=KEY).do(DoRequest(capability_slug="sanctions-check", inputs=inputs, max_price_cents=20))


def tikhub():
    from tikhub import TikHub

    TikHub(api_key=KEY).tiktok_web.fetch_user_profile(uniqueId="tiktok")


def tomba():
    from tomba.client import Client
    from tomba.services.finder import Finder

    client = Client().set_key(f"{KEY}-1").set_secret(f"{KEY}-2")
    Finder(client).email_finder("a.org", "Ada", "Lovelace")


for ask in (fastcrw, oxylabs, scrapingant, strale, tikhub, tomba):
    try:
        ask()
        raise SystemExit(f"{ask.__name__} has sent nothing")
    except Sent as sent:
        print(json.dumps({"vendor": ask.__name__, **sent.told}))
