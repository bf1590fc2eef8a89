"""One click is one step back: what Streamlit writes into the address after it takes the place of the browser's newest entry.

Streamlit writes the value of each control with an entry of its own, at first defaults too, one after the other. A page that is
opened, and a click on it, then leave up to ten entries, of which most name some of the controls alone. Here an address is an
entry of its own if it changes a value that was named before; one that names more, or fewer, takes the place of the last.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SCRIPT = b"""<script>
(() => {
  const push = history.pushState.bind(history), replace = history.replaceState.bind(history)
  const last = new Map(new URLSearchParams(location.search))
  let acted = false
  const note = (search) => new URLSearchParams(search).forEach((value, key) => last.set(key, value))
  history.pushState = history.replaceState = (state, title, url) => {
    const to = new URL(url ?? location.href, location.href)
    const changed = [...to.searchParams].some(([key, value]) => last.has(key) && last.get(key) !== value)
    const isStep = to.pathname !== location.pathname || changed || (acted && last.size === 0)
    note(to.search)
    isStep ? push(state, title, url) : replace(state, title, url)
  }
  addEventListener("pointerdown", () => { acted = true }, true)
  addEventListener("popstate", () => note(location.search))
})()
</script>"""


class OneStepBack:
    """Adds SCRIPT to the head of each page that the server sends."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        start: Message = {}
        held = bytearray()

        async def with_script(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_page(message):
                start.update(message)
                return
            if not start or message["type"] != "http.response.body":
                await send(message)
                return
            held.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            body = bytes(held).replace(b"<head>", b"<head>" + SCRIPT, 1)
            headers = [(name, value) for name, value in start["headers"] if name.lower() != b"content-length"]
            await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
            await send({**message, "body": body})

        if scope["type"] != "http" or scope["method"] != "GET" or "." in scope["path"] or scope["path"].startswith("/_stcore"):
            return await self.app(scope, receive, send)
        plain = [(name, value) for name, value in scope["headers"] if name.lower() != b"accept-encoding"]
        await self.app({**scope, "headers": plain}, receive, with_script)


def _is_page(message: Message) -> bool:
    headers = {name.lower(): value for name, value in message["headers"]}
    return message["status"] == 200 and headers.get(b"content-type", b"").startswith(b"text/html")
