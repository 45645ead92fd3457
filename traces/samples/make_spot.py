#!/usr/bin/env python3
"""Writes spot_events.csv and spot_counts.json beside this file: made-up spot fleets, the same ones every time.

Nothing is copied from a recording. The shape is that of published ones: nodes come one by one, and are taken in bursts.
"""

import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
BURSTS = [1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 3, 4, 6]  # nodes that are taken at once


def pick(generator, choices):
    return choices[int(generator.random() * len(choices))]  # random() is the same in every version of Python


def events():
    """12 hours with a target of 32 nodes. The four of minute 34 leave together; nothing else happens near it."""
    generator = random.Random(1)
    wanted, minutes, doomed = 32, 12 * 60, ["node3", "node11", "node17", "node19"]
    rows = [(0, "add", f"node{i}") for i in range(1, 25)]
    there, named = [name for _, _, name in rows], 24
    for minute in range(1, minutes + 1):
        if minute == 34:
            for name in doomed:
                rows.append((minute, "remove", name))
                there.remove(name)
        elif not 32 <= minute <= 36:
            safe = doomed if minute < 34 else []
            if generator.random() < 0.12:
                for _ in range(pick(generator, BURSTS)):
                    name = pick(generator, [name for name in there if name not in safe])
                    rows.append((minute, "remove", name))
                    there.remove(name)
            elif len(there) < wanted and generator.random() < 0.55:
                named += 1
                rows.append((minute, "add", f"node{named}"))
                there.append(f"node{named}")
    lines = [f"{60 * minute},{event},{name}\n" for minute, event, name in rows]
    (HERE / "spot_events.csv").write_text("t_s,event,node\n" + "".join(lines))


def counts():
    """2 days in ticks of 5 minutes, target 128 nodes; from hour 30 on the whole fleet is gone for 75 minutes."""
    generator = random.Random(2)
    wanted, count, price, data, prices = 128, 96, 9.8, [], []
    for tick in range(2 * 24 * 12):
        if tick % 12 == 0:
            price = round(min(14.0, max(8.0, price * (0.94 + 0.12 * generator.random()))), 2)
        if 360 <= tick < 375:
            count = 0
        elif generator.random() < 0.06:  # a zone is short: a part of the fleet at once
            count -= int(count * 0.5 * generator.random() ** 2)
        elif generator.random() < 0.4:
            count = min(wanted, count + 1 + int(8 * generator.random()))
        data.append(count)
        prices.append(price)
    text = '{"metadata": {"gap_seconds": 300, "polarity": "available", "meaning": "held", "nodes": 128},\n'
    for key, values, end in (("data", data, ","), ("prices", prices, "}")):
        lines = [", ".join(map(str, values[i : i + 24])) for i in range(0, len(values), 24)]
        text += f' "{key}": [\n' + ",\n".join(lines) + f"]{end}\n"
    (HERE / "spot_counts.json").write_text(text)


if __name__ == "__main__":
    events()
    counts()
