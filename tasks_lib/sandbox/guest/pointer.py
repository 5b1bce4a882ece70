"""The mouse, through the X server's XTEST extension."""

from __future__ import annotations

import time
from typing import Any

from Xlib import X

from .faults import RefusedError

LEFT, MIDDLE, RIGHT, WHEEL_UP, WHEEL_DOWN = 1, 2, 3, 4, 5
_DRAG_STEPS = 12
_DRAG_PAUSE = 0.012  # s between the steps of a drag: toolkits start one only after several motions
_CLICK_PAUSE = 0.02  # s that a button is held


class Pointer:
    """The mouse of a display; coordinates are screen pixels, origin top left.

    Parameters
    ----------
    display : Xlib.display.Display
        Connection that is used under the caller's lock.
    """

    def __init__(self, display: Any) -> None:
        self._display = display
        screen = display.screen()
        self._root = screen.root
        self.width, self.height = int(screen.width_in_pixels), int(screen.height_in_pixels)

    def position(self) -> tuple[int, int]:
        """Return where the pointer is."""
        seen = self._root.query_pointer()
        return int(seen.root_x), int(seen.root_y)

    def move(self, x: int, y: int) -> None:
        """Move to a pixel of the screen.

        Raises
        ------
        RefusedError
            If the pixel is not on the screen.
        """
        self._check(x, y)
        self._go(x, y)
        self._display.sync()

    def click(self, button: int, times: int = 1) -> None:
        """Press and let go a button, `times` times."""
        for _ in range(times):
            self._button(button, down=True)
            self._display.sync()
            time.sleep(_CLICK_PAUSE)
            self._button(button, down=False)
            self._display.sync()
            if times > 1:
                time.sleep(_CLICK_PAUSE)

    def drag(self, x: int, y: int) -> None:
        """Hold the left button from here to a pixel of the screen.

        Raises
        ------
        RefusedError
            If the pixel is not on the screen.
        """
        self._check(x, y)
        from_x, from_y = self.position()
        self._button(LEFT, down=True)
        try:
            self._display.sync()
            for step in range(1, _DRAG_STEPS + 1):
                time.sleep(_DRAG_PAUSE)
                share = step / _DRAG_STEPS
                self._go(round(from_x + (x - from_x) * share), round(from_y + (y - from_y) * share))
                self._display.sync()
            time.sleep(_DRAG_PAUSE)
        finally:
            self._button(LEFT, down=False)
            self._display.sync()

    def scroll(self, notches: int) -> None:
        """Turn the wheel where the pointer is; positive is up."""
        for _ in range(abs(notches)):
            self._button(WHEEL_UP if notches > 0 else WHEEL_DOWN, down=True)
            self._button(WHEEL_UP if notches > 0 else WHEEL_DOWN, down=False)
        self._display.sync()

    def _go(self, x: int, y: int) -> None:
        self._display.xtest_fake_input(X.MotionNotify, x=x, y=y)

    def _button(self, button: int, *, down: bool) -> None:
        self._display.xtest_fake_input(X.ButtonPress if down else X.ButtonRelease, button)

    def _check(self, x: int, y: int) -> None:
        if not (0 <= x < self.width and 0 <= y < self.height):
            limits = f"x is 0 to {self.width - 1}, y is 0 to {self.height - 1}"
            msg = f"({x}, {y}) is not on the screen of {self.width}x{self.height} pixels: {limits}"
            raise RefusedError(msg)
