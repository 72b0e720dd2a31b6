"""Which of an agent's commands are checks, and what they found."""

from __future__ import annotations

import pytest

from unstuck import admit
from unstuck.contract import Observation
from unstuck.history.checks import is_check, result_of

CHECKS = """\
pytest -q
python3 -m pytest tests
cd app && pytest -x 2>&1 | tail -20
npm test
npm run test:unit
pnpm -r build
yarn lint
cargo test --all
cargo +nightly clippy
go test ./...
make
make -j4 check
./gradlew test
./mvnw -q verify
tox -e py311
npx tsc --noEmit
bundle exec rspec
uv run pytest
poetry run mypy src
ruff check .
./run_tests.sh
bash scripts/test.sh
sh check.sh
./bin/check
python test_cart.py
python manage.py test
dotnet test
bazel test //...
PYTHONPATH=. pytest
FOO=1 timeout 60 pytest -q
docker compose run web pytest
vendor/bin/phpunit
golangci-lint run
node --test
make all CC=gcc
cd src && gcc -O2 -o app app.c
python3 shop_test.py
/app/test_cart.sh""".splitlines()
OTHERS = """\
cat test.py
grep -rn pytest .
pip install pytest
ls tests
git log --oneline tests
which pytest
pytest --version
npm install
npm run dev
cargo run
go run main.go
vim Makefile
echo "make test"
make clean
make install
sed -n 1,20p test.sh
rm -rf build
cd tests
mkdir -p build
test -f foo
test -d /app && ls
git checkout tests/test_a.py
find . -name "*test*"
[ -f x ] && echo hi
git commit -m "fix: run pytest"
docker build -t x .
make --version
make -j4 install DESTDIR=/tmp/x
gcc --version
cat /app/test_cart.sh
chmod +x test.sh""".splitlines()


@pytest.mark.parametrize("command", CHECKS)
def test_a_check(command: str) -> None:
    """Test runners, builds, type checkers and linters are checks, whatever is around them."""
    assert is_check(command)


@pytest.mark.parametrize("command", OTHERS)
def test_no_check(command: str) -> None:
    """A command that only names one is none."""
    assert not is_check(command)


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("success", "2 passed in 0.1s", "passed"),
        ("success", "", "passed"),
        ("failure", "2 passed in 0.1s", "failed"),
        ("success", "1 failed, 2 passed in 0.1s", "contradicted"),
    ],
)
def test_what_it_found(kind: str, text: str, found: str) -> None:
    """The exit code decides; an output that counts failures contradicts it, as behind a pipe."""
    assert result_of(Observation(kind=kind, text=admit(text))) == found  # type: ignore[arg-type]
