"""Where the public databases answer; a table ``[databases]`` in the settings names others."""

from __future__ import annotations

from pydantic import Field

from tasks_lib.records import Record, Text


class Upstreams(Record):
    """Base addresses of live databases. Keys are not part of it: they come from the environment."""

    mp: Text = Field(default="https://api.materialsproject.org", description="Materials Project REST")
    open_data: Text = Field(
        default="https://s3.us-east-1.amazonaws.com", description="S3 host of Materials Project's open-data buckets"
    )
    oqmd: Text = Field(default="https://oqmd.org", description="root of OQMD, without /oqmdapi")
    optimade: list[Text] = Field(
        default=["https://optimade.materialsproject.org", "https://oqmd.org/optimade"],
        min_length=1,
        description="base addresses of OPTIMADE providers, without /v1",
    )
