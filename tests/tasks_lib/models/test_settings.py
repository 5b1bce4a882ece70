from __future__ import annotations

import pytest

from tasks_lib.models import ModelSettings, Prices, find_model, load_models
from tasks_lib.records import Usage
from tasks_lib.records.errors import ConfigurationError

GOOD = """
[run]
hints = true

[models.night]
base_url = "http://127.0.0.1:8000/v1/"
model = "qwen"
api_key_env = "NIGHT_KEY"
temperature = 0.0
seed = 7
image = { max_long_edge = 1456, multiple_of = 8, format = "jpeg" }

[models.night.price_per_million]
input = 0.5
output = 1.5

[models."gpt-5.4"]
base_url = "https://api.example.org/v1/chat/completions"
model = "gpt-5.4"
extra_body = { reasoning_effort = "low" }
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "matassay.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_models_are_read_by_name(file):
    models = load_models(file(GOOD))
    assert list(models) == ["gpt-5.4", "night"]
    night = models["night"]
    assert (night.base_url, night.seed, night.image.multiple_of) == ("http://127.0.0.1:8000/v1", 7, 8)
    assert night.price_per_million == Prices(input=0.5, output=1.5)
    assert models["gpt-5.4"].base_url == "https://api.example.org/v1"
    assert models["gpt-5.4"].extra_body == {"reasoning_effort": "low"}


def test_no_file_and_no_table_are_no_models(file):
    assert load_models(None) == {}
    assert load_models(file("[run]\nhints = true\n")) == {}


BASE = '[models.a]\nbase_url = "http://h/v1"\nmodel = "m"\n'


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (BASE + "temprature = 1\n", 4, "models.a.temprature: no such setting; known are api_key_env"),
        (BASE + "temperature = 3\n", 4, r"models.a.temperature: .*less than or equal to 2 \(got 3\)"),
        (BASE + 'seed = "x"\n', 4, "models.a.seed: .*integer.*got 'x'"),
        (BASE + 'image = { format = "gif" }\n', 4, "models.a.image.format: .*'png', 'jpeg' or 'webp'"),
        (BASE + "\n[models.a.image]\nmax_edge = 5\n", 6, "models.a.image.max_edge: no such setting"),
        (BASE + 'provider = "mystery"\n', 4, "models.a.provider: .*'openai', 'openai-responses', 'anthropic' or"),
        (BASE + 'provider = "anthropic"\nseed = 3\n', 1, "provider 'anthropic' takes no seed"),
        (BASE + 'provider = "openai-responses"\nseed = 3\n', 1, "provider 'openai-responses' takes no seed"),
        (BASE + 'provider = "anthropic"\ntemperature = 1.5\n', 1, "a temperature from 0 to 1, not 1.5"),
        (BASE + 'api_key_env = "sk-abc"\n', 4, "models.a.api_key_env: .*pattern"),
        (BASE + "extra_body = { messages = [] }\n", 4, "models.a.extra_body: extra_body may not hold messages"),
        (BASE + "extra_body = { tools = [] }\n", 4, "models.a.extra_body: extra_body may not hold tools"),
        (BASE + "extra_body = { day = 1979-05-27 }\n", 4, "models.a.extra_body: extra_body is sent as JSON"),
        (BASE + "extra_body = { top_p = nan }\n", 4, "models.a.extra_body: extra_body is sent as JSON"),
        ('[models.a]\nmodel = "m\\nX: y"\nbase_url = "http://h/v1"\n', 2, "models.a.model: it holds line ends"),
        ('[models.a]\nmodel = "m"\nbase_url = "http://h/v1\\r"\n', 3, "models.a.base_url: it holds line ends"),
        (BASE + "read_seconds = inf\n", 4, "models.a.read_seconds: .*finite"),
        (BASE + "price_per_million = { input = nan, output = 1 }\n", 4, "price_per_million.input: .*finite"),
        (BASE + "stall_seconds = 0\n", 4, "models.a.stall_seconds"),
        (BASE + "max_concurrency = 0\n", 4, "models.a.max_concurrency"),
        (BASE + "max_tokens = 0\n", 4, "models.a.max_tokens"),
        ('\n[models.a]\nmodel = "m"\n', 2, "models.a.base_url: is missing"),
        ('[models.a]\nmodel = "m"\nbase_url = "localhost:80"\n', 3, "is an http.s. address: write e.g."),
        ('[models.a]\nmodel = "m"\nbase_url = "http://u:secretword@h/v1"\n', 3, "no user, password"),
        ('[models.a]\nmodel = "m"\nbase_url = "http://h/v1?key=secretword"\n', 3, "no user, password"),
        ("[models.A_b]\n", 1, "lower-case letters, digits, dots and dashes, got 'A_b'"),
        ("[models]\na = 3\n", 1, "models.a: .*got 3"),
        ("models = 3\n", None, "write a table"),
        ("[models.a\n", None, "not valid TOML: .*line 1"),
    ],
)
def test_what_does_not_fit_is_named_with_file_line_and_field(file, text, line, said):
    path = file(text)
    with pytest.raises(ConfigurationError, match=said) as caught:
        load_models(path)
    assert str(caught.value).startswith(f"{path}:{line}: " if line else str(path))


@pytest.mark.parametrize(
    "line",
    ['base_url = "http://u:secretword@h/v1"', 'base_url = "u:secretword@h"', 'api_key_env = "sk-secretword"'],
)
def test_a_key_in_the_wrong_place_is_not_repeated(file, line):
    with pytest.raises(ConfigurationError) as caught:
        load_models(file(f'[models.a]\nmodel = "m"\n{line}\n'))
    assert "secretword" not in str(caught.value)


def test_an_unreadable_file_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot read the settings"):
        load_models(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xff\n")
    with pytest.raises(ConfigurationError, match="UTF-8"):
        load_models(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (Usage(input_tokens=1_000_000, output_tokens=2_000_000), 1.0 + 20.0),
        (Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=500_000), 0.5 + 0.05),
        (Usage(input_tokens=1_000_000, output_tokens=0, cache_write_tokens=500_000), 0.5 + 0.625),
        (
            Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=800_000, cache_write_tokens=900_000),
            0.08 + 0.25,
        ),
        (Usage(input_tokens=10, output_tokens=None), None),
        (Usage(), None),
    ],
)
def test_cost(usage, cost):
    prices = Prices(input=1.0, output=10.0, cached=0.1, cache_write=1.25)
    assert prices.cost(usage) == (None if cost is None else pytest.approx(cost))


def test_cached_tokens_cost_as_others_where_no_price_is_given():
    usage = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=700_000, cache_write_tokens=200_000)
    assert Prices(input=2.0, output=0.0).cost(usage) == pytest.approx(2.0)


def test_defaults_ask_for_nothing_special():
    plain = ModelSettings(base_url="http://h/v1", model="m")
    assert (plain.temperature, plain.seed, plain.image.max_long_edge) == (None, None, None)
    assert (plain.stream, plain.stream_usage, plain.stall_seconds) == (True, True, 60.0)
    assert (plain.image.enabled, plain.max_concurrency) == (True, 32)


def test_a_model_is_found_by_name_or_those_there_are_are_told() -> None:
    there = ModelSettings(base_url="http://127.0.0.1:9/v1", model="x")
    assert find_model({"a": there}, "a") is there
    with pytest.raises(
        ConfigurationError, match=r"judge 'z' is not in matassay.toml \(models there: a, b\): add \[mod"
    ):
        find_model({"b": there, "a": there}, "z", "judge")
    with pytest.raises(ConfigurationError, match=r"model 'z' .*models there: none"):
        find_model({}, "z")
