"""Names that generated code must not give to fields, classes and tools.

The lists are frozen, not read from what happens to be installed, so that the same spec gives the same names everywhere.
Tests compare them with the installed Pydantic and Python.
"""

from __future__ import annotations

from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of a text, for lists that would be unreadable one to a line."""
    return frozenset(text.split())


_PYDANTIC: Final = words("""
    Config construct copy dict from_orm json model_computed_fields model_config model_construct model_copy model_dump
    model_dump_json model_extra model_fields model_fields_set model_json_schema model_parametrized_name model_post_init
    model_rebuild model_validate model_validate_json model_validate_strings mro parse_file parse_obj parse_raw register
    schema schema_json update_forward_refs validate
    """)
_ANNOTATIONS: Final = words("""
    Annotated Any BaseModel ConfigDict Field Literal RenamedModel RootModel ToolModel TypeAlias
    bool dict float int list object str
    """)
RESERVED_FIELDS: Final = _PYDANTIC | _ANNOTATIONS | {"self"}
"""Names that no field has: attributes of Pydantic's BaseModel (2.11 to 2.14) and of its metaclass, what annotations and
class bodies mention, and the first parameter of the constructor that type checkers infer."""

RESERVED_CLASSES: Final = _ANNOTATIONS | words("WireDate WireDateTime WireTime WireUUID")
"""Names that no generated class has."""

_STDLIB: Final = words("""
    abc aifc annotationlib antigravity argparse array ast asynchat asyncio asyncore atexit audioop base64 bdb binascii
    bisect builtins bz2 cProfile calendar cgi cgitb chunk cmath cmd code codecs codeop collections colorsys compileall
    compression concurrent configparser contextlib contextvars copy copyreg crypt csv ctypes curses dataclasses
    datetime dbm decimal difflib dis distutils doctest email encodings ensurepip enum errno faulthandler fcntl filecmp
    fileinput fnmatch fractions ftplib functools gc genericpath getopt getpass gettext glob graphlib grp gzip hashlib
    heapq hmac html http idlelib imaplib imghdr imp importlib inspect io ipaddress itertools json keyword lib2to3
    linecache locale logging lzma mailbox mailcap marshal math mimetypes mmap modulefinder msilib msvcrt
    multiprocessing netrc nis nntplib nt ntpath nturl2path numbers opcode operator optparse os ossaudiodev pathlib pdb
    pickle pickletools pipes pkgutil platform plistlib poplib posix posixpath pprint profile pstats pty pwd py_compile
    pyclbr pydoc pydoc_data pyexpat queue quopri random re readline reprlib resource rlcompleter runpy sched secrets
    select selectors shelve shlex shutil signal site smtpd smtplib sndhdr socket socketserver spwd sqlite3 sre_compile
    sre_constants sre_parse ssl stat statistics string stringprep struct subprocess sunau symtable sys sysconfig syslog
    tabnanny tarfile telnetlib tempfile termios textwrap this threading time timeit tkinter token tokenize tomllib
    trace traceback tracemalloc tty turtle turtledemo types typing unicodedata unittest urllib uu uuid venv warnings
    wave weakref webbrowser winreg winsound wsgiref xdrlib xml xmlrpc zipapp zipfile zipimport zlib zoneinfo
    """)
_PACKAGES: Final = words("""
    annotated_types anthropic boto3 codegen conftest google jsonschema jsonschema_rs mcp oci openai opentelemetry
    psycopg pydantic pydantic_core pytest typing_extensions
    """)
_HANDLERS: Final = words("""
    Any Awaitable Call Callable Content Dispatcher Handlers Literal Protocol Result ToolError
    bool bytes classmethod dict float frozenset int list object property set staticmethod str super tuple type
    """)
RESERVED_TOOLS: Final = _STDLIB | _PACKAGES | _HANDLERS
"""Names that no module and no handler has: public modules of Python 3.11 to 3.14 and packages that a service imports,
which a file of that name hides when its folder is on the path and a function hides inside its file, and what handler
files and the protocol of handlers mention."""

RESERVED_FILES: Final = words("""
    dispatch dispatcher generated handlers init main models payloads runtime schemas
    aux com0 com1 com2 com3 com4 com5 com6 com7 com8 com9 con lpt0 lpt1 lpt2 lpt3 lpt4 lpt5 lpt6 lpt7 lpt8 lpt9 nul prn
    """)
"""Names that no module has in any case of letters: parts of the generated package, and devices of Windows."""
