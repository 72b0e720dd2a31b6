"""The classes and codes of known tools, each with its error type."""

from __future__ import annotations

from unstuck.diagnosis.kinds import ErrorType

__all__ = ["CLASSES", "CODES", "CURL", "GENERIC"]

_CLASSES: dict[ErrorType, str] = {
    ErrorType.SYNTAX_ERROR: "SyntaxError IndentationError TabError ParseError",
    ErrorType.TYPE_ERROR: "TypeError ClassCastException TypeMismatchError ArrayStoreException",
    ErrorType.IMPORT_ERROR: (
        "ImportError ModuleNotFoundError ClassNotFoundException NoClassDefFoundError LoadError "
        "PackageNotFoundError UnsatisfiedLinkError"
    ),
    ErrorType.ATTRIBUTE_ERROR: "AttributeError NoMethodError NoSuchMethodError NoSuchFieldError NoSuchMethodException",
    ErrorType.KEY_ERROR: "KeyError NoSuchElementException KeyNotFoundException",
    ErrorType.VALUE_ERROR: (
        "ValueError JSONDecodeError UnicodeDecodeError UnicodeEncodeError NumberFormatException "
        "RangeError IllegalArgumentException ArgumentError DecimalException InvalidOperation URIError "
        "FormatException"
    ),
    ErrorType.INDEX_ERROR: (
        "IndexError IndexOutOfBoundsException ArrayIndexOutOfBoundsException StringIndexOutOfBoundsException"
    ),
    ErrorType.ASSERTION_ERROR: "AssertionError AssertionFailedError ComparisonFailure ExpectationNotMetError",
    ErrorType.TIMEOUT_ERROR: (
        "TimeoutError Timeout ReadTimeout ConnectTimeout TimeoutException TimeoutExpired "
        "APITimeoutError SocketTimeoutException ReadTimeoutError ConnectTimeoutError "
        "HttpTimeoutException PoolTimeout"
    ),
    ErrorType.CONNECTION_ERROR: (
        "ConnectionError ConnectionRefusedError ConnectionResetError ConnectionAbortedError "
        "BrokenPipeError ConnectError ConnectException UnknownHostException APIConnectionError "
        "gaierror NewConnectionError MaxRetryError SSLError SSLCertVerificationError "
        "SSLHandshakeException SocketException NoRouteToHostException RemoteDisconnected ReadError "
        "RemoteProtocolError"
    ),
    ErrorType.HTTP_ERROR: (
        "HTTPError HTTPStatusError HttpError RateLimitError APIStatusError AuthenticationError "
        "NotFoundError PermissionDeniedError BadRequestError InternalServerError HTTPException "
        "AxiosError ClientResponseError"
    ),
    ErrorType.DATABASE_ERROR: (
        "DatabaseError OperationalError IntegrityError ProgrammingError DataError InterfaceError "
        "SQLException SqlException NotSupportedError SQLSyntaxErrorException PostgresError "
        "UndefinedTable UniqueViolation DoesNotExist SequelizeDatabaseError "
        "PrismaClientKnownRequestError InvalidRequestError SqliteError"
    ),
    ErrorType.VALIDATION_ERROR: (
        "ValidationError ZodError ValidationException SchemaError ConstraintViolationException "
        "RequestValidationError MethodArgumentNotValidException"
    ),
    ErrorType.RUNTIME_ERROR: (
        "RuntimeError NameError UnboundLocalError ReferenceError RecursionError ZeroDivisionError "
        "OSError FileNotFoundError PermissionError IsADirectoryError NotADirectoryError "
        "FileExistsError MemoryError NotImplementedError SystemError NullPointerException "
        "IllegalStateException RuntimeException StackOverflowError OutOfMemoryError "
        "ArithmeticException OverflowError StopIteration EOFError IOException FileNotFoundException "
        "CalledProcessError UnsupportedOperationException ConcurrentModificationException "
        "EnvironmentError BlockingIOError ProcessLookupError"
    ),
}
CLASSES = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
GENERIC = frozenset({"Error", "Exception", "panic", "Throwable", "SystemExit", "InternalError"})

_CODES: dict[ErrorType, str] = {
    ErrorType.IMPORT_ERROR: (
        "MODULE_NOT_FOUND ERR_MODULE_NOT_FOUND ERR_PACKAGE_PATH_NOT_EXPORTED TS2307 TS2305 TS2306 "
        "TS2792 TS2614 TS1192 TS7016 E0432 E0433 E0463 import-not-found import-untyped import "
        "ERESOLVE E404 ETARGET ENOTCACHED ENOVERSIONS"
    ),
    ErrorType.ATTRIBUTE_ERROR: "TS2339 TS2551 TS2550 E0599 E0609 E0610 E0560 E0026 attr-defined union-attr",
    ErrorType.SYNTAX_ERROR: "syntax E999 invalid-syntax",
    ErrorType.ASSERTION_ERROR: "ERR_ASSERTION ERR_TEST_FAILURE",
    ErrorType.CONNECTION_ERROR: (
        "ECONNREFUSED ECONNRESET ECONNABORTED EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN EPIPE "
        "EADDRINUSE UND_ERR_SOCKET"
    ),
    ErrorType.TIMEOUT_ERROR: "ETIMEDOUT ESOCKETTIMEDOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT",
    ErrorType.RUNTIME_ERROR: (
        "ENOENT EACCES EPERM ENOSPC EBUSY EMFILE EEXIST EISDIR ENOTDIR ENOTEMPTY EROFS ENOMEM ETXTBSY ELIFECYCLE"
    ),
    ErrorType.VALUE_ERROR: "ERR_INVALID_ARG_VALUE ERR_OUT_OF_RANGE",
    ErrorType.TYPE_ERROR: "ERR_INVALID_ARG_TYPE",
}
CODES = {code: kind for kind, codes in _CODES.items() for code in codes.split()}
CURL = {
    6: "CONNECTION",
    7: "CONNECTION",
    22: "HTTP",
    28: "TIMEOUT",
    35: "CONNECTION",
    52: "CONNECTION",
    56: "CONNECTION",
    60: "CONNECTION",
}
