"""The app: `streamlit run app/main.py -- --results DIR`. Its server prepares pages while a browser is still loading."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import streamlit as st
from starlette.middleware import Middleware
from starlette.types import ASGIApp, Receive, Scope, Send

from analysis.data.source import ResultsError
from app.history import OneStepBack
from app.pages import HOME, PAGES, module_of
from app.preload import CHARTS, import_ahead, open_store
from app.shared import results_directory
from sweepkit.console.commands import name_entry_point


@asynccontextmanager
async def _lifespan(_: st.App) -> AsyncIterator[None]:
    with suppress(ResultsError):  # bad options: the page shows the error
        open_store(results_directory())
    yield


class _Ahead:
    """Imports a page's modules when the page is requested, a second before the browser has loaded Streamlit and runs the page."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (page := scope["path"].strip("/") or HOME) in PAGES:
            import_ahead(*CHARTS, module_of(page) if page != HOME else "app.parts.headlines")
        await self.app(scope, receive, send)


name_entry_point()
app = st.App("script.py", lifespan=_lifespan, middleware=[Middleware(_Ahead), Middleware(OneStepBack)])
