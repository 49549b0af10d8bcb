"""An initramfs: the cpio "newc" form that the kernel unpacks, written in memory."""
import os
import stat


class Archive:
    """Files are added by name; parent directories come by themselves. Archives can be concatenated:
    the kernel unpacks one after the other, later files over earlier ones."""

    def __init__(self):
        self._parts = []
        self._inode = 0
        self._directories = set()

    def _entry(self, name, mode, data=b"", uid=0, gid=0, device=(0, 0)):
        self._inode += 1
        encoded = name.encode() + b"\0"
        links = 2 if stat.S_ISDIR(mode) else 1
        numbers = (self._inode, mode, uid, gid, links, 0, len(data), 0, 0, *device, len(encoded), 0)
        head = b"070701" + b"".join(b"%08X" % n for n in numbers) + encoded
        self._parts.append(head + b"\0" * (-len(head) % 4))
        self._parts.append(data + b"\0" * (-len(data) % 4))

    def directory(self, name, mode=0o755, uid=0, gid=0):
        name = name.strip("/")
        if not name or name in self._directories:
            return
        self.directory(os.path.dirname(name))
        self._directories.add(name)
        self._entry(name, stat.S_IFDIR | mode, uid=uid, gid=gid)

    def file(self, name, data, mode=0o644, uid=0, gid=0):
        name = name.strip("/")
        self.directory(os.path.dirname(name))
        self._entry(name, stat.S_IFREG | mode, data, uid, gid)

    def link(self, name, target):
        name = name.strip("/")
        self.directory(os.path.dirname(name))
        self._entry(name, stat.S_IFLNK | 0o777, target.encode())

    def device(self, name, major, minor, mode=0o600):
        name = name.strip("/")
        self.directory(os.path.dirname(name))
        self._entry(name, stat.S_IFCHR | mode, device=(major, minor))

    def tree(self, top, prefix=""):
        """Everything below the directory `top`, as root's, its symbolic links kept."""
        for path, directories, files in os.walk(top):
            directories.sort()
            inside = os.path.join(prefix, os.path.relpath(path, top)) if path != top else prefix
            if inside:
                self.directory(inside, stat.S_IMODE(os.lstat(path).st_mode))
            for name in sorted(files) + [d for d in directories if os.path.islink(os.path.join(path, d))]:
                source = os.path.join(path, name)
                status = os.lstat(source)
                if stat.S_ISLNK(status.st_mode):
                    self.link(os.path.join(inside, name), os.readlink(source))
                elif stat.S_ISREG(status.st_mode):
                    with open(source, "rb") as f:
                        self.file(os.path.join(inside, name), f.read(), stat.S_IMODE(status.st_mode))

    def bytes(self):
        """The archive, ended, and padded so that another can follow."""
        ending = Archive()
        ending._inode = self._inode
        ending._entry("TRAILER!!!", 0)
        whole = b"".join(self._parts + ending._parts)
        return whole + b"\0" * (-len(whole) % 512)
