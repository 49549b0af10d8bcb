"""The uncompressed kernel inside a boot image.

x86: a bzImage carries a compressed ELF vmlinux, at the place its boot header names (boot protocol
2.08 and later). A vmlinux with a PVH note starts without the decompressor, which under emulation is
a second saved. Elsewhere the kernel is a flat image, which may be gzip, or in an EFI zboot file.
"""
import lzma
import shutil
import struct
import subprocess
import tempfile
import zlib

from .arch import ARCHES
from .mortal import mortal

MAGICS = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x5d\x00\x00", "lzma"),
    (b"\x02\x21\x4c\x18", "lz4"),
    (b"BZh", "bzip2"),
)


KERNEL_BYTES_MAX = 512 << 20


# How to start a program that is not installed: {name: words}.
elsewhere = {}


class PayloadError(Exception):
    pass


class DamagedError(PayloadError):
    """The image is not whole: nothing can boot it."""


def compression(data):
    """The name of the compression `data` starts with, or None."""
    for magic, name in MAGICS:
        if data.startswith(magic):
            return name
    return None


def _tool(argv, data):
    start = [argv[0]] if shutil.which(argv[0]) else elsewhere.get(argv[0])
    if not start:
        raise PayloadError(f"{argv[0]} is needed to decompress this kernel and is not installed")
    with tempfile.TemporaryFile() as stream:
        stream.write(data)
        stream.seek(0)
        with subprocess.Popen(mortal([*start, *argv[1:]]), stdin=stream, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            out = process.stdout.read(KERNEL_BYTES_MAX + 1)
            process.kill()
    if len(out) > KERNEL_BYTES_MAX:
        raise DamagedError(f"its kernel has more than {KERNEL_BYTES_MAX >> 20} MiB")
    # What follows the stream (the boot image's length word) makes some tools end with an error after the whole kernel
    # is out; the caller checks what came.
    if not out:
        raise DamagedError(f"{argv[0]} makes nothing of its kernel")
    return out


def _inflate(decompressor, data):
    """What comes out of a whole stream; something may follow it."""
    try:
        out = decompressor.decompress(data, KERNEL_BYTES_MAX)
    except (zlib.error, lzma.LZMAError) as problem:
        raise DamagedError(f"its kernel cannot be decompressed: {problem}")
    if not decompressor.eof:
        if len(out) == KERNEL_BYTES_MAX:
            raise DamagedError(f"its kernel has more than {KERNEL_BYTES_MAX >> 20} MiB")
        raise DamagedError("its compressed kernel breaks off")
    return out


def decompress(data):
    """`data` decompressed. Raises PayloadError when it is in no known form, DamagedError when it is not whole."""
    kind = compression(data)
    if kind == "gzip":
        return _inflate(zlib.decompressobj(31), data)
    if kind == "xz":
        return _inflate(lzma.LZMADecompressor(lzma.FORMAT_XZ), data)
    if kind == "lzma":
        return _inflate(lzma.LZMADecompressor(lzma.FORMAT_ALONE), data)
    if kind == "zstd":
        return _tool(["zstd", "-dcq"], data)
    if kind == "lz4":
        return _tool(["lz4", "-dcq"], data)
    if kind == "bzip2":
        return _tool(["bzip2", "-dcq"], data)
    raise PayloadError(f"no known compression: it starts with {data[:6].hex()}")


def bzimage_payload(image):
    """The compressed payload of a bzImage without the length word at its end, and that word: the length of the kernel."""
    if image[0x202:0x206] != b"HdrS":
        raise PayloadError("not a bzImage: no HdrS at 0x202")
    if len(image) < 0x268:
        raise DamagedError("it ends in its boot header")
    (version,) = struct.unpack_from("<H", image, 0x206)
    if version < 0x208:
        raise PayloadError(f"boot protocol {version >> 8}.{version & 255:02}: names no payload")
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    if length < 8 or start + length > len(image):
        raise DamagedError("its kernel ends outside of the file")
    payload = image[start : start + length]
    # The word is part of the stream's own format only for gzip.
    whole = int.from_bytes(payload[-4:], "little")
    return payload if compression(payload) == "gzip" else payload[:-4], whole


def has_pvh_note(elf):
    """Whether an ELF vmlinux names a PVH entry: the note of type 18 by "Xen"."""
    if elf[:5] != b"\x7fELF\x02":
        return False
    try:
        return _has_pvh_note(elf)
    except struct.error:
        raise DamagedError("its vmlinux ends before its headers do")


def _has_pvh_note(elf):
    (phoff,) = struct.unpack_from("<Q", elf, 32)
    phentsize, phnum = struct.unpack_from("<HH", elf, 54)
    for i in range(phnum):
        kind, _flags, offset, _va, _pa, filesz = struct.unpack_from("<IIQQQQ", elf, phoff + i * phentsize)
        if kind != 4:
            continue
        at, end = offset, offset + filesz
        while at + 12 <= end:
            namesz, descsz, note = struct.unpack_from("<III", elf, at)
            if note == 18 and elf[at + 12 : at + 12 + namesz].rstrip(b"\0") == b"Xen":
                return True
            at += 12 + (namesz + 3 & ~3) + (descsz + 3 & ~3)
    return False


def vmlinux(image):
    """The ELF kernel in a bzImage. Raises PayloadError when there is none that starts by itself."""
    stream, whole = bzimage_payload(image)
    elf = decompress(stream)
    if len(elf) < whole:
        raise DamagedError(f"its kernel breaks off: {len(elf)} of {whole} bytes")
    if not has_pvh_note(elf):
        raise PayloadError("its vmlinux has no PVH entry")
    return elf


def flat_image(image, arch):
    """The flat kernel in `image`: itself, decompressed, or out of an EFI zboot file."""
    if image[4:8] == b"zimg":
        if len(image) < 16:
            raise DamagedError("it ends in its header")
        offset, size = struct.unpack_from("<II", image, 8)
        if offset + size > len(image):
            raise DamagedError("its kernel ends outside of the file")
        image = decompress(image[offset : offset + size])
    elif compression(image):
        image = decompress(image)
    if image[0x38:0x3C] != ARCHES[arch].magic:
        raise PayloadError(f"not a flat image of {arch}")
    return image


def _pe_machine(image):
    if len(image) < 0x40:
        return None
    (at,) = struct.unpack_from("<I", image, 0x3C)
    return int.from_bytes(image[at + 4 : at + 6], "little") if image[at : at + 4] == b"PE\0\0" else None


def arch_of(image):
    """The Debian name of the architecture a kernel image is for, or None. Its first 4 KiB suffice."""
    if compression(image) == "gzip":
        try:
            image = zlib.decompressobj(31).decompress(image, 4096)
        except zlib.error:
            return None
    if len(image) < 0x40:
        return None
    if image[0x202:0x206] == b"HdrS":
        return "amd64"
    zboot = image[4:8] == b"zimg"
    for arch in ARCHES.values():
        if _pe_machine(image) == arch.pe if zboot else arch.magic and image[0x38:0x3C] == arch.magic:
            return arch.name
    return None
