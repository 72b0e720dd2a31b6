"""The classes and codes of known tools, each with its error type."""

from __future__ import annotations

from unstuck.diagnosis.enums import ErrorType

_CLASSES: dict[ErrorType, str] = {
    ErrorType.SYNTAX_ERROR: "SyntaxError IndentationError TabError ParseError ScannerError TOMLDecodeError "
    "TokenMissingError MismatchedDelimiterError ReaderError EndOfFile InputErrorInLoad SyntaxException "
    "PrematureEndOfInput",
    ErrorType.TYPE_ERROR: "TypeError ClassCastException TypeMismatchError ArrayStoreException "
    "FunctionClauseError function_clause badfun badarity BadMapError BadArityError BadFunctionError BadBooleanError "
    "UndefinedError TypeMismatch",
    ErrorType.IMPORT_ERROR: (
        "ImportError ModuleNotFoundError ClassNotFoundException NoClassDefFoundError LoadError "
        "PackageNotFoundError UnsatisfiedLinkError"
    ),
    ErrorType.ATTRIBUTE_ERROR: (
        "AttributeError NoMethodError NoSuchMethodError NoSuchFieldError NoSuchMethodException FrozenInstanceError "
        "UndefinedFunctionError undef"
    ),
    ErrorType.KEY_ERROR: "KeyError NoSuchElementException KeyNotFoundException MissingKeyException Not_found",
    ErrorType.VALUE_ERROR: (
        "ValueError JSONDecodeError UnicodeDecodeError UnicodeEncodeError NumberFormatException "
        "RangeError IllegalArgumentException ArgumentError DecimalException InvalidOperation URIError "
        "FormatException JsonException DateTimeParseException UnsupportedEncodingException invalid_argument "
        "DateParseError ZoneInfoNotFoundError InvalidURL MissingSchema MatchError CaseClauseError CondClauseError "
        "WithClauseError InvalidArgumentException UnexpectedValueException DomainException LengthException "
        "badarg badmatch case_clause Invalid_argument ParserError ParseIntError ParseFloatError ParseBoolError "
        "Utf8Error FromUtf8Error EConvertError"
    ),
    ErrorType.INDEX_ERROR: (
        "IndexError IndexOutOfBoundsException ArrayIndexOutOfBoundsException StringIndexOutOfBoundsException "
        "out_of_range NegativeArraySizeException OutOfBoundsException OutOfRangeException"
    ),
    ErrorType.ASSERTION_ERROR: (
        "AssertionError AssertionFailedError ComparisonFailure ExpectationNotMetError MultipleFailuresError "
        "DocTestFailure"
    ),
    ErrorType.TIMEOUT_ERROR: (
        "TimeoutError Timeout ReadTimeout ConnectTimeout TimeoutException TimeoutExpired ServerTimeoutError "
        "APITimeoutError SocketTimeoutException ReadTimeoutError ConnectTimeoutError "
        "HttpTimeoutException PoolTimeout"
    ),
    ErrorType.CONNECTION_ERROR: (
        "ConnectionError ConnectionRefusedError ConnectionResetError ConnectionAbortedError "
        "BrokenPipeError ConnectError ConnectException UnknownHostException APIConnectionError "
        "gaierror NewConnectionError MaxRetryError SSLError SSLCertVerificationError "
        "SSLHandshakeException SocketException NoRouteToHostException RemoteDisconnected ReadError "
        "RemoteProtocolError ClientConnectorError"
    ),
    ErrorType.HTTP_ERROR: (
        "HTTPError HTTPStatusError HttpError RateLimitError APIStatusError AuthenticationError "
        "APIError NotFoundError PermissionDeniedError OverloadedError ServiceUnavailableError BadRequestError "
        "InternalServerError HTTPException "
        "AxiosError ClientResponseError"
    ),
    ErrorType.DATABASE_ERROR: (
        "DatabaseError OperationalError IntegrityError ProgrammingError DataError InterfaceError "
        "SQLException SqlException NotSupportedError SQLSyntaxErrorException PostgresError "
        "UndefinedTable UniqueViolation DoesNotExist SequelizeDatabaseError "
        "PrismaClientKnownRequestError PDOException InvalidRequestError SqliteError NoResultsError"
    ),
    ErrorType.VALIDATION_ERROR: (
        "ValidationError ZodError ValidationException SchemaError ConstraintViolationException "
        "RequestValidationError MethodArgumentNotValidException SystemCheckError"
    ),
    ErrorType.RUNTIME_ERROR: (
        "RuntimeError NameError UnboundLocalError ReferenceError RecursionError ZeroDivisionError "
        "OSError FileNotFoundError PermissionError IsADirectoryError NotADirectoryError "
        "FileExistsError MemoryError NotImplementedError SystemError NullPointerException "
        "IllegalStateException RuntimeException StackOverflowError OutOfMemoryError "
        "ArithmeticException ArithmeticError OverflowError StopIteration EOFError IOException FileNotFoundException "
        "CalledProcessError UnsupportedOperationException ConcurrentModificationException "
        "EnvironmentError BlockingIOError ProcessLookupError NoSuchFileException AccessDeniedException "
        "UnsupportedOperation InterruptedException LinkageError bad_alloc runtime_error logic_error"
    ),
}
CLASSES = {name: kind for kind, names in _CLASSES.items() for name in names.split()}
# What libraries call their own kinds of a known one.
ENDINGS = (
    "ValidationError",
    "TimeoutError",
    "TimeoutException",
    "ConnectionError",
    "HTTPError",
    "HttpError",
    "DatabaseError",
    "SQLException",
    "AssertionError",
    "SyntaxError",
    "ParseError",
    "ImportError",
)
# Libraries all of whose errors are of one type, where the class is not known.
LIBRARIES = dict.fromkeys(
    (
        "sqlalchemy",
        "psycopg",
        "psycopg2",
        "sqlite3",
        "asyncpg",
        "pymysql",
        "MySQLdb",
        "pymongo",
        "redis",
        "cassandra",
        "Postgrex",
        "MyXQL",
        "duckdb",
        "_duckdb",
    ),
    ErrorType.DATABASE_ERROR,
) | {"binascii": ErrorType.VALUE_ERROR}
GENERIC = frozenset({"Error", "Exception", "panic", "Throwable", "SystemExit", "InternalError"})

_CODES: dict[ErrorType, str] = {
    ErrorType.IMPORT_ERROR: (
        "MODULE_NOT_FOUND ERR_MODULE_NOT_FOUND ERR_PACKAGE_PATH_NOT_EXPORTED TS2307 TS2305 TS2306 "
        "TS2792 TS2614 TS1192 TS7016 E0432 E0433 E0463 E0583 import-not-found import-untyped import "
        "unresolved-import missing-import missing-module-attribute UNRESOLVED_IMPORT "
        "ERESOLVE E404 ETARGET ENOTCACHED ENOVERSIONS reportMissingImports reportMissingModuleSource"
    ),
    ErrorType.ATTRIBUTE_ERROR: "TS2339 TS2551 TS2550 E0599 E0609 E0610 E0560 E0026 CS1061 CS0117 "
    "attr-defined union-attr "
    "unresolved-attribute missing-attribute possibly-missing-attribute possibly-unbound-attribute "
    "reportAttributeAccessIssue reportOptionalMemberAccess",
    ErrorType.SYNTAX_ERROR: "syntax E999 E0001 invalid-syntax parse-error EJSONPARSE",
    ErrorType.ASSERTION_ERROR: "ERR_ASSERTION",
    ErrorType.CONNECTION_ERROR: (
        "ECONNREFUSED ECONNRESET ECONNABORTED EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN EPIPE "
        "EADDRINUSE UND_ERR_SOCKET"
    ),
    ErrorType.TIMEOUT_ERROR: "ETIMEDOUT ESOCKETTIMEDOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT",
    ErrorType.RUNTIME_ERROR: (
        "ENOENT EACCES EPERM ENOSPC EBUSY EMFILE EEXIST EISDIR ENOTDIR ENOTEMPTY EROFS ENOMEM ETXTBSY ELIFECYCLE"
    ),
    ErrorType.VALUE_ERROR: "ERR_INVALID_URL ERR_INVALID_ARG_VALUE ERR_OUT_OF_RANGE EUSAGE usage",
    ErrorType.TYPE_ERROR: (
        "ERR_INVALID_ARG_TYPE name-defined used-before-def call-arg call-overload arg-type return return-value"
        " assignment "
        "method-assign index operator list-item dict-item typeddict-item typeddict-unknown-key has-type override "
        "var-annotated valid-type type-arg type-var no-untyped-def no-untyped-call no-any-return no-redef not-callable "
        "abstract safe-super func-returns-value empty-body comparison-overlap redundant-cast invalid-argument-type "
        "invalid-return-type invalid-assignment missing-argument unknown-argument too-many-positional-arguments "
        "unresolved-reference unsupported-operator no-matching-overload invalid-type-form call-non-callable "
        "bad-argument-type bad-return bad-assignment unexpected-keyword unknown-name reportArgumentType"
        " reportCallIssue "
        "reportReturnType reportAssignmentType reportUndefinedVariable reportIndexIssue reportOperatorIssue"
    ),
}
CODES = {code: kind for kind, codes in _CODES.items() for code in codes.split()}
# curl's exit codes that say something other than that the other side was not reached.
CURL = {
    1: ErrorType.VALUE_ERROR,
    3: ErrorType.VALUE_ERROR,
    22: ErrorType.HTTP_ERROR,
    23: ErrorType.RUNTIME_ERROR,
    26: ErrorType.RUNTIME_ERROR,
    28: ErrorType.TIMEOUT_ERROR,
    37: ErrorType.RUNTIME_ERROR,
}
