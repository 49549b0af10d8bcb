"""The architectures a row can have: what is different about each, as data."""
import dataclasses
import os


@dataclasses.dataclass(frozen=True)
class Arch:
    name: str  # as Debian calls it
    uname: str  # as the kernel calls it
    loader: str  # the C library's, below the root
    suite: str  # the Debian release that the machine's libraries come from
    qemu: tuple  # the packages with QEMU and the firmware it needs
    machine: str
    cpu: str
    console: str
    magic: bytes  # at byte 0x38 of a flat image; b"" where the kernel is an ELF in a bzImage
    pe: int  # the machine in the PE header of its EFI programs
    old_cpu: str = ""  # before QEMU 10, where that must be another
    second_serial: bool = False  # a way out for kernels without virtio
    firmware: str = ""  # in place of QEMU's own choice, where the unpacked QEMU has it
    emulated: str = ""  # on the command line of a kernel whose machine is emulated

    @property
    def triplet(self):
        return f"{self.uname}-linux-gnu"


ARCHES = {
    arch.name: arch
    for arch in (
        Arch(
            name="amd64",
            uname="x86_64",
            loader="lib64/ld-linux-x86-64.so.2",
            suite="bookworm",
            qemu=("qemu-system-x86",),
            # Without devices that nobody uses and Linux would look for.
            machine="q35,i8042=off,smbus=off,sata=off,hpet=off",
            # Five levels of page tables cost an eighth of the time. So does the word that copying by bytes
            # is fast (ERMS, FSRM): Linux then clears and copies pages so, and emulated it is slow. QEMU 7.2
            # emulates page tables and cmpxchg16b wrongly enough to crash one 6.12 guest of eight.
            cpu="max,la57=off,erms=off,fsrm=off",
            old_cpu="max,la57=off,erms=off,fsrm=off,cx16=off",
            console="ttyS0",
            magic=b"",
            pe=0x8664,
            second_serial=True,
            # Nothing but what starts a kernel: a fifth of a second less than SeaBIOS.
            firmware="qboot.rom",
            # A busy host lets an emulated clock stand still: the kernel would then take a working interrupt
            # controller for a broken one, or leave the time stamp counter for a slower clock. On one processor
            # Linux before 7.3 patches each of ten thousand lock prefixes away, with two changes of the address
            # space for each: emulated that is a third of the boot.
            emulated="no_timer_check tsc=reliable noreplace-smp",
        ),
        Arch(
            name="arm64",
            uname="aarch64",
            loader="lib/ld-linux-aarch64.so.1",
            suite="bookworm",
            qemu=("qemu-system-arm",),
            machine="virt",
            # The architected pointer authentication algorithm is what makes "max" slow.
            cpu="max,pauth-impdef=on",
            console="ttyAMA0",
            magic=b"ARMd",
            pe=0xAA64,
        ),
        Arch(
            name="riscv64",
            uname="riscv64",
            loader="lib/ld-linux-riscv64-lp64d.so.1",
            suite="trixie",  # the first release that has it
            qemu=("qemu-system-riscv", "opensbi"),
            machine="virt",
            cpu="max",
            console="ttyS0",
            magic=b"RSC\x05",
            pe=0x5064,
        ),
    )
}


def host():
    """The name of this machine's architecture."""
    uname = os.uname().machine
    return next((arch.name for arch in ARCHES.values() if arch.uname == uname), uname)


def start(tree):
    """The words before a program of this architecture out of an unpacked Debian tree, with that tree's own C
    library, which may be newer than the host's."""
    its = ARCHES[host()]
    return [f"{tree}/{its.loader}", "--library-path", f"{tree}/lib/{its.triplet}:{tree}/usr/lib/{its.triplet}"]
