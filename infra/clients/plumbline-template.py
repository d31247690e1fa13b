"""Client of a Plumbline service: validates and enriches emails, phone numbers, IP addresses and domains.

Needs Python 3.9 or later and nothing else. Generated from the OpenAPI document: do not edit it.

    client = Client("https://HOST", key="svc_live_...")
    print(client.look_up_email(email="ada@example.com")["valid"])

    batch = client.create_batch(product="email", file="list.csv", max_credits=1000)
    batch = client.wait(batch["id"], on_progress=lambda batch: print(batch["progress"]))
    for row in client.rows(batch["id"]):
        print(row["row"], row["result"])
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import io
import json
import os
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, BinaryIO, Callable, Dict, Iterator, Optional, Tuple, Union

_TEMPORARY = (429, 502, 503, 504)
_RETRY_AFTER_MAX_SECONDS = 60.0
_LINE_MAX_BYTES = 16 * 1024 * 1024
_CHUNK_BYTES = 64 * 1024
_UNFINISHED = ("analyzing", "running", "paused", "finalizing", "canceling")
_WEBHOOK_TOLERANCE_SECONDS = 300


class RefusedError(Exception):
    """The service refused; the message says what to do."""

    def __init__(self, status: int, error: str, message: str, request_id: Optional[str], retry_after: Optional[float]):
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.request_id = request_id
        self.retry_after = retry_after


# ERRORS


class ConnectionFailed(Exception):
    """No complete response: the service could not be reached, took too long, or the connection broke."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that the key is sent to no other address."""

    def redirect_request(self, *_: Any) -> None:
        return None


class Client:
    """Calls the service with one key. Any method may raise RefusedError or ConnectionFailed."""

    def __init__(self, base_url: str, key: str, timeout: float = 30.0, retries: int = 2):
        """base_url: address of the service, without a path. timeout: seconds without data, beyond a `wait`. retries: attempts after the first."""
        if urllib.parse.urlsplit(base_url).scheme not in ("http", "https"):
            raise ValueError("base_url begins with https:// or http://")
        self._base = base_url.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._retries = retries
        self._opener = urllib.request.build_opener(_NoRedirect())

    def wait(
        self, id: str, on_progress: Optional[Callable[[Dict[str, Any]], None]] = None, every_seconds: float = 1.0
    ) -> Dict[str, Any]:
        """Returns the batch when it has ended, or has stopped at `ready`."""
        while True:
            batch = self.read_batch(id)
            if on_progress is not None:
                on_progress(batch)
            if batch["status"] not in _UNFINISHED:
                return batch
            time.sleep(every_seconds)

    def rows(self, id: str, only: Optional[str] = None, after: int = 0) -> Iterator[Dict[str, Any]]:
        """The rows of a batch that have results so far. If the connection breaks, continues after the last row."""
        failures = 0
        while True:
            try:
                with self.read_results(id, format="ndjson", only=only, after=after) as body:
                    for line in iter(lambda: body.readline(_LINE_MAX_BYTES), b""):
                        if not line.endswith(b"\n"):
                            raise http.client.IncompleteRead(line)
                        row = json.loads(line)
                        yield row
                        after = row["row"]
                        failures = 0
                return
            except (OSError, http.client.HTTPException) as error:
                if failures >= self._retries:
                    raise ConnectionFailed(f"The connection broke: {error}") from error
                failures += 1
                time.sleep(0.25 * 2**failures)

    def _call(
        self,
        method: str,
        path: str,
        query: Dict[str, Any],
        headers: Dict[str, Optional[str]],
        body: Optional[Dict[str, Any]] = None,
        file: Any = None,
        file_name: Optional[str] = None,
    ) -> Any:
        asked = {name: _text(value) for name, value in query.items() if value is not None}
        url = self._base + path + ("?" + urllib.parse.urlencode(asked) if asked else "")
        sent = {name: value for name, value in headers.items() if value is not None}
        sent["Authorization"] = "Bearer " + self._key
        # An open file or stream can be read once.
        most = 0 if hasattr(file, "read") else self._retries
        # The service sends nothing while it waits.
        timeout = self._timeout + (query.get("wait") or 0)
        tries = 0
        while True:
            try:
                return self._once(method, url, sent, body, file, file_name, timeout)
            except RefusedError as error:
                running = error.status == 409 and error.retry_after is not None and "Idempotency-Key" in sent
                if tries >= most or not (error.status in _TEMPORARY or running):
                    raise
                seconds = error.retry_after
                if seconds is None:
                    seconds = 0.25 * 2**tries * (0.5 + random.random())
                if seconds > _RETRY_AFTER_MAX_SECONDS:
                    raise
            except ConnectionFailed:
                if tries >= most:
                    raise
                seconds = 0.25 * 2**tries * (0.5 + random.random())
            tries += 1
            time.sleep(seconds)

    def _once(
        self,
        method: str,
        url: str,
        headers: Dict[str, str],
        body: Any,
        file: Any,
        file_name: Optional[str],
        timeout: float,
    ) -> Any:
        sent = dict(headers)
        data: Any = None
        if file is not None:
            boundary = "plumbline-" + uuid.uuid4().hex
            sent["Content-Type"] = "multipart/form-data; boundary=" + boundary
            data = _form(body or {}, file, file_name, boundary)
        elif body is not None:
            sent["Content-Type"] = "application/json"
            data = json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, headers=sent, method=method)
        try:
            response = self._opener.open(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            with error:
                raise _refusal(error) from None
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionFailed(f"The service could not be reached: {error}") from error
        kind = response.headers.get_content_type()
        if response.status != 204 and kind != "application/json":
            return _File(response)
        try:
            with response:
                text = response.read()
        except (OSError, http.client.HTTPException) as error:
            raise ConnectionFailed(f"The connection broke: {error}") from error
        return json.loads(text) if text else None

    # OPERATIONS


def verify_webhook(secret: str, headers: Any, body: Union[str, bytes]) -> Dict[str, Any]:
    """Checks that a message comes from the service (Standard Webhooks 1.0), and parses it; raises ValueError.

    headers: a mapping with lower-case or case-insensitive names. body: unchanged, byte for byte.
    """
    raw = body.encode() if isinstance(body, str) else body
    name, timestamp, signatures = (headers.get("webhook-" + part) for part in ("id", "timestamp", "signature"))
    if not name or not timestamp or not signatures:
        raise ValueError("the message has not the headers of a webhook")
    if not str(timestamp).isdigit() or abs(time.time() - int(timestamp)) > _WEBHOOK_TOLERANCE_SECONDS:
        raise ValueError("the message is too old or too new")
    key = base64.b64decode(secret[6:] if secret.startswith("whsec_") else secret)
    digest = hmac.new(key, f"{name}.{timestamp}.".encode() + raw, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    if not any(hmac.compare_digest(expected.encode(), given.encode()) for given in signatures.split(" ")):
        raise ValueError("the message is not signed by the secret of this endpoint")
    return json.loads(raw)


class _Body(io.RawIOBase):
    """The body of a response. `HTTPResponse` itself ends, as if it were whole, where the connection broke between lines."""

    def __init__(self, response: http.client.HTTPResponse):
        super().__init__()
        self._response = response
        # None if it comes in chunks, which say by themselves when they end.
        self._left = response.length

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        most = len(buffer) if self._left is None else min(len(buffer), self._left)
        piece = self._response.read1(most) if most > 0 else b""
        if self._left is not None:
            if most > 0 and not piece:
                raise http.client.IncompleteRead(b"", self._left)
            self._left -= len(piece)
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._response.close()
        super().close()


class _File(io.BufferedReader):
    """A response that is read as a file; a read raises where the connection breaks."""

    def __init__(self, response: http.client.HTTPResponse):
        super().__init__(_Body(response))
        self.status = response.status
        self.headers = response.headers


def _text(value: Any) -> str:
    """A value as text for a query."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return str(value)


def _quoted(value: Any) -> str:
    """A value as a segment of a path."""
    return urllib.parse.quote(str(value), safe="")


def _refusal(error: urllib.error.HTTPError) -> RefusedError:
    try:
        text = error.read(100_000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException):
        text = ""
    try:
        said = json.loads(text)
        message, name = str(said["message"]), str(said["error"])
    except (ValueError, KeyError, TypeError):
        message, name = f"The service answered {error.code}: {text[:2000]}", str(error.reason)
    after = error.headers.get("Retry-After", "")
    seconds = float(after) if after.isdigit() else None
    kind = _ERRORS.get(error.code, RefusedError)
    return kind(error.code, name, message, error.headers.get("X-Request-Id"), seconds)


def _form(fields: Dict[str, Any], file: Any, file_name: Optional[str], boundary: str) -> Iterator[bytes]:
    """The bytes of a form (RFC 7578); the file is read in pieces."""
    for name, value in fields.items():
        text = value if isinstance(value, str) else json.dumps(value)
        yield f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{text}\r\n'.encode()
    shown = file_name or (os.path.basename(os.fspath(file)) if _is_path(file) else "list.csv")
    escaped = shown.replace("\n", "%0A").replace("\r", "%0D").replace('"', "%22")
    yield (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{escaped}"\r\n'
        "Content-Type: application/octet-stream\r\n\r\n"
    ).encode()
    if isinstance(file, (bytes, bytearray)):
        yield bytes(file)
    elif _is_path(file):
        with open(file, "rb") as opened:
            yield from _pieces(opened)
    else:
        yield from _pieces(file)
    yield f"\r\n--{boundary}--\r\n".encode()


def _is_path(file: Any) -> bool:
    return isinstance(file, (str, os.PathLike))


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    while True:
        piece = file.read(_CHUNK_BYTES)
        if not piece:
            return
        yield piece
