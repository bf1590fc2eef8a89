"""The verdicts on the claims, checked in the background for all pages that show some."""

import streamlit as st

from analysis.claims.following import Following
from app.shared import watched


@st.cache_resource
def following(results: str) -> Following:
    """The one of this server for a store. Open pages run again as verdicts become known."""
    found = Following(results)
    watched["claims"] = lambda: found.n_done
    return found
