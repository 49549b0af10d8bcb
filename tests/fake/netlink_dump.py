#!/usr/bin/env python3
"""Write the two netlink answers of a recorded machine, net.links and net.addresses, into its tree.

usage: netlink_dump.py TREE INDEX:NAME[:down|:loopback] ... INDEX=ADDRESS/PREFIX ...
"""
import ipaddress
import struct
import sys

NLMSG_DONE, RTM_NEWLINK, RTM_NEWADDR, NLM_F_MULTI = 3, 16, 20, 2
IFLA_IFNAME, IFLA_MTU, IFA_ADDRESS, IFA_LOCAL, IFA_LABEL = 3, 4, 1, 2, 3
IFF_UP, IFF_BROADCAST, IFF_LOOPBACK, IFF_RUNNING, IFF_MULTICAST = 1, 2, 8, 0x40, 0x1000
ARPHRD_ETHER, ARPHRD_LOOPBACK = 1, 772
AF_INET, AF_INET6 = 2, 10


def attribute(kind, data):
    return struct.pack("=HH", 4 + len(data), kind) + data + b"\0" * (-len(data) % 4)


def message(kind, payload):
    return struct.pack("=IHHII", 16 + len(payload), kind, NLM_F_MULTI, 1, 0) + payload


def link(index, name, word):
    loopback = word == "loopback"
    flags = IFF_LOOPBACK if loopback else IFF_BROADCAST | IFF_MULTICAST
    flags |= 0 if word == "down" else IFF_UP | IFF_RUNNING
    head = struct.pack("=BxHiII", 0, ARPHRD_LOOPBACK if loopback else ARPHRD_ETHER, index, flags, 0)
    mtu = struct.pack("=I", 65536 if loopback else 1500)
    return message(RTM_NEWLINK, head + attribute(IFLA_IFNAME, name.encode() + b"\0") + attribute(IFLA_MTU, mtu))


def address(index, text, names):
    interface = ipaddress.ip_interface(text)
    host, scope = interface.ip, 0
    if host.is_loopback:
        scope = 254
    elif host.is_link_local:
        scope = 253
    family = AF_INET if host.version == 4 else AF_INET6
    head = struct.pack("=BBBBI", family, interface.network.prefixlen, 0x80, scope, index)
    body = attribute(IFA_ADDRESS, host.packed)
    if host.version == 4:
        body += attribute(IFA_LOCAL, host.packed) + attribute(IFA_LABEL, names[index].encode() + b"\0")
    return message(RTM_NEWADDR, head + body)


def main(tree, rows):
    links, addresses, names = b"", b"", {}
    for row in rows:
        if "=" in row:
            index, text = row.split("=", 1)
            addresses += address(int(index), text, names)
        else:
            index, name, word = (row + ":").split(":")[:3]
            names[int(index)] = name
            links += link(int(index), name, word)
    end = message(NLMSG_DONE, struct.pack("=i", 0))
    open(tree + "/net.links", "wb").write(links + end)
    open(tree + "/net.addresses", "wb").write(addresses + end)


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
