"""Strategies for every document, built from the models themselves, with the values that break naive JSON."""

import types
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import annotated_types
import pytest
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, BeforeValidator, StringConstraints
from pydantic.fields import FieldInfo

from tasks_lib.records import Modality, Outcome, Record, RunManifest, Task, Verdict, check_relative_path
from tasks_lib.records.identifiers import RelativePath, Sha256, Slug

# Lone surrogates, line and paragraph separators, a byte-order mark, NUL, and characters beyond the first plane.
TEXT = st.text(
    st.one_of(st.characters(), st.sampled_from("\ud800\udcff\udfff\u2028\u2029\ufeff\x00\x85𝒜é µÅ°")), max_size=12
)
FLOATS = st.one_of(st.floats(), st.sampled_from([float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, 1e308]))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), FLOATS, TEXT),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.tuples(inner, inner), st.dictionaries(TEXT, inner, max_size=3)
    ),
    max_leaves=6,
)
TIMES = st.builds(
    lambda time, zone: time.replace(tzinfo=zone),
    st.datetimes(datetime(1970, 1, 2), datetime(2100, 1, 1)),  # noqa: DTZ001 - the zone is drawn beside it
    st.one_of(
        st.just(UTC),
        st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
    ),
)
PATHS = st.lists(
    st.text(
        st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="/\\:"), min_size=1, max_size=8
    ),
    min_size=1,
    max_size=3,
).map("/".join)

# By pattern, since strategies made from the pattern itself are slow; pydantic checks that they fit.
NAMES = {
    get_args(Slug)[1].pattern: st.builds(str.__add__, st.sampled_from("az09"), st.text("az09.-", max_size=8)),
    get_args(Sha256)[1].pattern: st.binary(min_size=32, max_size=32).map(bytes.hex),
}


def good_path(value: str) -> bool:
    try:
        check_relative_path(value)
    except ValueError:
        return False
    return True


def of_model(model: type[Record], **given: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Draw a value for every field, or leave a field with a default out, and build the model."""
    if model in SPECIAL and not given:
        return SPECIAL[model]()
    required, optional = {}, {}
    for name, field in model.model_fields.items():
        if name == "schema_version":
            continue
        drawn = given[name] if name in given else of_field(field)
        (required if field.is_required() or name in given else optional)[name] = drawn
    values = st.fixed_dictionaries(required, optional=optional)

    # A composite: hypothesis would spend seconds on writing out the nested strategies.
    @st.composite
    def build(draw: st.DrawFn) -> Record:
        return model(**draw(values))

    return build()


def of_field(field: FieldInfo) -> st.SearchStrategy[Any]:
    return of_annotation(field.annotation, tuple(field.metadata))


def of_annotation(kind: Any, metadata: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if get_origin(kind) is Annotated:
        inner, *more = get_args(kind)
        return of_annotation(inner, (*more, *metadata))
    bounds: dict[str, Any] = {}
    pattern = None
    for item in metadata:
        for part in item if isinstance(item, annotated_types.GroupedMetadata) else (item,):
            for name in ("ge", "gt", "le", "lt", "min_length", "max_length"):
                if getattr(part, name, None) is not None:
                    bounds[name] = getattr(part, name)
        if isinstance(item, StringConstraints) and item.pattern is not None:
            pattern = item.pattern
        if isinstance(item, FieldInfo):
            return of_annotation(kind, (*[m for m in metadata if m is not item], *item.metadata))
    if set(get_args(RelativePath)[1:]) & {item for item in metadata if callable(getattr(item, "func", None))}:
        return PATHS.filter(good_path)
    if kind is Any:
        return JSON
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        options = [of_annotation(option, metadata) for option in get_args(kind) if option is not type(None)]
        if any(isinstance(item, BeforeValidator) for item in metadata):
            options.append(FLOATS)
        return st.one_of(*([st.none()] if type(None) in get_args(kind) else []), *options)
    if origin is Literal:
        return st.sampled_from(get_args(kind))
    if origin is tuple:
        arguments = get_args(kind)
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            shortest = bounds.get("min_length", 0)
            return st.lists(of_annotation(arguments[0], ()), min_size=shortest, max_size=max(2, shortest)).map(tuple)
        return st.tuples(*(of_annotation(argument, ()) for argument in arguments))
    if origin is dict:
        key, value = get_args(kind)
        keys = TEXT if key is str else of_annotation(key, ())
        return st.dictionaries(keys, of_annotation(value, ()), min_size=bounds.get("min_length", 0), max_size=2)
    if kind is AwareDatetime:
        return TIMES
    if issubclass(kind, BaseModel):
        return of_model(kind)
    if issubclass(kind, Enum):
        return st.sampled_from(kind)
    if kind is bool:
        return st.booleans()
    if kind is int:
        low = bounds.get("ge", bounds["gt"] + 1 if "gt" in bounds else None)
        return st.integers(low, bounds.get("le"))
    if kind is float:
        low = bounds.get("ge", bounds.get("gt"))
        return st.floats(low, bounds.get("le"), exclude_min="gt" in bounds, allow_nan=False, allow_infinity=False)
    if kind is str and pattern is not None:
        return NAMES[pattern]
    if kind is str:
        shortest = bounds.get("min_length", 0)
        return TEXT.map(lambda text: text + "x" * max(0, shortest - len(text)))
    raise NotImplementedError(kind)


def verdicts() -> st.SearchStrategy[Verdict]:
    """Draw criteria first; the sums and the outcome follow from them."""
    criteria = st.lists(of_field_item(Verdict, "criteria"), min_size=1, max_size=3).map(tuple)

    @st.composite
    def build(draw: st.DrawFn) -> Verdict:
        records = draw(criteria)
        return draw(
            of_model(
                Verdict,
                criteria=st.just(records),
                points=st.just(sum(record.points for record in records)),
                earned=st.just(sum(record.earned for record in records)),
                outcome=st.just(Outcome.PASS if all(record.passed for record in records) else Outcome.FAIL),
            )
        )

    return build()


def manifests() -> st.SearchStrategy[RunManifest]:
    specs = st.lists(of_field_item(RunManifest, "episodes"), min_size=1, max_size=3, unique_by=lambda spec: spec.id)
    return of_model(RunManifest, episodes=specs.map(tuple))


def tasks() -> st.SearchStrategy[Task]:
    stages = st.lists(of_field_item(Task, "stages"), min_size=1, max_size=3)

    @st.composite
    def build(draw: st.DrawFn) -> Task:
        found = draw(stages)
        modality = Modality.MIXED if len(found) > 1 else found[0].modality
        if modality is Modality.MIXED and len(found) == 1:
            found *= 2
        return draw(of_model(Task, stages=st.just(tuple(found)), modality=st.just(modality)))

    return build()


def of_field_item(model: type[Record], name: str) -> st.SearchStrategy[Any]:
    return of_annotation(get_args(model.model_fields[name].annotation)[0], ())


SPECIAL = {Verdict: verdicts, RunManifest: manifests, Task: tasks}


@pytest.fixture(scope="session")
def documents():
    """The strategy of a document class."""
    return of_model
