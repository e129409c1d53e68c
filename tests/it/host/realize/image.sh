#!/bin/sh
# Makes what a machine of the tests boots from, without loop devices or mounts: Debian's kernel, an initramfs with Debian's
# own Ignition and `init.sh`, GRUB, and an ext4 file system that the node's config is applied to.
#
#   OUT/disk.qcow2    boots by itself; Ignition asks QEMU's firmware for the config
#   OUT/live.iso      boots, and installs; has the reserved areas of a RHCOS live ISO (only if asked for: `live`)
#   OUT/kernel, OUT/initramfs.img, OUT/rootfs.img
#                     the same for booting from the network (only if asked for: `pxe`)
set -eu
out=$1 init=$2 what=${3:-}
cd "$out"
kernel=$(find /boot -name 'vmlinuz-*-cloud-amd64' | sort -V | tail -n 1)
version=${kernel#/boot/vmlinuz-}
grub=/usr/lib/grub/i386-pc

# The initramfs: programs with their libraries, and modules in the order in which they are to be loaded.
mkdir -p initrd/bin initrd/sbin initrd/lib/modules skeleton
cp "$init" initrd/init
chmod 755 initrd/init
cp "$(command -v busybox)" initrd/bin/busybox
cp /usr/lib/dracut/modules.d/30ignition/ignition initrd/bin
for program in useradd usermod systemctl; do
  cp "$(command -v $program)" initrd/sbin
done
# What the live system opens a sealed medium with.
if [ "$what" = live ]; then
  for program in gpg systemd-ask-password systemd-tty-ask-password-agent; do
    cp "$(command -v $program)" initrd/bin
  done
fi
for program in initrd/bin/* initrd/sbin/*; do
  [ "${program##*/}" = busybox ] || ldd "$program" | grep -o '/[^ ]*'
done | sort -u | while read -r library; do
  mkdir -p "initrd${library%/*}"
  cp -L "$library" "initrd$library"
done
# SELinux labels are not what this is about; the one module that Ignition asks for is loaded already.
for program in setfiles modprobe; do
  printf '#!/bin/busybox sh\nexit 0\n' >initrd/sbin/$program
  chmod 755 initrd/sbin/$program
done
number=10
modules='virtio_blk virtio_net virtio_pci virtio_rng qemu_fw_cfg'
[ "$what" != live ] || modules="$modules ata_piix sr_mod"
for module in $modules; do
  modprobe -S "$version" --show-depends "$module"
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r module; do
  cp "$module" "initrd/lib/modules/$number-${module##*/}"
  number=$((number + 1))
done

# What an operating system has that Ignition asks for.
mkdir -p skeleton/etc/selinux/targeted/contexts/files skeleton/home
: >skeleton/etc/selinux/targeted/contexts/files/file_contexts
printf 'SELINUX=disabled\nSELINUXTYPE=targeted\n' >skeleton/etc/selinux/config
echo 'root:x:0:0::/root:/bin/sh' >skeleton/etc/passwd
echo 'root:x:0:' >skeleton/etc/group
echo 'root:*:::::::' >skeleton/etc/shadow
: >skeleton/etc/gshadow

archive() { (cd "$1" && find . | LC_ALL=C sort | cpio -o -H newc --quiet) | gzip -1; }
archive initrd >initrd.gz

# A disk: GRUB in the gap before the first partition, the kernel in it. $1: its name, $2: the platform
disk() {
  rm -rf tree
  cp -a skeleton tree
  mkdir tree/boot
  cp "$kernel" tree/boot/vmlinuz
  cp initrd.gz tree/boot/initrd
  truncate -s 95M part
  mke2fs -q -t ext4 -O ^has_journal -L root -d tree part
  cat >grub.cfg <<END
serial --unit=0 --speed=115200
terminal_output serial
set root=(hd0,msdos1)
linux /boot/vmlinuz console=ttyS0 panic=1 ignition.firstboot ignition.platform.id=$2
initrd /boot/initrd
boot
END
  grub-mkimage -O i386-pc -o core -c grub.cfg -p '(hd0,msdos1)/boot' biosdisk part_msdos ext2 linux serial terminal
  truncate -s 1M "$1"
  cat part >>"$1"
  # GRUB's first sector expects the rest right after it; bytes 446 to 511 are the table: one Linux partition at 1 MiB.
  dd if=$grub/boot.img of="$1" bs=440 count=1 conv=notrunc status=none
  dd if=core of="$1" bs=512 seek=1 conv=notrunc status=none
  printf '\200\376\377\377\203\376\377\377\000\010\000\000\000\370\002\000' | dd of="$1" bs=1 seek=446 conv=notrunc status=none
  printf '\125\252' | dd of="$1" bs=1 seek=510 conv=notrunc status=none
  rm part core
}

if [ -z "$what" ]; then
  disk disk.raw qemu
  qemu-img convert -O qcow2 disk.raw disk.qcow2
  exit
fi

# The live system: the same initramfs, with the disk to be installed beside it.
disk disk.raw metal
mkdir -p more
gzip -1 <disk.raw >more/disk.gz
cp -a skeleton more/skeleton
if [ "$what" = pxe ]; then
  mkdir -p more/etc
  echo stand-in >more/etc/coreos-live-rootfs
  cp "$kernel" kernel
  cp initrd.gz initramfs.img
  archive more >rootfs.img
  exit
fi

mkdir -p iso/images/pxeboot iso/EFI/redhat iso/coreos iso/boot
cp "$kernel" iso/images/pxeboot/vmlinuz
{
  cat initrd.gz
  archive more
} >iso/images/pxeboot/initrd.img
truncate -s 256K iso/images/ignition.img
default='console=ttyS0 panic=1 coreos.liveiso=stand-in ignition.firstboot ignition.platform.id=metal'
size=1137
filled=$(echo "$default" && printf '%*s' $((size - ${#default} - 1)) '' | tr ' ' '#')
head="serial --unit=0 --speed=115200
terminal_output serial
set timeout=0
menuentry live {
  linux /images/pxeboot/vmlinuz "
printf '%s%s\n  initrd /images/pxeboot/initrd.img /images/ignition.img\n}\n' "$head" "$filled" >iso/EFI/redhat/grub.cfg
printf '{"default": "%s", "size": %d, "files": [{"path": "EFI/redhat/grub.cfg", "offset": %d, "pad": "#", "end": "\\n"}]}' \
  "$default" $size ${#head} >iso/coreos/kargs.json
echo '{"file": "images/ignition.img"}' >iso/coreos/igninfo.json
echo '{"installer-config": true}' >iso/coreos/features.json
cat >grub.cfg <<'END'
search --file --set=root /coreos/kargs.json
normal /EFI/redhat/grub.cfg
END
grub-mkimage -O i386-pc-eltorito -o iso/boot/grub.img -c grub.cfg -p /boot \
  biosdisk iso9660 linux serial terminal search search_fs_file normal
xorriso -as mkisofs -quiet -iso-level 3 -R -J -V stand-in -b boot/grub.img -no-emul-boot -boot-load-size 4 -boot-info-table \
  -o live.iso iso
