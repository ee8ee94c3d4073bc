"""Model files as strangers may write them: with altered values and damaged bytes."""

import copy

from helpers.stored import tamper


def damaged(content, rng):
    """Return a file with some bytes changed, cut out or doubled."""
    content = bytearray(content)
    match rng.integers(3):
        case 0:
            for place in rng.integers(len(content), size=rng.integers(1, 20)):
                content[place] = rng.integers(256)
        case 1:
            start = rng.integers(len(content))
            content[start : start + rng.integers(1, 64)] = b""
        case 2:
            start, other = rng.integers(len(content), size=2)
            content[start : start + 64] = content[other : other + 64]
    return bytes(content)


def places(value, path=()):
    """Return the paths of all values in a state, keys of mappings and numbers in lists."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, item in inner for place in places(item, (*path, name)))]


def altered(path, rng, values):
    """Replace, remove or double one value of a file's state, and sign it, so that the checksum is right."""

    def change(state):
        *above, last = places(state)[rng.integers(1, len(places(state)))]
        holder = state
        for step in above:
            holder = holder[step]
        match rng.integers(4):
            case 0 if isinstance(holder, dict):
                del holder[last]
            case 1 if isinstance(holder, dict):
                holder[f"{last}_"] = copy.deepcopy(holder[last])
            case 2 if isinstance(holder, list):
                holder.append(copy.deepcopy(holder[last]))
            case _:
                holder[last] = values[rng.integers(len(values))]

    tamper(path, change)


def _walked(node, change, key=None):
    """Return a state in which `change` has replaced what it returns something for, given the node and its key."""
    found = change(node, key)
    if found is not None:
        return found
    if isinstance(node, dict):
        return {name: _walked(inner, change, name) for name, inner in node.items()}
    return [_walked(inner, change) for inner in node] if isinstance(node, list) else node


def _of_columns(node):
    """Return whether a tuple holds the levels of several columns."""
    return all(isinstance(item, dict) for item in node["tuple"])


def with_levels(number):
    """Return a change of a state that gives each column the same levels, wherever they are listed."""

    def change(state):
        texts = {"tuple": [f"v{place}" for place in range(number)]}

        def levels(node, key):
            if key != "levels" or not (isinstance(node, dict) and node.get("tuple")):
                return None
            if not _of_columns(node):
                return texts
            return {"tuple": [texts for _ in node["tuple"]]}

        changed = {part: _walked(inner, levels) for part, inner in state.items()}
        state.update(changed)

    return change


def with_columns(number, levels):
    """Return a change of a state that has other columns, of the same levels each, wherever they are listed."""
    names = [f"c{place}" for place in range(number)]
    texts = {"tuple": [f"v{level}" for level in range(levels)]}

    def column(place):
        return {
            "class": {
                "name": "Column",
                "values": {
                    "name": names[place],
                    "kind": "category",
                    "levels": texts,
                    "of_numbers": False,
                    "ordered": False,
                },
            }
        }

    def columns(node, key):
        if not isinstance(node, dict) or not node.get("tuple" if "tuple" in node else "dict"):
            return None
        match key:
            case "features" | "names":
                return {"tuple": names}
            case "_columns":
                return {"tuple": list(map(column, range(number)))}
            case "columns":
                return {"dict": [[names[place], column(place)] for place in range(number)]}
            case "levels":
                return {"tuple": [texts] * number} if _of_columns(node) else texts

    def change(state):
        changed = {part: _walked(inner, columns) for part, inner in state.items()}
        state.update(changed)
        fitted = state["fitted"]
        fitted["feature_names_in_"] = {"items": {"dtype": "|O", "shape": [number], "items": names}}
        fitted["n_features_in_"] = number

    return change


GROWN = (
    *(with_levels(number) for number in (30, 3_000, 100_000)),
    *(with_columns(number, levels) for number in (40, 500) for levels in (10, 500)),
)
"""Changes of a state that make a model larger, alike in all places where it says how large it is."""
