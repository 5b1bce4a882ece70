"""The tools of synthetic references, with schemas such as servers of their kind publish."""

from __future__ import annotations

from typing import Any

from tasks_lib.evaluation.alignment.strict.snapshot import Tool, ToolSnapshot

TEXT: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "number"}
WHOLE: dict[str, Any] = {"type": "integer"}
FLAG: dict[str, Any] = {"type": "boolean", "default": False}
TEXTS: dict[str, Any] = {"type": "array", "items": TEXT}
DAY: dict[str, Any] = {"type": "string", "format": "date"}
PLACE: dict[str, Any] = {"type": "object", "properties": {"lat": NUMBER, "lng": NUMBER}}
BOX = {"input_path": TEXT, "x1": WHOLE, "y1": WHOLE, "x2": WHOLE, "y2": WHOLE, "output_path": TEXT}


def _whole(default: int) -> dict[str, Any]:
    return {"type": "integer", "default": default}


def _one_of(*choices: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(choices), "default": choices[0]}


SCHEMAS: dict[str, dict[str, Any]] = {
    "shop/search": {"keywords": TEXT, "n": _whole(5), "page": _whole(1), "domain": TEXT},
    "encyclopedia/summary": {"title": TEXT, "language": _one_of("en", "de")},
    "encyclopedia/search": {"query": TEXT, "limit": _whole(5)},
    "maps/geocode": {"address": TEXT},
    "maps/text_search": {"query": TEXT, "maxResults": WHOLE, "includePhotos": FLAG},
    "maps/nearby": {"location": PLACE, "radius_meters": _whole(1500), "category": TEXT},
    "maps/route": {"origin": TEXT, "destination": TEXT, "mode": _one_of("driving", "walking", "transit", "cycling")},
    "maps/elevation": {"locations": {"type": "array", "items": PLACE}},
    "maps/distance_matrix": {"origins": TEXTS, "destinations": TEXTS, "mode": _one_of("driving", "walking", "transit")},
    "maps/static": {"center": TEXT, "zoom": _whole(12), "size": TEXT},
    "weather/now": {"city": TEXT, "units": _one_of("metric", "imperial")},
    "air/current": {"location": PLACE},
    "air/tile": {"zoom": WHOLE, "x": WHOLE, "y": WHOLE, "type": _one_of("US_AQI", "UAQI", "PM25")},
    "films/search": {"query": TEXT},
    "text/read": {"input_path": TEXT, "language": _one_of("eng", "deu", "fra")},
    "codes/scan": {"image_paths": TEXTS},
    "books/by_isbn": {"isbn": TEXT},
    "vision/detect_named": {"imageFileUri": TEXT, "textPrompt": TEXT, "includeDescription": FLAG},
    "vision/detect_all": {"imageFileUri": TEXT, "includeDescription": FLAG},
    "pictures/crop": BOX,
    "pictures/blur": {"input_path": TEXT, "areas": {"type": "array", "items": {"type": "object"}}, "output_path": TEXT},
    "pictures/draw_text": {"input_path": TEXT, "text": TEXT, "x": WHOLE, "y": WHOLE},
    "papers/search": {"query": TEXT, "max_results": _whole(10)},
    "papers/read": {"paper_id": TEXT, "save_path": TEXT},
    "drugs/label": {"drug_name": TEXT, "search_type": _one_of("general", "label", "adverse_events")},
    "health/icd": {"description": TEXT, "max_results": _whole(10)},
    "health/trials": {"condition": TEXT, "status": _one_of("recruiting", "completed", "all")},
    "health/literature": {"query": TEXT, "max_results": _whole(5), "date_range": TEXT},
    "forum/hot": {"subreddit": TEXT, "limit": _whole(10)},
    "sheets/create": {"filepath": TEXT},
    "sheets/write": {"filepath": TEXT, "sheet_name": TEXT, "data": {"type": "array"}, "start_cell": TEXT},
    "slides/create": {"id": TEXT},
    "slides/add": {"title": TEXT, "layout_index": _whole(1)},
    "slides/picture": {"slide_index": WHOLE, "image_source": TEXT, "left": NUMBER, "top": NUMBER},
    "slides/save": {"file_path": TEXT},
    "parks/find": {"q": TEXT, "limit": _whole(10)},
    "parks/campgrounds": {"parkCode": TEXT, "limit": _whole(10)},
    "parks/centers": {"parkCode": TEXT},
    "food/nutrition": {"food": TEXT},
    "museum/departments": {},
    "museum/search": {"q": TEXT, "departmentId": WHOLE, "hasImages": FLAG},
    "museum/object": {"objectId": WHOLE, "returnImage": FLAG},
    "sky/flares": {"start_date": DAY, "end_date": DAY},
    "sky/ejections": {"start_date": DAY, "end_date": DAY},
    "icons/search": {"query": TEXT},
    "coins/price": {"instrument": TEXT},
    "coins/candles": {"instrument": TEXT, "bar": _one_of("1m", "1H", "1D"), "limit": _whole(100)},
    "stocks/history": {"ticker": TEXT, "period": _one_of("1mo", "1y", "5y"), "interval": _one_of("1d", "1wk", "1mo")},
    "math/sum": {"numbers": {"type": "array", "items": NUMBER}},
    "math/divide": {"numerator": NUMBER, "denominator": NUMBER},
    "math/mean": {"numbers": {"type": "array", "items": NUMBER}},
    "cars/price": {"brand_name": TEXT},
    "system/search": {"query": TEXT, "search_type": _one_of("packages", "options", "programs"), "limit": _whole(20)},
    "system/info": {"name": TEXT, "type": _one_of("package", "option")},
    "system/versions": {"package_name": TEXT, "limit": _whole(10)},
}


def synthetic_tools() -> ToolSnapshot:
    """Return the snapshot of the tools that synthetic references call."""
    return ToolSnapshot(
        source="synthetic",
        tools=tuple(
            Tool(name=name, input_schema={"type": "object", "properties": SCHEMAS[name]}) for name in sorted(SCHEMAS)
        ),
    )
