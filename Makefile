.PHONY: demo test lint

demo:
	python3 tasks.py demo

test:
	python3 tasks.py test

lint:
	.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy
