"""One bucket of an object store that speaks S3: its URI, its clients, and its errors in words for a person.

Endpoint and credentials come from the environment alone (AWS_ENDPOINT_URL, AWS_ACCESS_KEY_ID, ...). Neither is pickled, and
credentials are never stored or shown.
"""

import os
import random
import re
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import urlsplit

from sweepkit.store.files.base import LARGE_BYTES, ResultsError

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Store


class Patience(NamedTuple):
    """The seconds that one request may take, and the seconds for which it is sent again after 5xx, resets and silence."""

    request_s: float
    retry_s: float


FIRST = Patience(10, 5)
"""The patience of a first request: a person waits to hear that the address is wrong."""
RETRY_S = 120.0
"""The usual `retry_s`. It outlasts a restart of a server or a burst of `SlowDown`, which must not cost a worker its pack.
SWEEP_S3_RETRY_S overrides it."""


def usual(n_bytes: int = 0) -> Patience:
    """The patience for a request of so many bytes: a large one may take long. ResultsError if SWEEP_S3_RETRY_S is bad."""
    said = os.environ.get("SWEEP_S3_RETRY_S")
    try:
        retry_s = float(said) if said else RETRY_S
    except ValueError:
        retry_s = -1.0
    if not 0 <= retry_s <= 3600:
        raise ResultsError(f"SWEEP_S3_RETRY_S is {said!r}: it must be a number of seconds, 0 to 3600")
    return Patience(30 if n_bytes < LARGE_BYTES else 600, retry_s)


T = TypeVar("T")
_CODE, _STATUS = re.compile(r"<Code>(\w+)</Code>"), re.compile(r"status code: (\d+)")
_ELSEWHERE = ("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocationConstraintException")
_NO_CREDENTIALS = ("Missing AccessKeyId", "Missing SecretAccessKey", "metadata")
_PASSING = ("408", "429", "500", "502", "503", "504")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PIECE = re.compile(r"[A-Za-z0-9!_.*'()=-]+")


@dataclass(frozen=True)
class Bucket:
    """The objects of bucket `name` whose keys begin with `prefix/`, or all objects if there is no prefix."""

    name: str
    prefix: str

    @classmethod
    def parse(cls, uri: str) -> "Bucket":
        """The bucket at s3://bucket or s3://bucket/prefix. ResultsError for any other text."""
        rest = uri.partition("://")[2].rstrip("/")
        name, _, prefix = rest.partition("/")
        wanted = "write s3://BUCKET/PREFIX, as in s3://lab-results/eq3"
        if not name:
            raise ResultsError(f"results at {uri!r}: no bucket; {wanted}")
        if "@" in name:  # the URI is not repeated: it may hold a secret
            raise ResultsError(f"results at s3://...: credentials come from the environment (AWS_ACCESS_KEY_ID, ...); {wanted}")
        if not _BUCKET.fullmatch(name):
            allowed = "3 to 63 small letters, digits, dots and hyphens, a letter or digit at both ends"
            raise ResultsError(f"results at {uri!r}: {name!r} cannot name a bucket: {allowed}; {wanted}")
        for piece in prefix.split("/") if prefix else ():
            if not _PIECE.fullmatch(piece) or piece in (".", ".."):
                allowed = "letters, digits and !_.*'()=- between single slashes"
                raise ResultsError(f"results at {uri!r}: {piece!r} cannot be part of a prefix: {allowed}; {wanted}")
        return cls(name, prefix)

    @property
    def uri(self) -> str:
        return f"s3://{self.name}/{self.prefix}".rstrip("/")

    def client(self, patience: Patience) -> "S3Store":
        """A client for the bucket, kept while the environment stays the same. ResultsError if the endpoint is not an address."""
        named = tuple(sorted((k, v) for k, v in os.environ.items() if k.startswith("AWS_")))
        return _client(self, patience, endpoint(), named)

    def ask(self, work: "Callable[[S3Store], T]", patience: Patience | None = None) -> T:
        """The result of `work`, which is done again after an error that may pass. FileNotFoundError if an object is gone;
        ResultsError for all other errors, at the latest after `retry_s` and one more request."""
        from obstore.exceptions import BaseError

        patience = patience or usual()
        end, pause_s = time.monotonic() + patience.retry_s, 0.1
        while True:
            try:
                return work(self.client(patience))
            except (FileNotFoundError, BaseError) as error:
                said = str(error).split("\n\nDebug source")[0]
                code, status = (next(iter(pattern.findall(said)), "") for pattern in (_CODE, _STATUS))
                if isinstance(error, FileNotFoundError) and code != "NoSuchBucket":
                    raise FileNotFoundError(f"{self.uri}: no such object") from None
                # The library itself does not retry requests to delete, or answers that end too early.
                passing = status in _PASSING if status else "HTTP error" in said
                if not passing or time.monotonic() + pause_s > end:
                    raise ResultsError(self._words(code, status, said, patience)) from None
            time.sleep(pause_s * random.uniform(0.5, 1))
            pause_s = min(2 * pause_s, 5.0)

    def _words(self, code: str, status: str, said: str, patience: Patience) -> str:
        at = endpoint() or "AWS"
        about = code or (f"HTTP {status}" if status else "")
        if code == "NoSuchBucket":
            return f"there is no bucket {self.name!r} at {at}: create it, or correct --results or AWS_ENDPOINT_URL"
        if any(words in said for words in _NO_CREDENTIALS):
            return f"no credentials for {self.uri}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        if status in ("301", "307") or code in _ELSEWHERE:
            return f"the bucket {self.name!r} is in another region ({about} from {at}): set AWS_REGION to its region"
        if status in ("401", "403"):
            return (
                f"{at} refuses access to {self.uri} ({about}): check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
                "AWS_SESSION_TOKEN, and that they may list, read, write and delete there"
            )
        if "invalid path" in said:
            return f"{self.uri} holds an object whose key no file could have; remove it: {said.splitlines()[0]}"
        tail = f"check the network, AWS_ENDPOINT_URL and AWS_REGION ({_brief(said)})"
        if status.startswith("4"):
            return f"{at} refuses a request for {self.uri} ({about}): {tail}"
        answered = f"answers with errors ({about})" if status else "does not answer"
        return f"{at} {answered}, tried again for up to {patience.retry_s:g} s; results in {self.uri}: {tail}"


def endpoint() -> str:
    """The address of a store other than AWS's, else empty. ResultsError if it is not an address."""
    for variable in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"):
        if found := os.environ.get(variable, "").rstrip("/"):
            try:
                parts = urlsplit(found)
                usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1) and not parts.query
            except ValueError:
                usable = False
            if not usable or not found.isascii() or re.search(r"[\s@]", found):
                raise ResultsError(f"{variable} is no address of a server: write http://HOST:PORT or https://HOST")
            return found
    return ""


@lru_cache(maxsize=32)
def _client(bucket: Bucket, patience: Patience, at: str, environment: tuple[tuple[str, str], ...]) -> "S3Store":
    from obstore.exceptions import BaseError
    from obstore.store import S3Store

    known = dict(environment)
    region = known.get("AWS_REGION") or known.get("AWS_DEFAULT_REGION") or "us-east-1"
    authority = known.get("AWS_CA_BUNDLE")
    client: ClientConfig = {
        "allow_http": at.startswith("http://"),
        "connect_timeout": timedelta(seconds=5),
        "timeout": timedelta(seconds=patience.request_s),
    }
    if authority and not at.startswith("http://"):
        client["root_certificate"] = _bytes_of(authority)
    retry: RetryConfig = {  # `ask` retries after these, and hears Ctrl-C in between
        "max_retries": 2,
        "retry_timeout": timedelta(seconds=patience.retry_s),
    }
    config: S3Config = {"region": region, **({"endpoint": at} if at else {})}
    try:
        return S3Store(bucket.name, prefix=bucket.prefix or None, config=config, client_options=client, retry_config=retry)
    except BaseError as error:
        said = str(error).split("\n\nDebug source")[0]
        if any(words in said for words in _NO_CREDENTIALS):
            raise ResultsError(bucket._words("", "", said, patience)) from None
        raise ResultsError(f"results in {bucket.uri} cannot be opened: {_brief(said)}") from None


def _bytes_of(file: str) -> bytes:
    try:
        with open(file, "rb") as source:
            return source.read()
    except OSError as error:
        raise ResultsError(f"AWS_CA_BUNDLE names {file}, which cannot be read: {error.strerror}") from None


def server_time() -> float | None:
    """Seconds since 1970 by the endpoint's clock, to one second; None if the endpoint does not say."""
    import ssl
    from email.utils import parsedate_to_datetime
    from urllib.error import HTTPError

    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    at = endpoint() or f"https://s3.{region}.amazonaws.com"
    try:
        trusted = ssl.create_default_context(cafile=os.environ.get("AWS_CA_BUNDLE") or None) if at.startswith("https") else None
        with urllib.request.urlopen(urllib.request.Request(at, method="HEAD"), timeout=5, context=trusted) as answer:
            date = answer.headers["Date"]
    except HTTPError as error:  # a refusal is an answer
        with error:
            date = error.headers["Date"]
    except OSError:
        return None
    try:
        return parsedate_to_datetime(date).timestamp() if date else None
    except ValueError:
        return None


def _brief(said: str) -> str:
    return re.sub(r"<\?xml.*", "", " ".join(said.split()))[:300].strip()
