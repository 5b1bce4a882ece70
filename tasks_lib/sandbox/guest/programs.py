"""The state in which programs start: everything that a desktop program reads before its first window.

A program that asks, animates, remembers or places itself by chance looks different each time. What keeps ours from it
stands here, program by program; where windows go is in ``openbox.xml`` beside this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from .nion import nion_files

_FONT = "DejaVu Sans"
# The heap is fixed: left alone, the start script of ImageJ takes a share of the host's free memory and shows it.
_JAVA_HEAP_MB = 1536

# No fonts of the host: a label has the same pixels wherever the font below is installed.
_FONTCONFIG = f"""<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
  <match target="pattern">
    <test qual="any" name="family" compare="eq"><string>sans-serif</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>{_FONT}</string></edit>
  </match>
  <match target="pattern">
    <test qual="any" name="family" compare="eq"><string>serif</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>DejaVu Serif</string></edit>
  </match>
  <match target="pattern">
    <test qual="any" name="family" compare="eq"><string>monospace</string></test>
    <edit name="family" mode="prepend" binding="strong"><string>{_FONT} Mono</string></edit>
  </match>
  <match target="font">
    <edit name="antialias" mode="assign"><bool>true</bool></edit>
    <edit name="hinting" mode="assign"><bool>true</bool></edit>
    <edit name="autohint" mode="assign"><bool>false</bool></edit>
    <edit name="hintstyle" mode="assign"><const>hintslight</const></edit>
    <edit name="rgba" mode="assign"><const>none</const></edit>
    <edit name="lcdfilter" mode="assign"><const>lcdnone</const></edit>
  </match>
</fontconfig>
"""

# Fityk (wxWidgets) and every other GTK 3 program. Dots per inch are in 1024ths.
_GTK3 = f"""[Settings]
gtk-font-name={_FONT} 10
gtk-theme-name=Adwaita
gtk-icon-theme-name=Adwaita
gtk-cursor-theme-name=Adwaita
gtk-xft-dpi=98304
gtk-xft-antialias=1
gtk-xft-hinting=1
gtk-xft-hintstyle=hintslight
gtk-xft-rgba=none
gtk-cursor-blink=0
gtk-enable-animations=0
gtk-recent-files-enabled=0
"""

# Gwyddion (GTK 2). Tooltips stay: they name tools that have no label.
_GTK2 = f"""gtk-font-name="{_FONT} 10"
gtk-theme-name="Raleigh"
gtk-icon-theme-name="Adwaita"
gtk-xft-dpi=98304
gtk-xft-antialias=1
gtk-xft-hinting=1
gtk-xft-hintstyle="hintslight"
gtk-xft-rgba="none"
gtk-cursor-blink=0
gtk-recent-files-limit=0
"""

# ImageJ: where its bar opens, pixels; it would else stand where the middle of the screen is.
_IMAGEJ = "ij.x=16\nij.y=8\n"

# GTK 2 loads its bridge as a module, GTK 3 has it built in, Qt waits for a screen reader unless it is told not to.
_ACCESSIBLE: Mapping[str, str] = {"GTK_MODULES": "gail:atk-bridge", "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1"}

# Path below the home folder to content; Nion Swift's files, which name folders, are made in `nion`.
FILES: Mapping[str, str] = {
    ".config/fontconfig/fonts.conf": _FONTCONFIG,
    ".config/gtk-3.0/settings.ini": _GTK3,
    ".gtkrc-2.0": _GTK2,
    ".imagej/IJ_Prefs.txt": _IMAGEJ,
}


def write_settings(home: Path, work: Path) -> None:
    """Write the settings of every program into a fresh home folder."""
    for name, text in {**FILES, **nion_files(str(home), str(work))}.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def program_environment(home: str, *, accessibility: bool = False) -> dict[str, str]:
    """Return what programs are told by their environment.

    They never ask a network, an input method or a graphics card, and an accessibility bus only where that is wanted.

    Parameters
    ----------
    home : str
        The home folder; Java does not look at ``HOME``.
    accessibility : bool
        Whether they are to serve an accessibility tree.
    """
    java = (
        f"-Duser.home={home}",
        f"-Xmx{_JAVA_HEAP_MB}m",
        "-Dawt.useSystemAAFontSettings=on",
        "-Dsun.java2d.opengl=false",
        "-Dsun.java2d.uiScale=1",
    )
    return {
        **(_ACCESSIBLE if accessibility else {"NO_AT_BRIDGE": "1"}),
        "GTK_IM_MODULE": "gtk-im-context-simple",
        "GTK2_RC_FILES": f"{home}/.gtkrc-2.0",
        "GDK_BACKEND": "x11",
        "GDK_SCALE": "1",
        "GTK_OVERLAY_SCROLLING": "0",
        "QT_IM_MODULE": "none",
        "QT_QPA_PLATFORM": "xcb",
        "QT_X11_NO_MITSHM": "1",
        "QT_FONT_DPI": "96",
        "QT_SCALE_FACTOR": "1",
        "XMODIFIERS": "@im=none",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "_JAVA_OPTIONS": " ".join(java),
    }
