"""The verdicts on the claims, checked in the background for all pages that show some."""

import streamlit as st

from analysis.claims.background_check import Following
from app.shared import renewing, watched


@st.cache_resource
def following(results: str) -> Following:
    """The one of this server for a store. Open pages run again as verdicts become known."""
    found = Following(results)

    def n_done() -> int:
        found.resume()  # open pages ask every few seconds, so that a check that had to wait starts without a visit
        return found.n_done

    watched["claims"] = n_done
    _followed.append(found)
    return found


_followed: list[Following] = []


def _renew() -> None:
    while _followed:
        _followed.pop().end()
    following.clear()


renewing.append(_renew)
