"""Families of synthetic tasks: how many there are of each, how long they are, and what their calls look like.

Numbers of tasks, mean steps and mean calls of the families are those of the public references of M3-Bench; the plans,
tools and things are made up after what the families are about.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Slot:
    """A call of a plan: values are templates (see `generator`); `each`: once for every thing in the picture."""

    tool: str
    arguments: dict[str, Any]
    each: bool = False


@dataclass(frozen=True)
class Family:
    """One family: `plan` has the calls of each step of its longest tasks."""

    name: str
    tasks: int
    steps: float
    calls: float
    things: str
    plan: tuple[tuple[Slot, ...], ...]


def _one(tool: str, **arguments: Any) -> Slot:
    return Slot(tool, arguments)


def _each(tool: str, **arguments: Any) -> Slot:
    return Slot(tool, arguments, each=True)


_SHOP = _each("shop/search", keywords="{thing}", n="{few}", page=1, domain="shop.example")
_PAGE = _each("encyclopedia/summary", title="{thing}")
_NAMED = _one("vision/detect_named", imageFileUri="{picture}", textPrompt="{things}", includeDescription=True)
_ALL = _one("vision/detect_all", imageFileUri="{picture}", includeDescription=True)
_READ = _one("text/read", input_path="{picture}")
_CROP = _each(
    "pictures/crop", input_path="{picture}", x1="{px}", y1="{px}", x2="{px}", y2="{px}", output_path="{beside}"
)
_AIR = _one("air/current", location="{place}")
_SHEET = _one("sheets/create", filepath="{sheet}")
_TABLE = _each("sheets/write", filepath="{sheet}", sheet_name="Sheet1", data="{table}", start_cell="A1")

FAMILIES: tuple[Family, ...] = (
    Family("items and prices", 6, 1, 5, "product", ((_SHOP,),)),
    Family("attraction", 6, 1, 3, "landmark", (
        (_one("encyclopedia/summary", title="{city}"), _one("weather/now", city="{city}"),
         _each("maps/text_search", query="restaurants near {thing} {city}", maxResults="{few}")),)),
    Family("films", 6, 2, 3, "movie", (
        (_READ,), (_each("films/search", query="{thing}"), _one("maps/text_search", query="cinemas in {city}")))),
    Family("papers about animals", 7, 3, 6.1, "animal", (
        (_ALL,), (_each("papers/search", query="{thing} population ecology and conservation", max_results="{few}"),),
        (_each("papers/read", paper_id="{paper}", save_path="./downloads"),))),
    Family("camping", 9, 3, 7.8, "park", (
        (_one("parks/find", q="{thing}", limit="{few}"),),
        (_one("parks/campgrounds", parkCode="{code}", limit=10), _one("parks/centers", parkCode="{code}")),
        (_each("maps/route", origin="{city}", destination="{thing} campground", mode="driving"),
         _one("maps/elevation", locations="{places}")))),
    Family("fishing", 11, 4, 5.4, "fish", (
        (_NAMED,), (_one("maps/text_search", query="{thing} fishing spots near {city}", maxResults="{few}"),),
        (_one("weather/now", city="{city}"), _one("maps/route", origin="{city}", destination="{thing} pier")),
        (_SHOP,))),
    Family("is this drug right", 8, 5, 10.9, "drug", (
        (_READ,), (_each("drugs/label", drug_name="{thing}", search_type="label"),),
        (_each("health/literature", query="{thing} for {illness} efficacy and safety", max_results=5),
         _one("health/icd", description="{illness}")),
        (_SHEET,), (_TABLE,))),
    Family("hazards on a site", 9, 5, 6.2, "hazard", (
        (_NAMED,), (_each("pictures/draw_text", input_path="{picture}", text="{thing}", x="{px}", y="{px}"),),
        (_one("slides/create", id="{word}"),), (_each("slides/add", title="{thing}"),),
        (_one("slides/save", file_path="{deck}"),))),
    Family("food in forums", 7, 3, 14, "food", (
        (_each("forum/hot", subreddit="{thing}", limit=10), _PAGE), (_SHEET,), (_TABLE,))),
    Family("literature sheet", 7, 4, 4, "drug", (
        (_READ,), (_each("health/literature", query="{thing}", max_results="{few}"),), (_SHEET,), (_TABLE,))),
    Family("bar codes", 6, 1.8, 2, "movie", (
        (_one("codes/scan", image_paths=["{picture}"]),), (_one("books/by_isbn", isbn="{isbn}"),))),
    Family("cutting animals out", 6, 2, 4.8, "animal", ((_NAMED,), (_CROP,))),
    Family("calories of fruit", 7, 1, 5.4, "fruit", ((_each("food/nutrition", food="{thing}"),),)),
    Family("illness and shopping", 6, 3, 9.8, "illness", (
        (_one("health/icd", description="{thing}"), _READ),
        (_each("drugs/label", drug_name="{drug}"), _each("health/trials", condition="{thing}", status="recruiting")),
        (_SHOP,))),
    Family("code to a place", 7, 4, 4.1, "landmark", (
        (_one("codes/scan", image_paths=["{picture}"]),), (_one("encyclopedia/search", query="{thing}"),),
        (_one("maps/geocode", address="{thing}, {city}"),), (_AIR,))),
    Family("a day's routes", 7, 3, 7.1, "landmark", (
        (_each("maps/text_search", query="{thing} {city}", maxResults="{few}"),),
        (_each("maps/route", origin="{thing} {city}", destination="supermarket {city}", mode="walking"),),
        (_one("maps/distance_matrix", origins=["{city}"], destinations="{list}", mode="walking"),))),
    Family("food chain", 7, 2, 7.6, "animal", (
        (_ALL,), (_one("pictures/blur", input_path="{picture}", areas="{areas}", output_path="{beside}"), _PAGE))),
    Family("slides from a picture", 10, 4, 8, "topic", (
        (_READ,), (_one("slides/create", id="{word}"), _each("forum/hot", subreddit="{word}", limit="{few}")),
        (_each("slides/add", title="{thing}", layout_index=1),
         _one("slides/picture", slide_index=1, image_source="{picture}", left="{inch}", top="{inch}")),
        (_one("slides/save", file_path="{deck}"),))),
    Family("two destinations", 7, 3, 5.3, "landmark", (
        (_each("maps/geocode", address="{thing}"),), (_AIR, _one("weather/now", city="{city}")),
        (_each("maps/nearby", location="{place}", radius_meters="{hundreds}", category="hotel"),))),
    Family("air over a city", 7, 2, 3, "landmark", (
        (_one("maps/static", center="{city}", zoom=12, size="640x640"),),
        (_each("air/tile", zoom=7, x="{tile}", y="{tile}", type="US_AQI"), _AIR))),
    Family("museum", 8, 5, 5, "artefact", (
        (_NAMED,), (_one("museum/departments"),),
        (_each("museum/search", q="{thing}", departmentId="{small}", hasImages=True),),
        (_one("museum/object", objectId="{id}", returnImage=True),), (_PAGE,))),
    Family("research station", 10, 4, 8, "station", (
        (_one("encyclopedia/search", query="{thing}", limit=5),),
        (_one("sky/flares", start_date="{day}", end_date="{later}"),
         _one("sky/ejections", start_date="{day}", end_date="{later}")),
        (_each("maps/text_search", query="{thing}", maxResults=5),), (_PAGE,))),
    Family("icons of large things", 7, 2, 6.6, "object", (
        (_ALL,), (_PAGE, _each("icons/search", query="{thing}")))),
    Family("paying in coins", 9, 3, 6.8, "product", (
        (_SHOP,), (_each("coins/candles", instrument="{coin}-USDT", bar="1D", limit="{few}"),),
        (_one("math/divide", numerator="{price}", denominator="{price}"),))),
    Family("growth of companies", 10, 4, 8, "ticker", (
        (_READ,), (_each("stocks/history", ticker="{thing}", period="1y", interval="1mo"),),
        (_each("math/mean", numbers="{numbers}"),),
        (_one("pictures/draw_text", input_path="{picture}", text="{thing}", x="{px}", y="{px}"),))),
    Family("price of a car", 6, 3, 5, "car", (
        (_NAMED,), (_each("cars/price", brand_name="{thing}"), _one("coins/price", instrument="{coin}-USDT")),
        (_one("math/divide", numerator="{price}", denominator="{price}"),))),
    Family("survey and budget", 6, 2.5, 5.2, "object", (
        (_READ,), (_SHOP, _one("math/mean", numbers="{numbers}")), (_one("math/sum", numbers="{numbers}"),))),
    Family("packages of a system", 6, 3, 12, "package", (
        (_READ,), (_each("system/search", query="{thing}", search_type="packages", limit="{few}"),),
        (_each("system/info", name="{thing}", type="package"), _PAGE,
         _each("system/versions", package_name="{thing}", limit="{few}")))),
)  # fmt: skip
