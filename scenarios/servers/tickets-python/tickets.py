"""Support tickets made from word lists, the same for the same seed, with full-text search.

As a program it writes them to a database file: `python tickets.py FILE`.
"""

import json
import random
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

STATUSES = ("open", "pending", "closed")
COUNT = 5_000
SEED = 20_261_130

Row = tuple[int, str, str, str, str, str]


class Ticket(TypedDict):
    """One ticket as a search shows it: without its body."""

    id: int
    title: str
    status: str
    created: str
    customer: str


class UnknownStatus(ValueError):
    """A status that no ticket can have."""


def build(count: int = COUNT, seed: int = SEED, *, file: str = ":memory:") -> sqlite3.Connection:
    """A database with `count` tickets in memory or a new file; equal arguments, equal tickets."""
    database = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
    database.executescript(SCHEMA)
    database.execute("begin")
    database.executemany("insert into ticket values (?, ?, ?, ?, ?, ?)", generate(count, seed))
    database.execute("insert into words(rowid, title, body) select id, title, body from ticket")
    database.execute("commit")
    return database


def opened(file: Path | None) -> sqlite3.Connection:
    """The tickets of a file that nobody writes, read without locks and kept in memory.

    Without a file they are made.
    """
    if file is None:
        return build()
    database = sqlite3.connect(
        f"{file.absolute().as_uri()}?mode=ro&immutable=1",
        uri=True,
        check_same_thread=False,
        isolation_level=None,
    )
    database.execute(CACHE)
    return database


def answer(
    database: sqlite3.Connection, query: str, *, status: str = "open", limit: int = 10
) -> str:
    """What `search` finds as JSON, the text that every desk answers with."""
    found = search(database, query, status=status, limit=limit)
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def search(
    database: sqlite3.Connection, query: str, *, status: str = "open", limit: int = 10
) -> Sequence[Ticket]:
    """The best matches for all words of `query`, best first; a query without a word finds none.

    Raises UnknownStatus for a status other than `any` and those of STATUSES.
    """
    if status != "any" and status not in STATUSES:
        known = ", ".join((*STATUSES, "any"))
        raise UnknownStatus(f'status "{status}" is not known; known are: {known}')
    match = quoted(query)
    if not match:
        return []
    rows = database.execute(SEARCH, (match, status, status, max(0, limit)))
    return [
        Ticket(id=id_, title=title, status=state, created=created, customer=customer)
        for id_, title, state, created, customer in rows
    ]


def quoted(query: str) -> str:
    """`query` as FTS5 phrases, one a word, so that none of it is read as FTS5 syntax."""
    return " ".join(f'"{word}"' for word in re.findall(r"\w+", query))


def generate(count: int = COUNT, seed: int = SEED) -> Iterator[Row]:
    """Rows (id, title, body, status, created, customer) from the word lists below."""
    pick = random.Random(seed).random
    for id_ in range(1, count + 1):
        topic, sentences = TOPICS[int(pick() * len(TOPICS))]
        product = PRODUCTS[int(pick() * len(PRODUCTS))]
        title = f"{TITLES[int(pick() * len(TITLES))]} {topic}: {product}"
        told = sentences[int(pick() * len(sentences))]
        tried = TRIED[int(pick() * len(TRIED))]
        asked = ASKED[int(pick() * len(ASKED))]
        order = int(pick() * 90_000) + 10_000
        body = f"{told} This is about {product}, order {order}. {tried} {asked}"
        created = f"2026-{int(pick() * 12) + 1:02d}-{int(pick() * 28) + 1:02d}"
        customer = f"{FIRST[int(pick() * len(FIRST))]} {LAST[int(pick() * len(LAST))]}"
        yield id_, title, body, STATUSES[int(pick() ** 2 * len(STATUSES))], created, customer


SCHEMA = """
create table ticket (
    id integer primary key, title text, body text, status text, created text, customer text
);
create virtual table words using fts5(title, body, content='ticket', content_rowid='id');
"""

CACHE = "pragma cache_size = -65536"

SEARCH = """
select ticket.id, ticket.title, ticket.status, ticket.created, ticket.customer
from words join ticket on ticket.id = words.rowid
where words match ? and (? = 'any' or ticket.status = ?)
order by words.rank, ticket.id limit ?
"""

TITLES = (
    "Question about", "Problem with", "Urgent:", "Again:", "No answer yet on", "Need help with",
    "Complaint about", "Follow-up on", "Cannot finish", "Wrong",
)  # fmt: skip

PRODUCTS = (
    "Team plan", "Starter plan", "Business plan", "Enterprise plan", "mobile app", "desktop app",
    "web dashboard", "data export", "calendar sync", "file storage", "chat widget", "reporting",
    "single sign-on", "audit log", "public API", "webhooks", "email campaigns", "gift card",
)  # fmt: skip

TOPICS = (
    ("refund", (
        "I asked for a refund two weeks ago and the money has not arrived on my card.",
        "The refund you sent is smaller than what I paid, and no fee was announced.",
        "We were charged twice this month and would like a refund for the second charge.",
    )),
    ("invoice", (
        "The invoice shows the wrong company address and our accounting cannot book it.",
        "We need last month's invoice as a PDF with the VAT number of our German branch.",
        "Your invoice lists twelve seats although only nine of our people have an account.",
    )),
    ("login", (
        "Since this morning the login page sends me back to the start without any message.",
        "My login code from the authenticator is refused, and the backup codes are used up.",
        "After the password reset the login works on the phone but not in the browser.",
    )),
    ("cancellation", (
        "I sent the cancellation before the end of the trial and was billed all the same.",
        "Please confirm the cancellation in writing; the button shows only a spinning wheel.",
        "We want to take back the cancellation and keep our data and our old price.",
    )),
    ("delivery", (
        "The parcel is marked as delivered, but neither we nor the neighbours have seen it.",
        "Half of the delivery is missing, and the tracking number belongs to someone else.",
        "The delivery date moved three times, and the event it was meant for is tomorrow.",
    )),
    ("payment", (
        "The payment fails with a declined card, while the bank says that nothing was asked.",
        "Our payment by bank transfer was booked to a different account of the same name.",
        "I would like to change the payment method from credit card to direct debit.",
    )),
    ("performance", (
        "Pages that took a second last week now take half a minute, mostly before noon.",
        "The search times out for accounts with more than a hundred thousand records.",
        "Uploads stop at ninety percent and start over, on every network we have tried.",
    )),
    ("account", (
        "A colleague has left, and nobody else may change the owner of the account.",
        "Two accounts exist for my address, and they should become one with all projects.",
        "Somebody from another country has signed in to my account; please lock it.",
    )),
    ("import", (
        "The import of our customer list stops at line 4,711 and names no reason.",
        "Umlauts and accents are broken after the import, although the file is UTF-8.",
        "Dates from the import are one day early for everybody west of Greenwich.",
    )),
    ("subscription", (
        "The subscription was renewed for a year although we had chosen to pay monthly.",
        "How do I move the subscription to another company without losing the history?",
        "The discount of our subscription ended earlier than the contract says.",
    )),
)  # fmt: skip

TRIED = (
    "I have cleared the cache and tried two other browsers.",
    "Restarting changed nothing, and your status page shows all green.",
    "The chat assistant sent me in a circle, so I am writing here.",
    "It worked until the update of last Tuesday.",
    "A screenshot and the log file are attached.",
    "Three of my colleagues see the same.",
    "Your phone line put me on hold for forty minutes.",
    "The help article describes a menu that I do not have.",
)

ASKED = (
    "Please call me back today.",
    "When can we expect a solution?",
    "Please escalate this to someone who can decide.",
    "I need an answer in writing.",
    "Can you check this on your side?",
    "Otherwise we will have to look for another provider.",
    "Thank you for your help.",
)

FIRST = (
    "Ada", "Amir", "Björn", "Carmen", "Chen", "Dmitri", "Elif", "Fatou", "Grace", "Hiro", "Ines",
    "Jamal", "Kofi", "Lena", "Mateo", "Nadia", "Olu", "Priya", "Quentin", "Rosa", "Sofia", "Tomas",
)  # fmt: skip

LAST = (
    "Adeyemi", "Bauer", "Costa", "Diallo", "Eriksson", "Fischer", "Garcia", "Haddad", "Ivanova",
    "Jansen", "Kim", "Lopez", "Moreau", "Nguyen", "Okafor", "Patel", "Rossi", "Sato", "Tanaka",
    "Ueda", "Varga", "Weber", "Yilmaz", "Zhang",
)  # fmt: skip


if __name__ == "__main__":
    build(file=sys.argv[1]).close()
