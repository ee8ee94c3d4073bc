"""Model files as strangers may write them: with objects that no model has, altered values, and damaged bytes."""

import copy
import json

import h5py
import numpy as np
from helpers.stored import sign

from bayesclf import storage


def circle(group, path):
    group["again"] = group


def ladder(group, path):
    for step in range(12):
        rung = group.create_group(f"rung{step}")
        rung["left"] = rung["right"] = group
        group = rung


def many_groups(group, path):
    for number in range(2_000):
        group.create_group(f"g{number}")


def soft(group, path):
    group["soft"] = h5py.SoftLink("/posterior")


def external(group, path):
    group["external"] = h5py.ExternalLink(str(path.with_name("other.h5")), "/")


def committed(group, path):
    group["kind"] = np.dtype("f8")


def compound(group, path):
    group["pairs"] = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])


def references(group, path):
    group["pointers"] = np.array([group.ref], dtype=h5py.ref_dtype)


def opaque(group, path):
    group["opaque"] = np.zeros(3, dtype="V7")


def empty(group, path):
    group["empty"] = h5py.Empty("f8")


def compact(group, path):
    creation = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    creation.set_layout(h5py.h5d.COMPACT)
    h5py.h5d.create(group.id, b"compact", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((2,)), creation)


CRAFTS = (circle, ladder, many_groups, soft, external, committed, compound, references, opaque, empty, compact)
"""Ways to put what no model has into a group of a file, given the group and the file's path."""


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
    with h5py.File(path, "r+") as file:
        group = file[storage.GROUP]
        state = json.loads(group.attrs["state"])
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
        group.attrs["state"] = json.dumps(state)
    sign(path)
