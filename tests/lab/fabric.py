#!/usr/bin/env python3
"""Writes a fabric in ibsim's topology format: one switch, or a two-level fat tree."""
import argparse
import sys

MOST_PORTS = 255  # of an ibsim switch


def host(number):
    return f"H{number:04d}"


def leaf(number):
    return f"L{number:03d}"


def spine(number):
    return f"S{number:03d}"


def fabric(hosts, down=32, spines=None, trunk=1):
    """The text of a fabric with `hosts` hosts, `down` of them on each leaf switch, and `trunk`
    cables between each leaf and each of `spines` spine switches (0: one switch, no tree)."""
    if spines is None:
        spines = 0 if hosts <= down else 16
    leaves = -(-hosts // down)
    leaf_ports = down + spines * trunk
    spine_ports = leaves * trunk
    if hosts < 1 or down < 1 or spines < 0 or trunk < 1:
        raise ValueError("hosts, down and trunk must be at least 1, spines at least 0")
    if spines == 0 and leaves != 1:
        raise ValueError("more than one leaf needs spines")
    if max(leaf_ports, spine_ports) > MOST_PORTS:
        raise ValueError(f"a switch would need more than {MOST_PORTS} ports")

    # Hosts come first, since ibsim puts a client without a host name on the first node of the file.
    lines = [f"# {hosts} hosts, {leaves} leaves, {spines} spines, trunk {trunk}", ""]
    for number in range(1, hosts + 1):
        at, port = divmod(number - 1, down)
        lines += [f'Hca 1 "{host(number)}"', f'[1]\t"{leaf(at + 1)}"[{port + 1}]', ""]
    for at in range(1, leaves + 1):
        lines.append(f'Switch {leaf_ports} "{leaf(at)}"')
        first = (at - 1) * down
        for port in range(1, min(down, hosts - first) + 1):
            lines.append(f'[{port}]\t"{host(first + port)}"[1]')
        for top in range(spines):
            for cable in range(1, trunk + 1):
                lines.append(f'[{down + top * trunk + cable}]\t'
                             f'"{spine(top + 1)}"[{(at - 1) * trunk + cable}]')
        lines.append("")
    for top in range(spines):
        lines.append(f'Switch {spine_ports} "{spine(top + 1)}"')
        for at in range(1, leaves + 1):
            for cable in range(1, trunk + 1):
                lines.append(f'[{(at - 1) * trunk + cable}]\t'
                             f'"{leaf(at)}"[{down + top * trunk + cable}]')
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("hosts", type=int, help="hosts, one port each: H0001, H0002, ...")
    parser.add_argument("--down", type=int, default=32, help="hosts on a leaf switch (32)")
    parser.add_argument("--spines", type=int, help="spine switches (16, none for one leaf)")
    parser.add_argument("--trunk", type=int, default=1, help="cables from a leaf to a spine (1)")
    given = parser.parse_args()
    try:
        print(fabric(given.hosts, given.down, given.spines, given.trunk))
    except ValueError as problem:
        sys.exit(f"fabric.py: {problem}")


if __name__ == "__main__":
    main()
