"""The exception of pywin32, with the arguments that it has there."""

from __future__ import annotations

EXCEPTION = -2147352567  # DISP_E_EXCEPTION
TYPE_MISMATCH = -2147352571  # DISP_E_TYPEMISMATCH
INVALID = -2147024809  # E_INVALIDARG
GONE = -2147023174  # RPC_S_SERVER_UNAVAILABLE
NOT_INITIALISED = -2147221008  # CO_E_NOTINITIALIZED
WRONG_THREAD = -2147417842  # RPC_E_WRONG_THREAD


class com_error(Exception):  # noqa: N801, N818 - pywin32's name
    """What COM raises: (hresult, text, excepinfo, argerror)."""

    @property
    def hresult(self) -> int:
        return int(self.args[0])

    @property
    def strerror(self) -> str:
        return str(self.args[1])

    @property
    def excepinfo(self) -> object:
        return self.args[2]

    @property
    def argerror(self) -> object:
        return self.args[3]


def refused(words: str) -> com_error:
    """Return the error of a program that did not take what it was told."""
    return com_error(EXCEPTION, "Exception occurred.", (0, "CX.Application", words, None, 0, INVALID), None)
