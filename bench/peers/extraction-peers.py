# Reads pages as trafilatura and html2text do: a line of JSON in, {"name", "html", "url"}, a line out, by the name of the library that is asked.
import json
import sys

import html2text
import trafilatura


def by_trafilatura(page):
    options = {"output_format": "markdown", "include_tables": True, "include_links": True, "include_images": True, "include_formatting": True}
    return trafilatura.extract(page["html"], url=page["url"], **options) or ""


def by_html2text(page):
    reader = html2text.HTML2Text(baseurl=page["url"])
    reader.body_width = 0
    return reader.handle(page["html"])


read = {"trafilatura": by_trafilatura, "html2text": by_html2text}[sys.argv[1]]
for line in sys.stdin:
    sys.stdout.write(json.dumps(read(json.loads(line))) + "\n")
