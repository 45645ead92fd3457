#!/usr/bin/env python3
"""Writes faults.csv and sacct.txt beside this file: a made-up cluster of 128 nodes over 180 days, the same every time.

Node n058 fails ten times as often as the others. A rack of eight nodes loses power on day 41. The jobs are those of one
training run that restarts on other nodes whenever it loses one.
"""

import datetime
import math
import pathlib
import random

HERE = pathlib.Path(__file__).resolve().parent
BEGIN = datetime.datetime(2026, 1, 1)
DAYS, NODES, BAD, PER_NODE_DAY = 180, 128, 58, 0.006
CAUSES = [("GPU Xid 79", 0.35), ("NIC down", 0.2), ("ECC error", 0.2), ("not responding", 0.25)]


def name(node):
    return f"n{node:03d}"


def iso(day):
    return (BEGIN + datetime.timedelta(seconds=round(86400 * day))).isoformat()


def cause(generator):
    left = generator.random()
    for text, share in CAUSES:
        left -= share
        if left < 0:
            break
    return text


def faults():
    generator = random.Random(3)
    rows = []
    for node in range(1, NODES + 1):
        rate = PER_NODE_DAY * (10 if node == BAD else 1)
        day = -math.log(1 - generator.random()) / rate
        while day < DAYS:
            z = math.sqrt(-2 * math.log(1 - generator.random())) * math.cos(2 * math.pi * generator.random())
            down = 0.25 * math.exp(1.2 * z)  # lognormal, median 6 h
            rows.append((day, day + down, node, cause(generator)))
            day += down - math.log(1 - generator.random()) / rate
    rows += [(41.3 + i / 86400, 41.5, 17 + i, "power") for i in range(8)]
    return sorted(rows)


def range_text(nodes):
    """n[001-057,059-128]"""
    parts, nodes = [], sorted(nodes)
    for node in nodes:
        if parts and parts[-1][1] == node - 1:
            parts[-1][1] = node
        else:
            parts.append([node, node])
    return "n[" + ",".join(f"{a:03d}" if a == b else f"{a:03d}-{b:03d}" for a, b in parts) + "]"


def jobs(rows):
    """On 112 of the nodes that are up; a spare node takes the place of the one that is lost."""
    used, begin, job = set(range(1, 113)), 0.0, 1001
    for day, _, node, _ in rows:
        if node not in used or day < begin:
            continue
        yield job, "NODE_FAIL", used, begin, day
        down = {row[2] for row in rows if row[0] <= day + 0.01 < row[1]} | {node}
        spares = [one for one in range(1, NODES + 1) if one not in used and one not in down]
        kept = used - down
        used = kept | set(spares[: 112 - len(kept)])
        begin, job = day + 0.01, job + 1
    yield job, "COMPLETED", used, begin, DAYS


def main():
    rows = faults()
    lines = ["node,failed_at,repaired_at,cause"]
    lines += [f"{name(node)},{iso(begin)},{iso(end)},{text}" for begin, end, node, text in rows]
    (HERE / "faults.csv").write_text("\n".join(lines) + "\n")
    lines = ["JobID|JobName|State|NNodes|NodeList|Start|End"]
    lines += [f"{job}|pretrain|{state}|{len(used)}|{range_text(used)}|{iso(begin)}|{iso(end)}"
              for job, state, used, begin, end in jobs(rows)]
    (HERE / "sacct.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
